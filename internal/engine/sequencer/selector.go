package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/types"
)

// Selector decides which transactions the next block tries, and handles those that it skips. It is not safe for
// concurrent use.
type Selector struct {
	// OnSkipped, unless nil, is called for every valid transaction that was tried in a block and is not in it. It must
	// not block.
	OnSkipped func(Skipped)
	// OnDebug, unless nil, receives the messages that contracts pass to the host function debug while a block is built.
	// It must not block.
	OnDebug ledger.Debug
	// Note, unless nil, records the transactions being tried.
	Note *Note

	ledger *ledger.Ledger
	pool   *mempool.Pool
	book   *quarantine.List
	clock  Clock
	turns  turns
	first  *types.VerifiedTx // transaction whose turn is first in the next block; may be nil
	paces  paces
}

// NewSelector returns a Selector that takes the transactions for a ledger from a pool and skips those that the
// quarantine refuses.
func NewSelector(l *ledger.Ledger, pool *mempool.Pool, book *quarantine.List, clock Clock) *Selector {
	return &Selector{ledger: l, pool: pool, book: book, clock: clock, paces: paces{}}
}

// Selection holds the transactions of one block for a [ledger.Batch], and their outcomes.
type Selection struct{ batch }

// Select begins a block from the pool's best transactions. The block may take the given time.
func (s *Selector) Select(within time.Duration) *Selection { return s.newBatch(s.best(), within) }

// At returns the batch of a block with the given timestamp in milliseconds.
func (b *Selection) At(time uint64) ledger.Batch {
	return ledger.Batch{Time: time, Transactions: b, Overdue: b.Overdue, Tried: b.Tried, Debug: b.debug}
}

// best returns the pool's transactions for the next block, those whose turn it is first.
func (s *Selector) best() *mempool.Best {
	tip := s.ledger.Tip()
	best := s.pool.Best(tip.Env.BaseFee)
	pending := func(tx *types.VerifiedTx) bool {
		_, pending := s.pool.Get(tx.ID())
		return pending
	}
	s.first = s.turns.next(&s.turns.time, pending)
	preferred := []*types.VerifiedTx{s.first}
	for range forLoad(tip.Header.Header.GasLimit) {
		preferred = append(preferred, s.turns.next(&s.turns.load, pending))
	}
	best.Prefer(preferred...)
	return best
}

func (s *Selector) newBatch(txs source, within time.Duration) *Selection {
	b := &Selection{batch{
		source:  txs,
		clock:   s.clock,
		paces:   s.paces,
		time:    within,
		retried: s.first,
		turns:   &s.turns,
		refuse:  s.refuse,
		trying:  s.Note.try,
		debug:   s.OnDebug,
		faulty:  make(map[types.CodeHash]bool),
	}}
	b.alone = b.time == Instant
	if b.time <= 0 {
		b.time = onDemandTime
	}
	return b
}

// refuse returns the reason why a transaction must not be tried now, or nil. If the state cannot be read, the
// transaction is not refused: the error is the next block's.
func (s *Selector) refuse(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	return s.book.Check(Accounts(&signed.Transaction), func() ([]types.CodeHash, error) {
		codes, err := CodesOf(s.ledger, &signed.Transaction)
		return codes.Run, err
	})
}

// HandleSkipped deals with the transactions that the block skipped. It must be called once no contract of the block
// runs any more.
func (s *Selector) HandleSkipped(b *Selection) error {
	s.Note.rest()
	for _, l := range b.skipped {
		switch {
		case l.Reason == Overran:
			if err := s.penalise(l.Tx); err != nil {
				return err
			}
		case l.Reason == Faulty:
			s.drop(l.Tx)
		}
		if s.OnSkipped != nil {
			s.OnSkipped(l)
		}
	}
	return nil
}

// penalise drops a transaction, and makes its sender, its payer and the codes that it called wait.
func (s *Selector) penalise(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	codes, err := CodesOf(s.ledger, &signed.Transaction)
	if err != nil {
		return err
	}
	s.book.Overran(Accounts(&signed.Transaction), codes.Blamed)
	s.drop(tx)
	return nil
}

// drop takes a transaction out of the pool. It ignores journal errors, which the pool reports itself: at worst, a
// restart tries the transaction again.
func (s *Selector) drop(tx *types.VerifiedTx) { _ = s.pool.Drop(tx.ID()) }

// DropSuspect drops the transaction during which the process ended twice, if there is one.
func (s *Selector) DropSuspect() error {
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
