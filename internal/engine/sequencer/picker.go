package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/types"
)

// Picker decides which transactions the next block tries, and what becomes of those that it leaves out. It is for one
// goroutine.
type Picker struct {
	// OnLeftOut, unless nil, is told of every transaction that was tried in a block and is not in it though it is
	// valid. It must not wait.
	OnLeftOut func(LeftOut)
	// OnDebug, unless nil, is told what contracts say with the host function debug while a block is made. As for
	// OnLeftOut.
	OnDebug ledger.Debug
	// Note, unless nil, remembers what is being tried.
	Note *Note

	ledger *ledger.Ledger
	pool   *mempool.Pool
	book   *quarantine.List
	clock  Clock
	turns  turns
	first  *types.VerifiedTx // of the next block, whose turn it is; may be nil
	paces  paces
}

// NewPicker returns a picker from a pool for a ledger, which skips what the quarantine refuses.
func NewPicker(l *ledger.Ledger, pool *mempool.Pool, book *quarantine.List, clock Clock) *Picker {
	return &Picker{ledger: l, pool: pool, book: book, clock: clock, paces: paces{}}
}

// Picked is the transactions of one block, for a [ledger.Batch], and what became of them.
type Picked struct{ batch }

// Pick begins a block that may take a time, of the best transactions of the pool.
func (p *Picker) Pick(within time.Duration) *Picked { return p.newBatch(p.best(), within) }

// At is the batch of a block with a time, in Unix seconds.
func (b *Picked) At(time uint64) ledger.Batch {
	return ledger.Batch{Time: time, Transactions: b, Overdue: b.Overdue, Tried: b.Tried, Debug: b.debug}
}

// best are the pool's transactions for the next block.
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

// refuse is why a transaction is not to be tried at present. A state that cannot be read is the next block's fault, not
// its.
func (p *Picker) refuse(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	return p.book.Check(signed.Sender, func() (types.CodeHash, error) { return CodeOf(p.ledger, signed.Payload) })
}

// Judge carries out what the block of a batch came to, when what contracts there are has run.
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

// penalise drops a transaction, and has its sender and the code that it called wait.
func (p *Picker) penalise(tx *types.VerifiedTx) error {
	signed := tx.Signed()
	code, err := CodeOf(p.ledger, signed.Payload)
	if err != nil {
		return err
	}
	p.book.Overran(signed.Sender, code)
	p.drop(tx)
	return nil
}

// drop takes a transaction out of the pool. That the journal cannot be written is the pool's to tell: what is lost is
// that a restart does not try the transaction again.
func (p *Picker) drop(tx *types.VerifiedTx) { _ = p.pool.Drop(tx.ID()) }

// DropSuspect drops the transaction that the process ran when it ended twice, if it did.
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
