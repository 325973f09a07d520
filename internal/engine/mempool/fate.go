package mempool

import "github.com/cairn-chain/cairn/types"

// Cause is why a transaction left the pool that no block has, a word in snake_case.
type Cause string

// The causes.
const (
	Expired    Cause = "expired"        // it has waited for [Options].Expiry
	NoRoom     Cause = "no_room"        // it made way for others
	NotAllowed Cause = "not_allowed"    // the parameters in force do not allow it
	TooFar     Cause = "nonce_too_high" // the chain was taken back, and its nonce is too far ahead now
	Unbuilt    Cause = "not_built"      // the producer could make no block with it; see [Pool.Drop]
	TakenBack  Cause = "taken_back"     // it came after what the chain was taken back to; see [Pool.Forget]
	Replaced   Cause = "replaced"       // another one took its nonce in the pool
)

// Fate is what became of a transaction that left the pool without a block.
type Fate struct {
	Cause Cause
	By    types.TxID // of Replaced
}

// maxFates is how many fates are remembered: 8 MB.
const maxFates = 1 << 16

// fates are the newest ones. A transaction that comes again has none.
type fates struct {
	of    map[types.TxID]Fate
	order []types.TxID // a ring, in which some may be that have none any more
	next  int
}

// put remembers a fate instead of the oldest one if there are too many.
func (f *fates) put(id types.TxID, fate Fate) {
	if f.of == nil {
		f.of = make(map[types.TxID]Fate)
	}
	if _, again := f.of[id]; !again {
		if len(f.order) < maxFates {
			f.order = append(f.order, id)
		} else {
			delete(f.of, f.order[f.next])
			f.order[f.next] = id
			f.next = (f.next + 1) % maxFates
		}
	}
	f.of[id] = fate
}

// Fate tells what became of a transaction that is not pending and that left the pool without a block, as long as that
// is remembered. One that was replaced shares the fate of what took its place. If that is pending, or in a block, the
// fate is Replaced.
func (p *Pool) Fate(id types.TxID) (Fate, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.index.byID[id] != nil {
		return Fate{}, false
	}
	fate, ok := p.fates.of[id]
	for last := fate; ok && last.Cause == Replaced; fate = last {
		next, known := p.fates.of[last.By]
		if !known {
			break
		}
		last = next
	}
	return fate, ok
}

// Left is closed when a pending transaction leaves the pool, in whichever way; nil of one that is not pending.
func (p *Pool) Left(id types.TxID) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.index.byID[id]
	if e == nil {
		return nil
	}
	if e.left == nil {
		e.left = make(chan struct{})
	}
	return e.left
}
