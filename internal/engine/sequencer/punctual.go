package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// punctual is a batch that ends at a time: what takes longer than its gas says, such as loading many contracts that
// nobody called for long, makes blocks smaller and not later. The first transaction is given at any time.
type punctual struct {
	ledger.Transactions
	clock Clock
	end   time.Time
	begun bool
}

func (p *punctual) Next() *types.VerifiedTx {
	if p.begun && !p.clock.Now().Before(p.end) {
		return nil
	}
	p.begun = true
	return p.Transactions.Next()
}
