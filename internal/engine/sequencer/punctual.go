package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// patience is the least time that a transaction gets before it is dropped. 1 G gas takes 2 s of a processor at most, 4 s
// where storage is slow, and the machine may have other work (RATIONALE.md, "Execution").
const patience = 10 * time.Second

// punctual is a batch that ends in time: what takes longer than its gas says, such as loading many contracts that nobody
// called for long, makes blocks smaller and not later. The first transaction is given at any time.
type punctual struct {
	ledger.Transactions
	clock    Clock
	interval time.Duration // that the batch may take; at most 0: patience

	begin   time.Time
	given   int
	last    *types.VerifiedTx // given
	overdue *types.VerifiedTx // last, once it was stopped
}

func (p *punctual) Next() *types.VerifiedTx {
	now := p.clock.Now()
	if p.given == 0 {
		p.begin = now
	} else if now.Sub(p.begin) >= p.time() {
		return nil
	}
	p.given++
	p.last = p.Transactions.Next()
	return p.last
}

// Overdue is the batch's [ledger.Batch].Overdue.
func (p *punctual) Overdue() bool {
	limit := p.time()
	if p.alone() {
		limit = max(limit, patience)
	}
	if p.clock.Now().Sub(p.begin) < limit {
		return false
	}
	p.overdue = p.last
	return true
}

// alone reports whether the transaction given last had all the time.
func (p *punctual) alone() bool { return p.given == 1 }

func (p *punctual) time() time.Duration {
	if p.interval <= 0 {
		return patience
	}
	return p.interval
}
