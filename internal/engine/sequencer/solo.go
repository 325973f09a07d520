// Package sequencer decides batches for a chain with one producer: at an interval, at once for each transaction, or on
// request. It decides order and time; the ledger makes the blocks.
package sequencer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// Instant is the block time at which each transaction gets its own block. With Manual, blocks are only made on request.
const (
	Instant time.Duration = 0
	Manual  time.Duration = -1
)

// Clock tells the time and wakes after a duration.
type Clock interface {
	// Now and After are monotonic; intervals are measured by them.
	Now() time.Time
	After(time.Duration) <-chan time.Time
	// Wall returns the wall-clock time, which timestamps blocks. It may jump forward and back.
	Wall() time.Time
}

// Solo is the engine of a chain with one producer.
type Solo struct {
	// OnBlock, unless nil, is called for every block once the block is on disk and the pool knows it. It runs in the
	// engine's loop, so it must not block. It must be set before Run.
	OnBlock func(ledger.Block)
	// The Selector's hooks must be set before Run. They are called in the engine's loop, before OnBlock.
	*Selector

	// The producer's key, and what prevents it from signing two blocks of one height:
	key    Signer
	decide *decided         // stores a block before key is asked; nil if the key is in this process
	lock   *signstate.State // the key's lock; may be nil
	// signed is the last block that the lock held at the start. The chain must have it before the next block is made.
	signed signstate.Block

	requests chan request
	running  context.Context // Run's context, for calls that wait in its loop
	changed  chan struct{}   // signals that blockTime was set

	mu           sync.Mutex // guards the fields below, which are also used outside the loop
	blockTime    time.Duration
	offset       time.Duration // how far the chain's time is ahead of the clock
	nextTime     uint64        // next block's timestamp in milliseconds; 0 if not set
	taken        []snapshot    // snapshots that a development chain can revert to
	lastSnapshot uint64        // IDs are never reused
}

// request is a task to run between two blocks.
type request struct {
	do   func() error
	done chan error
}

// New returns an engine that signs with key and skips transactions that the quarantine refuses. Run starts it.
func New(l *ledger.Ledger, pool *mempool.Pool, book *quarantine.List, key Signer, clock Clock,
	blockTime time.Duration) *Solo {
	return &Solo{
		Selector:  NewSelector(l, pool, book, clock),
		key:       key,
		running:   context.Background(),
		requests:  make(chan request),
		changed:   make(chan struct{}, 1),
		blockTime: blockTime,
	}
}

// LockWith sets the lock that prevents the key from signing two blocks of one height. It must be called before Run.
func (s *Solo) LockWith(l *signstate.State) { s.lock, s.signed = l, l.Last() }

// Run makes blocks until ctx ends or a block fails. An error is fatal: after a failed append it is unknown whether the
// block is on disk, and only a restart can tell.
func (s *Solo) Run(ctx context.Context) error {
	s.running = ctx
	if err := s.DropSuspect(); err != nil {
		return err
	}
	if err := s.complete(); err != nil {
		return s.unlessEnded(err)
	}
	last, blockTime := s.clock.Now(), s.BlockTime()
	for {
		if changed := s.BlockTime(); changed != blockTime { // an interval starts when it is set, not at the last block
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
			if err != nil && !errors.Is(err, ErrNotProducing) { // the version changed since the look at the status
				return s.unlessEnded(err)
			}
			if made { // there may be more: look again, but serve requests first
				ready = atOnce
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
			last = NextTick(last, s.clock.Now(), blockTime)
			if _, err := s.produce(s.best()); err != nil && !errors.Is(err, ErrNotProducing) {
				return s.unlessEnded(err)
			}
		case <-ready:
		case <-s.changed:
		case r := <-s.requests:
			err := r.do()
			r.done <- err
			if isFatal(err) {
				return s.unlessEnded(err)
			}
		}
	}
}

// unlessEnded returns err, or nil if the engine was ended while it waited for the signer. No block was made then.
func (s *Solo) unlessEnded(err error) error {
	if s.running.Err() != nil && errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// atOnce returns a channel that is always ready.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// NextTick returns the nominal time of the tick that fired at now: one interval after the last tick, which keeps the
// rhythm, or now if ticks were missed. Ticks missed because of a slow block or a suspended machine are not made up for.
func NextTick(last, now time.Time, interval time.Duration) time.Time {
	if next := last.Add(interval); now.Sub(next) < interval {
		return next
	}
	return now
}

// instant makes a block of the best executable transaction, if there is one. A transaction that cannot be included even
// alone is dropped from the pool: it would otherwise be the best one for every further block.
func (s *Solo) instant() (made bool, err error) {
	best := s.best()
	tx := best.Next()
	for tx != nil && s.refuse(tx) != nil {
		best.SkipSender()
		tx = best.Next()
	}
	if tx == nil {
		return false, nil
	}
	block, err := s.produce(&single{tx})
	if err != nil {
		return false, err
	}
	if len(block.Included) == 0 {
		s.drop(tx)
	}
	return true, nil
}

// single is a source of one transaction.
type single struct{ tx *types.VerifiedTx }

func (s *single) Next() (tx *types.VerifiedTx) {
	tx, s.tx = s.tx, nil
	return tx
}

func (*single) SkipSender() {}
func (*single) Round() int  { return 0 }
func (*single) Later(int)   {}

// produce makes one block and updates the pool. It returns [ErrNotProducing] if the block may not be made.
func (s *Solo) produce(txs source) (ledger.Block, error) {
	t := s.timeOfNext()
	if status := s.statusAt(t); status.State != Producing {
		return ledger.Block{}, fmt.Errorf("%w: %s", ErrNotProducing, status.Reason)
	}
	batch := s.newBatch(txs, s.BlockTime())
	next := batch.At(t)
	next.Lock = s.lock
	var header types.Header
	next.Proposed = func(d *ledger.PendingBlock) error {
		s.Note.rest() // no contract of the block runs any more
		header = d.Header()
		return s.decide.keep(d)
	}
	block, err := s.ledger.Build(next, func(types.BlockHash) (types.Signature, error) { return s.sign(header) })
	if err != nil {
		return ledger.Block{}, fatal{err}
	}
	if err := s.HandleSkipped(batch); err != nil {
		return ledger.Block{}, fatal{err}
	}
	return block, s.made(block)
}

// made updates the pool with a block that is on disk and calls OnBlock.
func (s *Solo) made(block ledger.Block) error {
	if err := s.pool.Reset(mempool.HeadOf(s.ledger), block.Accesses); err != nil {
		return fatal{fmt.Errorf("mempool after block %d: %w", block.Header.Header.Height, err)}
	}
	if s.OnBlock != nil {
		s.OnBlock(block)
	}
	return nil
}

// State is the state of an engine.
type State string

// The states of an engine.
const (
	Producing State = "producing"
	// the head's state names another producer, or this key signed blocks that are missing here or are not this node's
	Holding State = "holding"
	Halted  State = "halted" // the next block needs rules that this node does not know
)

// Status is the engine's state, with the reason if it does not produce.
type Status struct {
	State  State
	Reason string
}

// ErrNotProducing is returned when an engine is asked for a block that it may not make.
var ErrNotProducing = errors.New("this node does not produce blocks")

// Status reports whether the engine may make the next block now. It depends on the parameters in the head's state, on
// the time, from which an announced upgrade is in force, and on the blocks that the key has signed.
func (s *Solo) Status() Status { return s.statusAt(s.NextTime()) }

// statusAt is [Solo.Status] for a block with the given timestamp.
func (s *Solo) statusAt(timestamp uint64) Status {
	tip := s.ledger.Tip()
	switch p := tip.Parameters; {
	case !params.Known(p.VersionAt(timestamp)):
		return Status{Halted, emergency.UnknownVersion(p.VersionAt(timestamp), nil).Error()}
	case p.Producer != s.key.PublicKey():
		return Status{Holding, emergency.OtherProducer(p.Producer, s.key.PublicKey(), "node").Error()}
	case s.signed.Height > tip.Header.Header.Height:
		return Status{Holding, emergency.BlocksAwaited(s.signed.Height, s.signed.Hash, tip.Header.Header.Height).Error()}
	case s.lock != nil && s.lock.Conflict() != 0:
		return Status{Holding, emergency.SignedElsewhere(s.lock.Conflict()).Error()}
	default:
		return Status{State: Producing}
	}
}

// NextTime returns the timestamp, in milliseconds, that a block made now would have: the one set for it or else the
// clock's, but never one before the head's.
func (s *Solo) NextTime() uint64 {
	head := s.ledger.Tip().Header.Header.Timestamp
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(cmp.Or(s.nextTime, s.now()), head)
}

// now returns the chain's time in milliseconds. The caller must hold mu.
func (s *Solo) now() uint64 { return uint64(max(0, s.clock.Wall().Add(s.offset).UnixMilli())) }

// timeOfNext is [Solo.NextTime] for a block being made. Time continues from a timestamp that was set for it.
func (s *Solo) timeOfNext() uint64 {
	head := s.ledger.Tip().Header.Header.Timestamp
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.now()
	if s.nextTime != 0 {
		s.offset += time.Duration(s.nextTime-t) * time.Millisecond
		t, s.nextTime = s.nextTime, 0
	}
	return max(t, head)
}

// BlockTime returns the interval between blocks, [Instant] or [Manual].
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

// between runs do in the engine's loop, between two blocks.
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
