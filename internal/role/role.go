// Package role has the four things that a node can be to its chain: it makes all blocks alone ([Solo]), follows another
// node ([Follow]), does one or the other by turns ([Turns]), or is one of several machines that make them ([Member]). A
// node serves whichever it is through one interface.
package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Config is the configuration of a role: a [Solo], [Follow], [Turns] or [Member].
type Config interface {
	// Open opens what the role needs beside the node's parts, the pool of pending transactions among it.
	Open(Parts) (Role, error)
}

// Role is where a node's blocks come from and its transactions go.
type Role interface {
	rpc.Node
	rpc.Sender
	// Run makes or imports blocks until ctx ends.
	Run(ctx context.Context) error
	Condition() Condition
	// Facts are how things are that an operator wants to know of when they change.
	Facts() []Fact
	// Follows tells whether the blocks, and their proofs, come from upstreams at present.
	Follows() bool
	// Pool has the pending transactions.
	Pool() *mempool.Pool
	// Developer changes a development chain; nil on any other.
	Developer() rpc.Developer
	// Administer adds what an operator can ask of the role.
	Administer(*admin.Config)
	// HandOver leaves the making of blocks to another machine before this one ends, if there is one.
	HandOver(ctx context.Context)
	// Close closes what Open opened. Run has ended.
	Close() error

	measured
}

// Condition is what a node does about new blocks, whether it may be sent traffic, and why it does not or may not. Status
// and readiness are told by it alone.
type Condition struct {
	State  api.SyncState
	Reason string
	Ready  bool
}

// Parts are those of a node that its role works with.
type Parts struct {
	Dir       *datadir.Dir
	Store     *chain.Store // the directory's
	Book      *quarantine.List
	Ledger    mempool.Chain    // with its state or without
	Maker     *ledger.Ledger   // the same, if it can make blocks; nil without a state
	Importer  replica.Importer // of blocks into the ledger
	Proofs    *proving.Queue
	Relay     bool // have the proofs of blocks from upstreams that the blocks come from
	Unproven  bool // blocks are to have no proofs
	Telemetry *telemetry.Telemetry
	Mempool   mempool.Options // to which the role adds its own
	Program   string          // version

	// Public makes an error one that a client may see.
	Public func(context.Context, error) *jsonrpc.Error
	// Enter is told what an ending node waits for.
	Enter func(stage string)
	Log   *slog.Logger
}

// opened is a role that is open, with its metrics, or that is closed again.
func opened(r Role, err error) (Role, error) {
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	registerMetrics(r)
	return r, nil
}

// base is what every role has, and what it is where a role says nothing else.
type base struct {
	Parts
	pool    *mempool.Pool
	note    *sequencer.Note // nil in memory, and where no blocks are made
	signer  *signer.Client  // that has the producer's key; nil without one
	overdue struct{ dropped, deferred atomic.Uint64 }
}

func (b *base) Pool() *mempool.Pool                  { return b.pool }
func (b *base) PeerCount() uint64                    { return 0 }
func (b *base) Following() rpc.Following             { return nil }
func (b *base) Follows() bool                        { return false }
func (b *base) Cluster() *api.Cluster                { return nil }
func (b *base) ProducerKey() (types.PublicKey, bool) { return types.PublicKey{}, false }
func (b *base) Developer() rpc.Developer             { return nil }
func (b *base) Administer(*admin.Config)             {}
func (b *base) HandOver(context.Context)             {}
func (b *base) usedElsewhere() bool                  { return false }
func (b *base) interval() time.Duration              { return 0 }
func (b *base) telemetry() *telemetry.Telemetry      { return b.Telemetry }

// signs prepares the making of blocks with a key. A signer's client is told which chain its headers are of, and where it
// tells of others that ask.
func (b *base) signs(key sequencer.Signer) (err error) {
	if client, is := key.(*signer.Client); is {
		b.signer, client.Log = client, b.Log
		genesis, err := b.Store.Header(0)
		if err != nil {
			return err
		}
		client.Genesis = genesis.Header.Hash()
	}
	b.Mempool.Admit, b.Mempool.Journal = b.admit, b.Dir.Journal()
	b.note, err = b.Dir.Note()
	return err
}

// openPool opens the pool of pending transactions.
func (b *base) openPool() (err error) {
	b.pool, err = mempool.New(b.Mempool, mempool.HeadOf(b.Ledger))
	return err
}

// close closes what signs and openPool opened.
func (b *base) close() error {
	var errs []error
	if b.pool != nil {
		b.Enter("the mempool's journal")
		errs = append(errs, b.pool.Close())
	}
	if b.note != nil {
		errs = append(errs, b.note.Close())
	}
	if b.signer != nil {
		b.Enter("the signer")
		errs = append(errs, b.signer.Close())
	}
	return errors.Join(errs...)
}

// admit is the pool's [mempool.Options].Admit.
func (b *base) admit(tx *types.Transaction) error {
	err := b.Book.Check(tx.Sender, func() (types.CodeHash, error) { return sequencer.CodeOf(b.Ledger, tx.Payload) })
	if errors.Is(err, quarantine.ErrQuarantined) || errors.As(err, new(*quarantine.WaitError)) {
		return fmt.Errorf("%w: %w", mempool.ErrSetAside, err)
	}
	return err
}

// unsigned is why the signer does not sign this node's block, empty where it does, or was not asked.
func (b *base) unsigned() string {
	if b.signer == nil || b.signer.Fault() == nil {
		return ""
	}
	return "no block is signed: " + b.signer.Fault().Error()
}

// observe has a picker tell of what it leaves out, and of what contracts say.
func (b *base) observe(p *sequencer.Picker, onDebug ledger.Debug) {
	p.OnLeftOut, p.OnDebug, p.Note = b.leftOut, onDebug, b.note
}

// leftOut is a picker's OnLeftOut.
func (b *base) leftOut(l sequencer.LeftOut) {
	signed := l.Tx.Signed()
	log := b.Log.With(
		"transaction", l.Tx.ID(), "sender", signed.Sender, "height", b.Ledger.Tip().Header.Header.Height,
	)
	if call, ok := signed.Payload.(types.Call); ok {
		log = log.With("contract", call.Contract, "function", call.Function)
	}
	switch l.Fate {
	case sequencer.Overran:
		b.overdue.dropped.Add(1)
		log.Warn(
			"a transaction was dropped: it took far longer than its gas says; its sender and the code that it calls wait",
		)
	case sequencer.LoadFull:
		log.Debug("a transaction comes again in the next block: this one can load no further code")
	case sequencer.Faulty:
		log.Error("a transaction was dropped: the engine failed on it", "error", l.Err)
	default:
		b.overdue.deferred.Add(1)
		log.Info("a transaction was stopped when its time was over, and comes again with more")
	}
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (systemClock) Wall() time.Time                        { return time.Now() }
