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
	"github.com/cairn-chain/cairn/internal/engine/aside"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/heightlock"
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
	// OnBlock, unless nil, is told of every block after it is on disk and the pool knows it. It is called in the
	// engine's loop, so it must not wait, and is set before Run.
	OnBlock func(ledger.Block)
	// OnLeftOut, unless nil, is told of every transaction that was tried in a block and is not in it though it is
	// valid, before OnBlock of that. As for OnBlock.
	OnLeftOut func(LeftOut)
	// Note, unless nil, remembers what is being tried. It is set before Run.
	Note *Note
	// OnDebug, unless nil, is told what contracts say with the host function debug while a block is made. As for
	// OnBlock.
	OnDebug ledger.Debug

	ledger *ledger.Ledger
	pool   *mempool.Pool
	book   *aside.Book
	key    crypto.PrivateKey
	lock   *heightlock.Lock // of key; may be nil
	// signed is the block that the lock held when it was given: the chain must have it before the next block is made.
	signed heightlock.Block
	clock  Clock

	requests chan request
	// The loop's.
	turns turns
	first *types.VerifiedTx // of the next block, whose turn it is; may be nil
	paces paces

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

// New returns an engine that signs with key, and tries nothing that book sets aside. Run starts it.
func New(l *ledger.Ledger, pool *mempool.Pool, book *aside.Book, key crypto.PrivateKey, clock Clock,
	blockTime time.Duration) *Solo {
	return &Solo{
		paces:     paces{},
		book:      book,
		ledger:    l,
		pool:      pool,
		key:       key,
		clock:     clock,
		blockTime: blockTime,
		requests:  make(chan request),
		changed:   make(chan struct{}, 1),
	}
}

// LockWith keeps the key from signing two blocks of one height. It is called before Run.
func (s *Solo) LockWith(l *heightlock.Lock) { s.lock, s.signed = l, l.Last() }

// Run makes blocks until ctx ends or a block fails. An error is fatal: after a failed append it is not known whether
// the block is on disk, and only a new start tells.
func (s *Solo) Run(ctx context.Context) error {
	if err := s.dropSuspect(); err != nil {
		return err
	}
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

// instant makes a block of the best executable transaction, if there is one. What cannot be included even alone leaves
// the pool: it would be the best for the next block, too, and so on without end.
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

// best are the pool's transactions for the next block.
func (s *Solo) best() *mempool.Best {
	best := s.pool.Best(s.ledger.Tip().Env.BaseFee)
	s.first = s.turns.next(func(tx *types.VerifiedTx) bool {
		_, pending := s.pool.Get(tx.ID())
		return pending
	})
	best.Prefer(s.first)
	return best
}

// single is a batch of one transaction.
type single struct{ tx *types.VerifiedTx }

func (s *single) Next() (tx *types.VerifiedTx) {
	tx, s.tx = s.tx, nil
	return tx
}

func (*single) SkipSender() {}
func (*single) Round() int  { return 0 }
func (*single) Later(int)   {}

// produce makes one block and tells the pool.
func (s *Solo) produce(txs source) (ledger.Block, error) {
	if status := s.Status(); status.State != Producing {
		return ledger.Block{}, fmt.Errorf("%w: %s", ErrNotProducing, status.Reason)
	}
	batch := s.newBatch(txs)
	block, err := s.ledger.Build(ledger.Batch{
		Time:         s.takeTime(),
		Transactions: batch,
		Overdue:      batch.Overdue,
		Tried:        batch.Tried,
		Debug:        s.OnDebug,
		Lock:         s.lock,
	}, func(hash types.BlockHash) (types.Signature, error) {
		s.Note.rest() // what contracts there are has run
		return s.sign(hash)
	})
	if err != nil {
		return ledger.Block{}, fatal{err}
	}
	if err := s.judge(batch.left); err != nil {
		return ledger.Block{}, fatal{err}
	}
	if err := s.pool.Reset(mempool.HeadOf(s.ledger), block.Accesses); err != nil {
		return ledger.Block{}, fatal{fmt.Errorf("mempool after block %d: %w", block.Header.Header.Height, err)}
	}
	if s.OnBlock != nil {
		s.OnBlock(block)
	}
	return block, nil
}

func (s *Solo) newBatch(txs source) *batch {
	b := &batch{
		source:  txs,
		clock:   s.clock,
		paces:   s.paces,
		time:    s.BlockTime(),
		retried: s.first,
		turns:   &s.turns,
		refuse:  s.refuse,
		trying:  s.Note.try,
		faulty:  make(map[types.CodeHash]bool),
	}
	b.alone = b.time == Instant
	if b.time <= 0 {
		b.time = onDemandTime
	}
	return b
}

// refuse is why a transaction is not to be tried at present. A state that cannot be read is the next block's fault, not
// its.
func (s *Solo) refuse(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	return s.book.Check(signed.Sender, func() (types.CodeHash, error) { return CodeOf(s.ledger, signed.Payload) })
}

// judge carries out what a batch decided.
func (s *Solo) judge(left []LeftOut) error {
	for _, l := range left {
		switch {
		case l.Fate == Overran:
			if err := s.penalise(l.Tx); err != nil {
				return err
			}
		case l.Fate == Faulty:
			s.drop(l.Tx)
		}
		if s.OnLeftOut != nil {
			s.OnLeftOut(l)
		}
	}
	return nil
}

// penalise drops a transaction, and has its sender and the code that it called wait.
func (s *Solo) penalise(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	code, err := CodeOf(s.ledger, signed.Payload)
	if err != nil {
		return err
	}
	s.book.Overran(signed.Sender, code)
	s.drop(tx)
	return nil
}

// drop takes a transaction out of the pool. That the journal cannot be written is the pool's to tell: what is lost is
// that a restart does not try the transaction again.
func (s *Solo) drop(tx *types.VerifiedTx) { _ = s.pool.Drop(tx.ID()) }

// dropSuspect drops the transaction that the process ran when it ended twice, if it did.
func (s *Solo) dropSuspect() error {
	id, there := s.Note.suspect()
	if !there {
		return nil
	}
	tx, pending := s.pool.Get(id)
	if !pending {
		return nil
	}
	return s.penalise(tx)
}

// State says what the engine does.
type State string

// The states of an engine that produces, or would.
const (
	Producing State = "producing"
	Holding   State = "holding" // another producer is in force, or blocks are missing that this key signed
	Halted    State = "halted"  // the next block needs rules that this node does not know
)

// Status is the engine's state with the reason of one that does not produce.
type Status struct {
	State  State
	Reason string
}

// ErrNotProducing is the error of asking an engine for a block that it may not make.
var ErrNotProducing = errors.New("this node does not produce blocks")

// Status tells whether the engine may make the next block: the parameters of the head's state decide, and what was
// signed.
func (s *Solo) Status() Status {
	tip := s.ledger.Tip()
	switch p := tip.Parameters; {
	case !params.Known(p.Version):
		return Status{Halted, fmt.Sprintf("protocol version %d is active and this node does not know it", p.Version)}
	case p.Producer != s.key.PublicKey():
		return Status{Holding, fmt.Sprintf("the chain's producer is %s, and the key of this node is that of %s",
			types.Account(p.Producer), types.Account(s.key.PublicKey()))}
	case s.signed.Height > tip.Header.Header.Height:
		return Status{Holding, fmt.Sprintf("the key of this node signed block %d, %s, and the chain here ends at block %d: "+
			"the missing blocks are needed first",
			s.signed.Height, s.signed.Hash, tip.Header.Header.Height)}
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
