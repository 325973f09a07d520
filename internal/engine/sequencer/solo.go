// Package sequencer decides batches for a chain with one producer: at an interval, at once for each transaction, or
// when asked to. It decides order and time; the ledger makes the blocks.
package sequencer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Manual is the block time at which blocks are only made when asked for; Instant makes one for each transaction.
const (
	Instant time.Duration = 0
	Manual  time.Duration = -1
)

// Clock tells the time and wakes after a duration.
type Clock interface {
	// Now and After go on evenly: intervals are measured by them.
	Now() time.Time
	After(time.Duration) <-chan time.Time
	// Wall is the time of day, which blocks get. It may jump, forward and back.
	Wall() time.Time
}

// Solo is the engine of a chain with one producer.
type Solo struct {
	// OnBlock, unless nil, is told of every block after it is on disk and the pool knows it. It is called in the engine's
	// loop, so it must not wait, and is set before Run.
	OnBlock func(ledger.Block)
	// OnOverdue, unless nil, is told of every transaction that was stopped because the time for its block was over, before
	// OnBlock of that: dropped, because it took too long alone, or to be tried first in the next block. As for OnBlock.
	OnOverdue func(id types.TxID, dropped bool)
	// OnDebug, unless nil, is told what contracts say with the host function debug while a block is made. As for OnBlock.
	OnDebug ledger.Debug

	ledger *ledger.Ledger
	pool   *mempool.Pool
	key    crypto.PrivateKey
	clock  Clock

	requests chan request
	overdue  *types.VerifiedTx // stopped in the last block, to be tried first in the next; the loop's

	mu        sync.Mutex // guards what follows, for reading beside the loop
	blockTime time.Duration
	offset    time.Duration // of the chain's time over the clock's
	nextTime  uint64        // of the next block, 0 where none is set
	changed   chan struct{} // blockTime was set
	snapshots []snapshot

	lastSnapshot uint64 // IDs are not used again
}

// request is something to do between two blocks.
type request struct {
	do   func() error
	done chan error
}

// New returns an engine that signs with key. Run starts it.
func New(l *ledger.Ledger, pool *mempool.Pool, key crypto.PrivateKey, clock Clock, blockTime time.Duration) *Solo {
	return &Solo{
		ledger: l, pool: pool, key: key, clock: clock, blockTime: blockTime,
		requests: make(chan request), changed: make(chan struct{}, 1),
	}
}

// Run makes blocks until ctx ends or a block fails. An error is fatal: after a failed append it is not known whether
// the block is on disk, and only a new start tells.
func (s *Solo) Run(ctx context.Context) error {
	last, blockTime := s.clock.Now(), s.BlockTime()
	for {
		if changed := s.BlockTime(); changed != blockTime { // an interval begins when it is set, not at the last block
			last, blockTime = s.clock.Now(), changed
		}
		var tick <-chan time.Time
		var ready <-chan struct{}
		switch {
		case s.Status().State != Producing:
		case blockTime > 0:
			tick = s.clock.After(blockTime - s.clock.Now().Sub(last))
		case blockTime == Instant:
			ready = s.pool.Changed()
			made, err := s.instant()
			if err != nil {
				return err
			}
			if made { // there may be more: look again, but let requests have their turn
				ready = atOnce
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			last = s.nextTick(last, blockTime)
			if _, err := s.produce(s.best()); err != nil {
				return err
			}
		case <-ready:
		case <-s.changed:
		case r := <-s.requests:
			err := r.do()
			r.done <- err
			if isFatal(err) {
				return err
			}
		}
	}
}

// atOnce is always ready.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// nextTick keeps the rhythm of the interval; ticks that a slow block or a suspended machine missed are not made up for.
func (s *Solo) nextTick(last time.Time, interval time.Duration) time.Time {
	now := s.clock.Now()
	if next := last.Add(interval); now.Sub(next) < interval {
		return next
	}
	return now
}

// instant makes a block of the best executable transaction, if there is one. What cannot be included even alone leaves the
// pool: it would be the best for the next block, too, and so on without end.
func (s *Solo) instant() (made bool, err error) {
	tx := s.best().Next()
	if tx == nil {
		return false, nil
	}
	block, err := s.produce(&single{tx})
	if err != nil {
		return false, err
	}
	if len(block.Included) == 0 {
		s.pool.Drop(tx.ID())
	}
	return true, nil
}

// best are the pool's transactions for the next block.
func (s *Solo) best() *mempool.Best {
	best := s.pool.Best(s.ledger.Tip().Env.BaseFee)
	best.Prefer(s.overdue)
	return best
}

// single is a batch of one transaction.
type single struct{ tx *types.VerifiedTx }

func (s *single) Next() (tx *types.VerifiedTx) {
	tx, s.tx = s.tx, nil
	return tx
}

func (*single) SkipSender() {}

// produce makes one block and tells the pool.
func (s *Solo) produce(txs ledger.Transactions) (ledger.Block, error) {
	if status := s.Status(); status.State != Producing {
		return ledger.Block{}, fmt.Errorf("%w: %s", ErrNotProducing, status.Reason)
	}
	batch := &punctual{Transactions: txs, clock: s.clock, interval: s.BlockTime()}
	block, err := s.ledger.Build(ledger.Batch{Time: s.takeTime(), Transactions: batch, Overdue: batch.Overdue, Debug: s.OnDebug}, s.sign)
	if err != nil {
		return ledger.Block{}, fatal{err}
	}
	s.judge(batch)
	if err := s.pool.Reset(Head(s.ledger), block.Accesses); err != nil {
		return ledger.Block{}, fatal{fmt.Errorf("mempool after block %d: %w", block.Header.Header.Height, err)}
	}
	if s.OnBlock != nil {
		s.OnBlock(block)
	}
	return block, nil
}

// judge decides on a batch's transaction that was stopped, if one was: no block is tried with it again if it had all the time.
func (s *Solo) judge(batch *punctual) {
	s.overdue = nil
	if batch.overdue == nil {
		return
	}
	dropped := batch.alone()
	if dropped {
		s.pool.Drop(batch.overdue.ID())
	} else {
		s.overdue = batch.overdue
	}
	if s.OnOverdue != nil {
		s.OnOverdue(batch.overdue.ID(), dropped)
	}
}

// State says what the engine does.
type State string

// The states of an engine that produces, or would.
const (
	Producing State = "producing"
	Holding   State = "holding" // another producer is in force
	Halted    State = "halted"  // the next block needs rules that this node does not know
)

// Status is the engine's state with the reason of one that does not produce.
type Status struct {
	State  State
	Reason string
}

// ErrNotProducing is the error of asking an engine for a block that it may not make.
var ErrNotProducing = errors.New("this node does not produce blocks")

// Status tells whether the engine may make the next block: the parameters of the head's state decide.
func (s *Solo) Status() Status {
	switch p := s.ledger.Tip().Parameters; {
	case !params.Known(p.Version):
		return Status{Halted, fmt.Sprintf("protocol version %d is active and this node does not know it", p.Version)}
	case p.Producer != s.key.PublicKey():
		return Status{Holding, fmt.Sprintf("the chain's producer is %s, and the key of this node is that of %s", types.Account(p.Producer), types.Account(s.key.PublicKey()))}
	default:
		return Status{State: Producing}
	}
}

func (s *Solo) sign(hash types.BlockHash) (types.Signature, error) {
	return s.key.Sign(hash[:], [32]byte{})
}

// takeTime is the next block's time: what was set for it, or the clock's, and never before the head's.
func (s *Solo) takeTime() uint64 {
	head := s.ledger.Tip().Header.Header.Timestamp
	s.mu.Lock()
	defer s.mu.Unlock()
	t := uint64(max(0, s.clock.Wall().Add(s.offset).Unix()))
	if s.nextTime != 0 {
		s.offset += time.Duration(s.nextTime-t) * time.Second
		t, s.nextTime = s.nextTime, 0
	}
	return max(t, head)
}

// BlockTime is the interval between blocks, [Instant] or [Manual].
func (s *Solo) BlockTime() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blockTime
}

// fatal marks an error after which no block may be made.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }

func isFatal(err error) bool {
	_, ok := err.(fatal)
	return ok
}

// between runs do in the loop, between two blocks.
func (s *Solo) between(ctx context.Context, do func() error) error {
	r := request{do: do, done: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Chain is a chain with a head: a *ledger.Ledger or a *ledger.Stateless, whose accounts cannot be read.
type Chain interface {
	Tip() *ledger.Tip
	Store() *chain.Store
}

// Head is what the pool must know of the ledger's head.
func Head(l Chain) mempool.Head {
	tip := l.Tip()
	height := tip.Header.Header.Height
	return mempool.Head{
		Env: tip.Env, Height: height,
		Account: func(a types.Account) (exec.Sender, error) {
			view, err := l.Store().StateAt(height)
			if err != nil {
				return exec.Sender{}, err
			}
			defer view.Close()
			return exec.ReadSender(view, a)
		},
	}
}
