package mempool

import (
	"container/heap"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// Shares of the pool's limits.
const (
	heldPercent        = 10 // of transactions and bytes may be held
	pressureOnPercent  = 90
	pressureOffPercent = 75
)

// usage is what of the pool's limits is in use.
type usage struct {
	count, bytes         int
	heldCount, heldBytes int
}

// add counts an entry n times.
func (u *usage) add(e *entry, n int) { u.addSize(e.size(), e.held, n) }

func (u *usage) addSize(size int, held bool, n int) {
	u.count += n
	u.bytes += n * size
	if held {
		u.heldCount += n
		u.heldBytes += n * size
	}
}

// over reports whether a percentage of the limits is passed.
func (u usage) over(o *Options, percent int) bool {
	return u.count*100 > o.MaxTransactions*percent || u.bytes*100 > o.MaxBytes*percent
}

func (u usage) heldOver(o *Options) bool {
	return u.heldCount*100 > o.MaxTransactions*heldPercent || u.heldBytes*100 > o.MaxBytes*heldPercent
}

func (u usage) fits(o *Options) bool { return !u.over(o, 100) && !u.heldOver(o) }

// updatePressure follows the pool's filling, with hysteresis.
func (p *Pool) updatePressure() {
	switch u := p.usage; {
	case u.count*100 >= p.opts.MaxTransactions*pressureOnPercent || u.bytes*100 >= p.opts.MaxBytes*pressureOnPercent:
		p.pressure = true
	case u.count*100 < p.opts.MaxTransactions*pressureOffPercent && u.bytes*100 < p.opts.MaxBytes*pressureOffPercent:
		p.pressure = false
	}
}

// full is the error of a transaction without room. The next block is what makes room.
func (p *Pool) full(reason string) error {
	return &FullError{Reason: reason, RetryAfter: min(max(p.interval, time.Second), time.Minute)}
}

// makeRoom finds what has to be evicted for a candidate at its place: held transactions first, then those with the
// lowest tip, if it is lower than the candidate's. Its own sender's transactions are never evicted for it, and all of
// the evictions are found or none.
func (p *Pool) makeRoom(s *sender, c *candidate, at place) ([]*entry, error) {
	want := p.usage
	want.addSize(c.size, !at.executable, 1)
	if at.replaced != nil {
		want.add(at.replaced, -1)
	} else if p.pressure && !c.restored && c.tx.MaxFeePerGas < p.head.Env.BaseFee {
		return nil, p.full("while it is nearly full, the max fee must be at least the base fee")
	}
	if want.fits(&p.opts) {
		return nil, nil
	}
	floor := capsOf(&c.tx)
	if at.executable {
		floor = s.runFloor(min(int(c.tx.Nonce-s.state.Nonce), len(s.run)), floor)
	}
	tip := floor.tip(p.head.Env.BaseFee)

	order := p.evictionOrder()
	order.protect(s)
	touched := []*sender{s}
	defer func() { order.release(touched) }()
	var victims []*entry
	for !want.fits(&p.opts) {
		owner, victim := order.first()
		switch {
		case victim == nil,
			!victim.held && !at.executable,
			victim.held == !at.executable && victim.floor.tip(p.head.Env.BaseFee) >= tip:
			return nil, p.full("what it holds pays at least as much")
		}
		victims = append(victims, victim)
		want.add(victim, -1)
		touched = append(touched, owner)
		order.plan(owner)
	}
	return victims, nil
}

// evict removes what makeRoom found.
func (p *Pool) evict(victims []*entry) {
	for _, e := range victims {
		p.forget(e)
	}
	for _, e := range victims {
		p.settle(e.sender)
	}
}

// enforceHeldShare evicts held transactions, first those that pay least, until they are within their share.
func (p *Pool) enforceHeldShare() {
	for p.usage.heldOver(&p.opts) {
		_, victim := p.evictionOrder().first()
		p.evict([]*entry{victim})
	}
}

// evictionOrder is a heap of the senders by what each would lose next: its last held transaction, or else the last of
// its run. Held ones come before executable ones, then the lower tip, then the later arrival. Only last ones are
// evicted, so that no gap is made; a run counts as its lowest tip, because a builder gets no further.
//
// It is built when the pool first lacks room after a block, as the order depends on the base fee. A nil order ignores
// updates.
type evictionOrder struct {
	baseFee types.Amount
	senders []*sender
}

func (p *Pool) evictionOrder() *evictionOrder {
	if p.order == nil {
		p.order = &evictionOrder{baseFee: p.head.Env.BaseFee, senders: make([]*sender, 0, len(p.senders))}
		for _, s := range p.senders {
			s.orderIndex, s.planned = len(p.order.senders), 0
			p.order.senders = append(p.order.senders, s)
		}
		heap.Init(p.order)
	}
	return p.order
}

// forgetOrder drops the eviction order when the head has changed.
func (p *Pool) forgetOrder() {
	if p.order == nil {
		return
	}
	for _, s := range p.order.senders {
		s.orderIndex = -1
	}
	p.order = nil
}

// everything is a number of planned evictions that leaves a sender nothing to lose.
const everything = 1 << 30

// victim is what s would lose next, nil if nothing.
func (s *sender) victim() *entry {
	i := len(s.run) + len(s.held) - 1 - s.planned
	switch {
	case i < 0:
		return nil
	case i < len(s.run):
		return s.run[i]
	default:
		return s.held[i-len(s.run)]
	}
}

// first is the first sender of the order and what it would lose; nil when there is nothing to evict.
func (o *evictionOrder) first() (*sender, *entry) {
	if len(o.senders) == 0 {
		return nil, nil
	}
	return o.senders[0], o.senders[0].victim()
}

// plan goes one transaction further at a sender.
func (o *evictionOrder) plan(s *sender) {
	s.planned++
	heap.Fix(o, s.orderIndex)
}

// protect leaves a sender out of planning; it may be one that the pool does not know yet.
func (o *evictionOrder) protect(s *sender) {
	s.planned = everything
	o.update(s)
}

// release ends planning.
func (o *evictionOrder) release(senders []*sender) {
	for _, s := range senders {
		s.planned = 0
		o.update(s)
	}
}

// update follows a change of a sender.
func (o *evictionOrder) update(s *sender) {
	if o == nil {
		return
	}
	present := s.orderIndex >= 0
	switch empty := len(s.run)+len(s.held) == 0; {
	case present && empty:
		heap.Remove(o, s.orderIndex)
	case present:
		heap.Fix(o, s.orderIndex)
	case !empty:
		heap.Push(o, s)
	}
}

// Len implements heap.Interface.
func (o *evictionOrder) Len() int { return len(o.senders) }

// Less implements heap.Interface.
func (o *evictionOrder) Less(i, j int) bool {
	a, b := o.senders[i].victim(), o.senders[j].victim()
	if a == nil || b == nil {
		return a != nil
	}
	if a.held != b.held {
		return a.held
	}
	if x, y := a.floor.tip(o.baseFee), b.floor.tip(o.baseFee); x != y {
		return x < y
	}
	return a.sequence > b.sequence
}

// Swap implements heap.Interface.
func (o *evictionOrder) Swap(i, j int) {
	o.senders[i], o.senders[j] = o.senders[j], o.senders[i]
	o.senders[i].orderIndex, o.senders[j].orderIndex = i, j
}

// Push implements heap.Interface.
func (o *evictionOrder) Push(x any) {
	s := x.(*sender)
	s.orderIndex = len(o.senders)
	o.senders = append(o.senders, s)
}

// Pop implements heap.Interface.
func (o *evictionOrder) Pop() any {
	last := len(o.senders) - 1
	s := o.senders[last]
	o.senders[last] = nil
	o.senders = o.senders[:last]
	s.orderIndex = -1
	return s
}
