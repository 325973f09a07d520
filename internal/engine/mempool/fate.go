package mempool

import "github.com/cairn-chain/cairn/types"

// Cause is the reason, in snake_case, why a transaction left the pool without being in a block.
type Cause string

// The causes.
const (
	Expired    Cause = "expired"     // its valid_until has passed, or it waited for [Options].Expiry
	NoRoom     Cause = "no_room"     // it was evicted
	NotAllowed Cause = "not_allowed" // the current parameters do not allow it
	// Unauthorized means that the authority of its sender or payer has changed.
	Unauthorized Cause = "wrong_policy"
	Unpaid       Cause = "payer_cannot_pay" // its payer's balance fell
	TooFar       Cause = "nonce_too_high"   // its nonce is too far ahead since the chain was rewound
	Unbuilt      Cause = "not_built"        // the producer could not build a block with it; see [Pool.Drop]
	TakenBack    Cause = "taken_back"       // it arrived after the point to which the chain was rewound; see [Pool.Forget]
	Replaced     Cause = "replaced"         // another transaction took its nonce in the pool
)

// Fate is the outcome of a transaction that left the pool without being in a block.
type Fate struct {
	Cause Cause
	By    types.TxID // the replacement, for Replaced
}

// maxFates is the number of fates that are remembered, in about 8 MB.
const maxFates = 1 << 16

// fates holds the newest fates. A transaction that is added again has none.
type fates struct {
	of    map[types.TxID]Fate
	order []types.TxID // a ring; IDs without a fate may remain in it
	next  int
}

// put records a fate. If there are too many, it replaces the oldest.
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

// Fate returns the fate of a transaction that left the pool without being in a block, if the fate is remembered. The
// fate of a replaced transaction is its replacement's, or Replaced if the replacement is pending or in a block.
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

// Left returns a channel that is closed when a pending transaction leaves the pool in any way. It returns nil if the
// transaction is not pending.
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
