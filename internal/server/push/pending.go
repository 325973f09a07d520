package push

import (
	"sync"

	"github.com/cairn-chain/cairn/internal/wake"
	"github.com/cairn-chain/cairn/types"
)

// pendingKept is how many transactions a subscriber may be behind: at 20,000 a second, some 3 s.
const pendingKept = 1 << 16

// Pending is the ring of the hashes of newly accepted transactions, from which subscribers pull.
type Pending struct {
	mu      sync.Mutex // guards the fields below
	ids     []types.TxID
	count   uint64      // hashes added so far
	arrived *wake.Event // the next hash; nil while nobody waits
}

// NewPending returns an empty ring.
func NewPending() *Pending { return &Pending{ids: make([]types.TxID, pendingKept)} }

// Add appends a transaction's hash. It never blocks on readers.
func (p *Pending) Add(id types.TxID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids[p.count%pendingKept] = id
	p.count++
	if p.arrived != nil {
		p.arrived.Fire()
		p.arrived = nil
	}
}

// end returns the position after the newest hash.
func (p *Pending) end() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// read copies the hashes from a position on and returns their number. It returns false if the ring no longer has them.
// If there are none yet, it returns the arrival of the next one.
func (p *Pending) read(from uint64, into []types.TxID) (n int, arrived *wake.Event, kept bool) {
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
			p.arrived = new(wake.Event)
		}
		arrived = p.arrived
	}
	return n, arrived, true
}
