// Package role has the four roles of a node in its chain: it makes all blocks alone ([Solo]), follows another node
// ([Follow]), alternates between the two ([Turns]), or is one of several machines that make the blocks ([Member]). A
// node uses them through one interface.
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
	// Open opens the role with the node's parts, including the pool of pending transactions.
	Open(Parts) (Role, error)
}

// Role provides a node's blocks and takes its transactions.
type Role interface {
	rpc.Node
	rpc.Sender
	// Run makes or imports blocks until ctx ends.
	Run(ctx context.Context) error
	Condition() Condition
	// Facts returns the facts whose changes an operator should know.
	Facts() []Fact
	// Follows reports whether the blocks and their proofs currently come from upstreams.
	Follows() bool
	// Pool returns the pool of pending transactions.
	Pool() *mempool.Pool
	// Developer returns the interface to change a development chain, or nil for any other chain.
	Developer() rpc.Developer
	// Administer adds the role's operations to the admin address.
	Administer(*admin.Config)
	// HandOver leaves the making of blocks to another machine, if there is one, before this one stops.
	HandOver(ctx context.Context)
	// Close closes the role. It must be called after Run has returned.
	Close() error

	measured
}

// Condition is a node's state with respect to new blocks, its readiness for traffic, and the reason for a limited
// state. It is the only source of status and readiness.
type Condition struct {
	State  api.SyncState
	Reason string
	Ready  bool
}

// Parts has the parts of a node that its role uses.
type Parts struct {
	Dir       *datadir.Dir
	Store     *chain.Store // store of the directory
	Book      *quarantine.List
	Ledger    mempool.Chain    // with its state or without
	Maker     *ledger.Ledger   // the same ledger if it can make blocks; nil without a state
	Importer  replica.Importer // imports blocks into the ledger
	Proofs    *proving.Queue
	Relay     bool // take proofs from the upstreams that provide the blocks
	Unproven  bool // do not prove blocks
	Telemetry *telemetry.Telemetry
	Mempool   mempool.Options // the role adds its own options
	Program   string          // version of the program

	// Public converts an error into one that a client may see.
	Public func(context.Context, error) *jsonrpc.Error
	// Enter records the task that a stopping node waits for.
	Enter func(stage string)
	Log   *slog.Logger
}

// opened registers the metrics of an open role. After an error it closes the role.
func opened(r Role, err error) (Role, error) {
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	registerMetrics(r)
	return r, nil
}

// base has the parts common to the roles and the default methods.
type base struct {
	Parts
	pool    *mempool.Pool
	note    *sequencer.Note // nil in memory, or if no blocks are made
	signer  *signer.Client  // client of the signer with the producer's key, or nil
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

// signs prepares the making of blocks with a key. It gives a signer's client the hash of the chain's genesis block, and
// the log.
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

// close closes the parts opened by signs and openPool.
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

// admit implements [mempool.Options].Admit.
func (b *base) admit(tx *types.Transaction) error {
	err := b.Book.Check(sequencer.Accounts(tx), func() ([]types.CodeHash, error) {
		codes, err := sequencer.CodesOf(b.Ledger, tx)
		return codes.Run, err
	})
	if errors.Is(err, quarantine.ErrQuarantined) || errors.As(err, new(*quarantine.WaitError)) {
		return fmt.Errorf("%w: %w", mempool.ErrSetAside, err)
	}
	return err
}

// unsigned returns the reason why the signer does not sign this node's block, or "".
func (b *base) unsigned() string {
	if b.signer == nil || b.signer.Fault() == nil {
		return ""
	}
	return "no block is signed: " + b.signer.Fault().Error()
}

// observe sets a selector's callbacks for skipped transactions and debug messages, and its note.
func (b *base) observe(p *sequencer.Selector, onDebug ledger.Debug) {
	p.OnSkipped, p.OnDebug, p.Note = b.skipped, onDebug, b.note
}

// skipped logs and counts a transaction that a block skipped.
func (b *base) skipped(l sequencer.Skipped) {
	signed := l.Tx.Signed()
	log := b.Log.With("transaction", l.Tx.ID(), "sender", signed.Sender, "height", b.Ledger.Tip().Header.Header.Height)
	if call, ok := signed.Payload.(types.Call); ok {
		log = log.With("contract", types.ContractID(signed.Target), "function", call.Function)
	}
	switch l.Reason {
	case sequencer.Overran:
		b.overdue.dropped.Add(1)
		log.Warn(
			"dropped a transaction: its execution took far longer than its gas allows; its sender and the called " +
				"code are delayed",
		)
	case sequencer.LoadFull:
		log.Debug("deferred a transaction to the next block: this block may load no more code")
	case sequencer.Faulty:
		log.Error("dropped a transaction: the engine failed on it", "error", l.Err)
	default:
		b.overdue.deferred.Add(1)
		log.Info("stopped a transaction at its time limit: it will be retried with more time")
	}
}

type systemClock struct{}

func (systemClock) Now() time.Time                         { return time.Now() }
func (systemClock) After(d time.Duration) <-chan time.Time { return time.After(d) }
func (systemClock) Wall() time.Time                        { return time.Now() }
