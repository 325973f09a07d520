package mempool

import "fmt"

// Arrivals tells how many transactions have come so far; see [Pool.Forget].
func (p *Pool) Arrivals() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.index.sequence
}

// Forget removes the transactions that came after so many arrivals, and lets the journal hold what is pending only. Of
// what was taken before, nothing else comes back at the next start. That holds also if the chain is taken back to
// before a block that included it. An error is one of writing the journal.
func (p *Pool) Forget(arrivals uint64) error {
	p.mu.Lock()
	var late []*entry
	for e := p.index.arrivals.Back(); e != nil && e.Value.(*entry).sequence > arrivals; e = e.Prev() {
		late = append(late, e.Value.(*entry))
	}
	for _, e := range late {
		p.forget(e, Fate{Cause: TakenBack})
	}
	for _, e := range late {
		p.settle(e.sender)
	}
	p.filling.updatePressure(&p.opts)
	p.mu.Unlock()
	if p.journal.file == nil {
		return nil
	}
	if err := p.rewriteJournal(); err != nil {
		return fmt.Errorf("rewrite the mempool's journal: %w", err)
	}
	return nil
}
