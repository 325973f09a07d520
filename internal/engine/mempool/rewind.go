package mempool

import "fmt"

// Arrivals returns the number of transactions that have arrived so far; see [Pool.Forget].
func (p *Pool) Arrivals() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.index.sequence
}

// Forget removes the transactions that arrived after the given number of arrivals, and rewrites the journal with only
// the pending transactions. No other transaction comes back at the next start, even if the chain is rewound to before
// the block that includes it. An error is from writing the journal.
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
	p.promoteFreed()
	p.updatePressure()
	p.mu.Unlock()
	if p.journal == nil {
		return nil
	}
	if err := p.rewriteJournal(); err != nil {
		return fmt.Errorf("rewrite the mempool's journal: %w", err)
	}
	return nil
}
