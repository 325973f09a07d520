package mempool

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/types"
)

// decided is what the pool of a cluster's member knows of the log. What an entry does to the pool is a function of what
// that holds. So a member that starts again must begin with exactly what it held at some position of the log, whatever
// of the chain is on disk by then.
type decided struct {
	moving sync.Mutex // held while the log moves the pool; guards the fields below. To write reached takes Pool.mu too
	// through is the last entry whose transactions were taken.
	through uint64
	// reached is the height at which the journal's transactions were pending. The chain may have lost the last blocks
	// until there; as long as it has, no limit is asked, as that was done at that height.
	reached types.Height
}

// ahead reports whether what is pending is of a later block than the head.
func (p *Pool) ahead() bool { return p.opts.decided && p.head.Height < p.decided.reached }

// Height is that of the newest block that the pool was told of.
func (p *Pool) Height() types.Height {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head.Height
}

// position is where the log has brought the pool.
func (p *Pool) position() Position {
	return Position{p.decided.through, max(p.Height(), p.decided.reached)}
}

// notePosition tells the journal where the log has brought the pool, and what is not pending though the journal has it.
// That was refused, had to make way, or has expired. The caller holds decided.moving.
func (p *Pool) notePosition(refused ...types.TxID) error {
	p.mu.Lock()
	gone := append(p.gone, refused...)
	p.gone = nil
	gone = slices.DeleteFunc(gone, func(id types.TxID) bool { return p.index.byID[id] != nil })
	p.mu.Unlock()
	if p.journal.file == nil {
		return nil
	}
	p.journal.writing.RLock()
	defer p.journal.writing.RUnlock()
	records := make([][]byte, 0, len(gone)+1)
	for _, id := range gone {
		records = append(records, encodeDropped(id))
	}
	return p.appendToJournal(append(records, logged{p.opts.Cluster, p.position()}.encode())...)
}

// pushOut is forget of what no block has, which the journal would bring back.
func (p *Pool) pushOut(e *entry, fate Fate) {
	if !e.gone && p.opts.decided && p.journal.file != nil {
		p.gone = append(p.gone, e.tx.ID())
	}
	p.forget(e, fate)
}

// Taken is a transaction that another pool holds.
type Taken struct {
	Tx    *types.Tx
	Added time.Time
}

// All are the pending transactions in the order of their arrival, and the position at which they are pending.
func (p *Pool) All() (Position, []Taken) {
	p.decided.moving.Lock()
	defer p.decided.moving.Unlock()
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

// Restore has the pool hold what that of another member of a cluster holds at a head, which has taken what the log
// decided until an entry, and nothing else. It returns when the journal, on disk, says the same.
func (p *Pool) Restore(index uint64, head Head, taken []Taken) error {
	p.journal.rewriting.Lock()
	defer p.journal.rewriting.Unlock()
	p.decided.moving.Lock()
	defer p.decided.moving.Unlock()
	b := &batch{candidates: make([]*candidate, len(taken))}
	for i, t := range taken {
		c := &candidate{tx: t.Tx, added: t.Added, restored: true}
		c.verified, _ = p.Get(t.Tx.ID())
		c.err = c.checkStatic(head.Env)
		b.candidates[i] = c
	}
	verifyTogether(b.pending())
	p.clear(index, head)
	p.put(b)
	if p.journal.file == nil {
		return nil
	}
	mark, payloads := p.alive()
	return p.journal.file.Rewrite(mark, payloads)
}

// clear drops all transactions, and makes head the pool's, with what was decided until an entry.
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
	clear(p.index.idle)
	p.decided.through, p.decided.reached, p.gone = index, head.Height, nil
	p.moveTo(head, nil)
}

// put puts verified candidates into the pool that were pending in one at its head: which of them are executable follows
// from the accounts, and nothing else is asked.
func (p *Pool) put(b *batch) {
	touched := make(map[*sender]bool)
	p.visit(b, func(s *sender, c *candidate) (err error) {
		p.judge(s)
		nonce := c.signed().Nonce
		i, found := s.findHeld(nonce)
		if found || nonce >= s.state.Nonce && nonce < s.next() {
			return ErrKnown // or another one in its place
		}
		if c.cost, err = c.signed().Cost(); err != nil {
			return err
		}
		e := &entry{
			tx:     c.verified,
			sender: s,
			nonce:  nonce,
			cost:   c.cost,
			added:  c.added,
			held:   true,
			floor:  capsOf(c.signed()),
		}
		p.remember(e)
		s.held = slices.Insert(s.held, i, e)
		touched[s] = true
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range touched {
		p.settle(s)
	}
	p.filling.updatePressure(&p.opts)
}

// history is what a journal says until the position to which a log brought its pool.
type history struct {
	records int // until there
	at      Position
	dropped map[types.TxID]int // which record was the last one to drop a transaction
}

// readHistory reads a journal for the last position of the pool's log; nil if it has none. Behind a damaged record it
// believes none, as that record may be of a transaction: the log has what follows, and brings it again.
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

// goTo makes the head the one at which the journal's transactions were pending, or the chain's if that is earlier.
func (p *Pool) goTo(at Position) error {
	p.decided.through, p.decided.reached = at.Index, at.Height
	if at.Height >= p.head.Height || p.opts.HeadAt == nil {
		return nil
	}
	head, err := p.opts.HeadAt(at.Height)
	if err == nil {
		p.head.Head = head
	}
	return err
}

// resume puts what a journal says was pending at a position into the pool, and returns how many of its transactions
// were not.
func (p *Pool) resume(opts journal.Options, h *history) (passed int, report journal.Report, err error) {
	records := 0
	b := new(batch)
	flush := func() {
		if waiting := b.pending(); len(waiting) > 0 {
			p.verifier.honest.verify(context.Background(), waiting)
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
		c.decode(p.head.Env, r.encoded, r.added)
		if c.tx == nil || h.dropped[c.tx.ID()] > records || c.err != nil && !p.ahead() {
			passed++
			return nil
		}
		c.err = nil // the parameters of a later block may allow it
		if b.candidates = append(b.candidates, c); len(b.candidates) == replayBatch {
			flush()
		}
		return nil
	})
	flush()
	p.sortArrivals()
	return passed, report, err
}
