package role

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// LocalKey returns a signer for a producer's key in this process.
func LocalKey(key crypto.PrivateKey) sequencer.Signer { return sequencer.Local(key) }

// Production configures the making of blocks.
type Production struct {
	Key         sequencer.Signer // [LocalKey], or a *signer.Client; nil for a member that only votes
	LockDir     string           // directory of the key's sign state; empty: the data directory
	BlockTime   time.Duration    // sequencer.Instant, sequencer.Manual, or the interval
	Development *datadir.Development

	// OnDebug, unless nil, receives contracts' messages to the host function debug while this node makes a block. It
	// must not block.
	OnDebug ledger.Debug
}

// Solo is the configuration of a node that makes its chain's blocks and has no upstream.
type Solo struct{ Production }

// Open implements [Config].
func (c Solo) Open(parts Parts) (Role, error) {
	s := &solo{base: &base{Parts: parts}, config: c.Production}
	err := s.open(false)
	if err == nil && s.Status().State != sequencer.Producing {
		s.Log.Warn("this node produces no blocks", "reason", s.Status().Reason)
	}
	return opened(s, err)
}

// solo is an open [Solo], or the producing part of [Turns].
type solo struct {
	*base
	*sequencer.Solo
	config  Production
	lock    *datadir.KeyLock // nil in memory, and for a development chain, which may be reset to an earlier block
	funding sync.Mutex       // serializes the treasury's transfers, because each takes the next nonce
}

// open opens the parts that make the blocks. mayLack allows the chain to lack blocks that the key signed, because they
// may still arrive.
func (s *solo) open(mayLack bool) error {
	if err := s.openLock(mayLack); err != nil {
		return err
	}
	if err := s.signs(s.config.Key); err != nil {
		return err
	}
	if err := s.openPool(); err != nil {
		return err
	}
	s.Solo = sequencer.New(s.Maker, s.pool, s.Book, s.config.Key, systemClock{}, s.config.BlockTime)
	s.OnBlock = observeBlocks(s.Telemetry, s.BlockTime)
	s.observe(s.Selector, s.config.OnDebug)
	if s.config.Development != nil {
		s.Continue()
	}
	if s.lock != nil {
		s.LockWith(s.lock.State)
	}
	if s.signer != nil {
		s.AskSigner(s.Dir.Unsigned(), s.Log)
	}
	return nil
}

// Close implements [Role].
func (s *solo) Close() error {
	err := s.close()
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

func (s *solo) Mode() api.Mode                       { return api.ModePrimary }
func (s *solo) State() (api.SyncState, string)       { return s.Condition().state() }
func (s *solo) Facts() []Fact                        { return s.Condition().facts() }
func (s *solo) ProducerKey() (types.PublicKey, bool) { return s.config.Key.PublicKey(), true }
func (s *solo) usedElsewhere() bool                  { return s.elsewhere() != "" }
func (s *solo) interval() time.Duration              { return max(0, s.BlockTime()) }

// Condition implements [Role].
func (s *solo) Condition() Condition {
	status := s.Status()
	c := Condition{api.SyncState(status.State), status.Reason, status.State == sequencer.Producing}
	switch unsigned := s.unsigned(); {
	case !c.Ready:
	case unsigned != "":
		c = Condition{api.StateHolding, unsigned, false}
	case s.pool.Failing() != nil: // the log has the reason
		c.Reason, c.Ready = "refusing transactions: cannot write the mempool journal", false
	}
	return c
}

// AddMany adds transactions to the pool while the node makes blocks. Otherwise it refuses them, because no block could
// include them.
func (s *solo) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	err := api.ErrReadOnly // another, unknown node produces
	switch s.Status().State {
	case sequencer.Producing:
		return s.pool.AddMany(ctx, encoded, source)
	case sequencer.Halted:
		err = jsonrpc.NewError(api.CodeHalted, api.ErrHalted.Message, "reason", api.ErrHalted.Data["reason"],
			"cause", replica.UnknownVersion, "height", s.Store.Head().Header.Height)
	}
	results := make([]mempool.Result, len(encoded))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// Developer implements [Role].
func (s *solo) Developer() rpc.Developer {
	if s.config.Development == nil {
		return nil
	}
	return s
}

// Fund sends an ordinary transfer from the treasury, so the state changes only by the protocol's rules.
func (s *solo) Fund(ctx context.Context, to types.Account, amount types.Amount) (types.TxID, error) {
	s.funding.Lock()
	defer s.funding.Unlock()
	treasury := s.config.Development.Treasury
	sender := types.Account(treasury.PublicKey())
	nonce, err := s.pool.NextNonce(sender)
	if err != nil {
		return types.TxID{}, err
	}
	tip := s.Maker.Tip()
	tx := types.Transaction{
		Sender:               sender,
		Target:               to,
		ChainID:              tip.Env.ChainID,
		Nonce:                nonce,
		GasLimit:             params.Prices.IntrinsicTransfer + params.Prices.WitnessKey + params.Prices.NewAccount,
		MaxFeePerGas:         tip.Parameters.MaxBaseFee,
		MaxPriorityFeePerGas: 1,
		Value:                amount,
		Payload:              types.Transfer{},
	}
	signed, err := types.Sign(tx, treasury, [32]byte{})
	if err != nil {
		return types.TxID{}, err
	}
	return s.pool.Add(ctx, signed.Encode(), "")
}
