package sequencer

import (
	"time"

	"github.com/cairn-chain/cairn/types"
)

const (
	// A call keeps pace if it takes at most paceTime, plus paceGas for each gas used: about four times the time that
	// gas may take.
	paceTime = time.Millisecond
	paceGas  = 4 * time.Nanosecond
	// slowFor is the time for which a contract counts as slow after a call that did not keep pace.
	slowFor = 10 * time.Minute
	// maxPaces bounds the number of contracts remembered.
	maxPaces = 65_536
)

// paces records, for each contract that was called, until when it counts as slow. The zero time means that it kept
// pace.
type paces map[types.ContractID]time.Time

// rank returns 0 for a contract that keeps pace, 1 for one not called before, and 2 for one that was recently slow.
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

// ran records the time of a transaction that calls one contract and the gas that it used.
func (p paces) ran(tx *types.VerifiedTx, used types.Gas, took time.Duration, now time.Time) {
	all, only := calls(&tx.Signed().Transaction)
	if !only { // of a batch that calls several contracts nobody knows which one was slow
		return
	}
	contract := all[0]
	if _, called := p[contract]; !called && len(p) >= maxPaces {
		clear(p)
	}
	switch {
	case took > paceTime+time.Duration(used)*paceGas:
		p[contract] = now.Add(slowFor)
	case !p[contract].After(now):
		p[contract] = time.Time{}
	}
}
