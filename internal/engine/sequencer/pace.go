package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/types"
)

const (
	// A call keeps pace if it takes at most paceTime, and paceGas for each gas that it used: some four times what gas
	// may take.
	paceTime = time.Millisecond
	paceGas  = 4 * time.Nanosecond
	// slowFor is how long a contract counts as slow after a call that did not keep pace.
	slowFor = 10 * time.Minute
	// maxPaces bounds how many contracts are remembered.
	maxPaces = 65_536
)

// paces are the contracts that were called: until when each counts as slow. The zero time is of one that kept pace.
type paces map[types.ContractID]time.Time

// rank is 0 for a contract that keeps pace, 1 for one that was not called, and 2 for one that was slow a short time
// ago.
func (p paces) rank(contract types.ContractID, now time.Time) int {
	switch slow, called := p[contract]; {
	case !called:
		return 1
	case slow.After(now):
		return 2
	default:
		return 0
	}
}

// ran notes a call that took a time for its gas.
func (p paces) ran(tx *types.VerifiedTx, used types.Gas, took time.Duration, now time.Time) {
	call, ok := tx.Signed().Payload.(types.Call)
	if !ok {
		return
	}
	if _, called := p[call.Contract]; !called && len(p) >= maxPaces {
		clear(p)
	}
	switch {
	case took > paceTime+time.Duration(used)*paceGas:
		p[call.Contract] = now.Add(slowFor)
	case !p[call.Contract].After(now):
		p[call.Contract] = time.Time{}
	}
}
