package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/types"
)

// Picker decides which transactions the next block tries, and handles those that it leaves out. It is not safe for
// concurrent use.
type Picker struct {
	// OnLeftOut, unless nil, is called for every valid transaction that was tried in a block and is not in it. It must
	// not block.
	OnLeftOut func(LeftOut)
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

// NewPicker returns a Picker that takes the transactions for a ledger from a pool and skips those that the quarantine
// refuses.
func NewPicker(l *ledger.Ledger, pool *mempool.Pool, book *quarantine.List, clock Clock) *Picker {
	return &Picker{ledger: l, pool: pool, book: book, clock: clock, paces: paces{}}
}

// Picked holds the transactions of one block for a [ledger.Batch], and their outcomes.
type Picked struct{ batch }

// Pick begins a block from the pool's best transactions. The block may take the given time.
func (p *Picker) Pick(within time.Duration) *Picked { return p.newBatch(p.best(), within) }

// At returns the batch of a block with the given timestamp in milliseconds.
func (b *Picked) At(time uint64) ledger.Batch {
	return ledger.Batch{Time: time, Transactions: b, Overdue: b.Overdue, Tried: b.Tried, Debug: b.debug}
}

// best returns the pool's transactions for the next block, those whose turn it is first.
func (p *Picker) best() *mempool.Best {
	tip := p.ledger.Tip()
	best := p.pool.Best(tip.Env.BaseFee)
	pending := func(tx *types.VerifiedTx) bool {
		_, pending := p.pool.Get(tx.ID())
		return pending
	}
	p.first = p.turns.next(&p.turns.time, pending)
	preferred := []*types.VerifiedTx{p.first}
	for range forLoad(tip.Header.Header.GasLimit) {
		preferred = append(preferred, p.turns.next(&p.turns.load, pending))
	}
	best.Prefer(preferred...)
	return best
}

func (p *Picker) newBatch(txs source, within time.Duration) *Picked {
	b := &Picked{batch{
		source:   txs,
		clock:    p.clock,
		paces:    p.paces,
		time:     within,
		retried:  p.first,
		turns:    &p.turns,
		refuse:   p.refuse,
		trying:   p.Note.try,
		debug:    p.OnDebug,
		progress: progress{faulty: make(map[types.CodeHash]bool)},
	}}
	b.alone = b.time == Instant
	if b.time <= 0 {
		b.time = onDemandTime
	}
	return b
}

// refuse returns the reason why a transaction must not be tried now, or nil. If the state cannot be read, the
// transaction is not refused: the error is the next block's.
func (p *Picker) refuse(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	return p.book.Check(Accounts(&signed.Transaction), func() ([]types.CodeHash, error) {
		codes, err := CodesOf(p.ledger, &signed.Transaction)
		return codes.Run, err
	})
}

// Judge deals with the transactions that the block left out. It must be called once no contract of the block runs any
// more.
func (p *Picker) Judge(b *Picked) error {
	p.Note.rest()
	for _, l := range b.left {
		switch {
		case l.Fate == Overran:
			if err := p.penalise(l.Tx); err != nil {
				return err
			}
		case l.Fate == Faulty:
			p.drop(l.Tx)
		}
		if p.OnLeftOut != nil {
			p.OnLeftOut(l)
		}
	}
	return nil
}

// penalise drops a transaction, and makes its sender, its payer and the codes that it called wait.
func (p *Picker) penalise(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	codes, err := CodesOf(p.ledger, &signed.Transaction)
	if err != nil {
		return err
	}
	p.book.Overran(Accounts(&signed.Transaction), codes.Blamed)
	p.drop(tx)
	return nil
}

// drop takes a transaction out of the pool. It ignores journal errors, which the pool reports itself: at worst, a
// restart tries the transaction again.
func (p *Picker) drop(tx *types.VerifiedTx) { _ = p.pool.Drop(tx.ID()) }

// DropSuspect drops the transaction during which the process ended twice, if there is one.
func (p *Picker) DropSuspect() error {
	id, there := p.Note.suspect()
	if !there {
		return nil
	}
	tx, pending := p.pool.Get(id)
	if !pending {
		return nil
	}
	return p.penalise(tx)
}
