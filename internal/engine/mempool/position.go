package mempool

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Height returns the height of the newest block that the pool was given.
func (p *Pool) Height() types.Height {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head.Height
}

// position returns the pool's position in the log.
func (p *Pool) position() Position {
	return Position{p.appliedIndex, max(p.Height(), p.journalHeight)}
}

// notePosition journals the pool's position, and the transactions in the journal that are not pending any more: they
// were refused, were evicted or have expired. The caller must hold moving.
func (p *Pool) notePosition(refused ...types.TxID) error {
	p.mu.Lock()
	records := p.changes(refused)
	p.gone = nil
	p.mu.Unlock()
	if p.journal == nil {
		return nil
	}
	p.writing.RLock()
	defer p.writing.RUnlock()
	return p.appendToJournal(append(records, logged{p.opts.Cluster, p.position()}.encode())...)
}

// changes returns the records that make the journal yield the pending transactions. A start takes the first record of a
// transaction that no later record drops. So a transaction that left the pool and came again is dropped and recorded
// again, as are all that arrived after it, which keeps their order. The caller must hold mu.
func (p *Pool) changes(refused []types.TxID) (records [][]byte) {
	for _, id := range refused {
		if p.index.byID[id] == nil {
			records = append(records, encodeDropped(id))
		}
	}
	again := make(map[*entry]bool)
	for _, id := range p.gone {
		if e := p.index.byID[id]; e != nil {
			again[e] = true
		} else {
			records = append(records, encodeDropped(id))
		}
	}
	var latest []*entry
	for e := p.index.arrivals.Back(); len(again) > 0; e = e.Prev() {
		entry := e.Value.(*entry)
		delete(again, entry)
		latest = append(latest, entry)
		records = append(records, encodeDropped(entry.tx.ID()))
	}
	for _, e := range slices.Backward(latest) {
		records = append(records, appendTaken(nil, e.added, e.tx))
	}
	return records
}

// Taken is a transaction of another pool.
type Taken struct {
	Tx    *types.Tx
	Added time.Time
}

// All returns the pending transactions in order of arrival, and the pool's position.
func (p *Pool) All() (Position, []Taken) {
	p.moving.Lock()
	defer p.moving.Unlock()
	at := p.position()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Taken, 0, len(p.index.byID))
	for e := p.index.arrivals.Front(); e != nil; e = e.Next() {
		entry := e.Value.(*entry)
		all = append(all, Taken{entry.tx.Tx(), entry.added})
	}
	return at, all
}

// Restore replaces the pool's content by another member's at a head, after the log entry with the given index. When it
// returns nil, the journal has the same content and is synced.
func (p *Pool) Restore(index uint64, head Head, taken []Taken) error {
	p.rewriting.Lock()
	defer p.rewriting.Unlock()
	p.moving.Lock()
	defer p.moving.Unlock()
	b := &batch{candidates: make([]*candidate, len(taken))}
	for i, t := range taken {
		c := &candidate{tx: t.Tx, added: t.Added, restored: true, verified: p.verifiedAs(t.Tx)}
		c.err = c.checkStatic(rules{env: head.Env})
		b.candidates[i] = c
	}
	p.verifyTogether(b.pending())
	p.clear(index, head)
	p.put(b)
	if p.journal == nil {
		return nil
	}
	mark, payloads := p.alive()
	return p.journal.Rewrite(mark, payloads)
}

// clear removes all transactions, and sets the head and the position.
func (p *Pool) clear(index uint64, head Head) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.index.senders {
		for _, part := range [][]*entry{s.run, s.held} {
			for _, e := range part {
				p.forget(e, Fate{})
			}
		}
		p.settle(s)
	}
	p.promoteFreed()
	clear(p.index.idle)
	p.appliedIndex, p.journalHeight, p.ahead, p.gone = index, head.Height, false, nil
	p.moveTo(head, nil)
}

// put adds verified candidates that were pending in a pool at the same head. It derives from the accounts which of them
// are executable, and checks nothing else.
func (p *Pool) put(b *batch) {
	touched := make(map[*sender]bool)
	p.visit(b, func(s *sender, c *candidate) error {
		p.revalidate(s)
		nonce := c.signed().Nonce
		i, found := s.findHeld(nonce)
		if found || nonce >= s.state.Nonce && nonce < s.next() {
			return ErrKnown // or another transaction has its nonce
		}
		if err := c.setCost(); err != nil {
			return err
		}
		e := &entry{
			tx:     c.verified,
			sender: s,
			nonce:  nonce,
			cost:   c.cost,
			fee:    c.fee,
			payer:  c.payer,
			claims: exec.Claims{Sender: c.verified.Claim(), Payer: c.verified.PayerClaim()},
			added:  c.added,
			held:   true,
			floor:  capsOf(c.signed()),
		}
		p.remember(e)
		s.held = slices.Insert(s.held, i, e)
		touched[s] = true
		if c.payer != nil {
			touched[c.payer] = true // its own transactions have less balance now
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range touched {
		p.settle(s)
	}
	p.promoteFreed()
	p.updatePressure()
}

// history is the content of a journal up to the last position of its pool's log.
type history struct {
	records int // number of records up to there
	at      Position
	dropped map[types.TxID]int // by transaction, number of the last record that dropped it
}

// readHistory reads a journal up to its last position in the pool's log. It returns nil if there is none. It ignores
// positions after a damaged record, which may have held a transaction: the later entries of the log are applied again.
func (p *Pool) readHistory(opts journal.Options) (h *history, err error) {
	records, dropped := 0, make(map[types.TxID]int)
	_, err = journal.ReadSound(opts.FS, opts.Path, func(payload []byte) error {
		records++
		switch r, _ := decodeRecord(payload); {
		case r.dropped != nil:
			dropped[*r.dropped] = records
		case r.at != nil && r.at.cluster == p.opts.Cluster:
			if h == nil {
				h = &history{dropped: make(map[types.TxID]int)}
			}
			h.records, h.at = records, r.at.Position
			maps.Copy(h.dropped, dropped)
			clear(dropped)
		}
		return nil
	})
	return h, err
}

// restorePosition sets the head to the one at which the journal's transactions were pending, or leaves the chain's if
// that is earlier.
func (p *Pool) restorePosition(at Position) error {
	p.appliedIndex, p.journalHeight = at.Index, at.Height
	p.ahead = p.head.Height < at.Height
	if at.Height >= p.head.Height || p.opts.HeadAt == nil {
		return nil
	}
	head, err := p.opts.HeadAt(at.Height)
	if err == nil {
		p.head = head
	}
	return err
}

// resume adds the transactions that were pending at a journal's last position to the pool, and returns the number of
// the journal's other transactions.
func (p *Pool) resume(opts journal.Options, h *history) (passed int, report journal.Report, err error) {
	records := 0
	b := new(batch)
	flush := func() {
		if waiting := b.pending(); len(waiting) > 0 {
			p.verifier.checkAll(context.Background(), waiting)
		}
		p.put(b)
		passed += len(b.candidates) - len(b.pending())
		b = new(batch)
	}
	report, err = journal.ReadSound(opts.FS, opts.Path, func(payload []byte) error {
		r, _ := decodeRecord(payload)
		if records++; records > h.records || r.encoded == nil {
			return nil
		}
		c := &candidate{restored: true}
		c.decode(p.rules(), r.encoded, r.added)
		if c.tx == nil || h.dropped[c.tx.ID()] > records || c.err != nil && !p.ahead {
			passed++
			return nil
		}
		c.err = nil // a later block's parameters may allow it
		if b.candidates = append(b.candidates, c); len(b.candidates) == replayBatch {
			flush()
		}
		return nil
	})
	flush()
	p.sortArrivals()
	return passed, report, err
}
