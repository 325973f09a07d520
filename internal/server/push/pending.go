package push

import (
	"sync"

	"github.com/cairn-chain/cairn/types"
)

// pendingKept is how many of the newest transactions a subscriber may be behind: at 20,000 a second some 3 s.
const pendingKept = 1 << 16

// Pending is the ring of the hashes of newly accepted transactions, from which subscribers pull.
type Pending struct {
	mu      sync.Mutex // guards what follows
	ids     []types.TxID
	count   uint64        // of all that ever came
	arrived chan struct{} // closed when the next comes; nil while nobody waits
}

// NewPending returns an empty ring.
func NewPending() *Pending { return &Pending{ids: make([]types.TxID, pendingKept)} }

// Add appends a transaction's hash. It waits for nobody.
func (p *Pending) Add(id types.TxID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[p.count%pendingKept] = id
	p.count++
	if p.arrived != nil {
		close(p.arrived)
		p.arrived = nil
	}
}

// end is the position after the newest.
func (p *Pending) end() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// read copies what comes from a position on and returns how many; false where the ring no longer has it. Where there is
// nothing yet, arrived is closed when there is.
func (p *Pending) read(from uint64, into []types.TxID) (n int, arrived <-chan struct{}, kept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count-from > pendingKept {
		return 0, nil, false
	}
	for ; n < len(into) && from+uint64(n) < p.count; n++ {
		into[n] = p.ids[(from+uint64(n))%pendingKept]
	}
	if n == 0 {
		if p.arrived == nil {
			p.arrived = make(chan struct{})
		}
		arrived = p.arrived
	}
	return n, arrived, true
}
