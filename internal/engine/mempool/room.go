package mempool

import (
	"slices"
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

// filling is how full the pool is.
type filling struct {
	usage    usage
	gas      types.Gas // sum of gas limits
	pressure bool      // see [Pool.Add]
}

// add counts an entry n times.
func (f *filling) add(e *entry, n int) {
	f.usage.add(e, n)
	f.gas += types.Gas(n) * e.tx.Signed().GasLimit // of −1 the product wraps as it should
}

// updatePressure follows what is in use, with hysteresis.
func (f *filling) updatePressure(o *Options) {
	switch u := f.usage; {
	case u.count*100 >= o.MaxTransactions*pressureOnPercent || u.bytes*100 >= o.MaxBytes*pressureOnPercent:
		f.pressure = true
	case u.count*100 < o.MaxTransactions*pressureOffPercent && u.bytes*100 < o.MaxBytes*pressureOffPercent:
		f.pressure = false
	}
}

// full is the error of a transaction without room. The next block is what makes room.
func (p *Pool) full(reason string) error {
	return &FullError{Reason: reason, RetryAfter: min(max(p.head.interval, time.Second), time.Minute)}
}

// victimsFor finds what has to be evicted for a candidate at its place: held transactions first, then those with the
// lowest tip, if it is lower than the candidate's. Its own sender's transactions are never evicted for it, and all of
// the evictions are found or none.
func (p *Pool) victimsFor(s *sender, c *candidate, at place) ([]*entry, error) {
	want := p.filling.usage
	want.addSize(c.size(), !at.executable, 1)
	if at.replaced != nil {
		want.add(at.replaced, -1)
	} else if p.filling.pressure && !c.restored && c.signed().MaxFeePerGas < p.head.Env.BaseFee {
		return nil, p.full("while it is nearly full, the max fee must be at least the base fee")
	}
	if want.fits(&p.opts) {
		return nil, nil
	}
	floor := capsOf(c.signed())
	if at.executable {
		floor = s.runFloor(min(int(c.signed().Nonce-s.state.Nonce), len(s.run)), floor)
	}
	tip := floor.tip(p.head.Env.BaseFee)

	p.index.order.protect(s)
	touched := []*sender{s}
	defer func() { p.index.order.release(touched) }()
	var victims []*entry
	for !want.fits(&p.opts) {
		owner, victim := p.index.order.first(p.head.Env.BaseFee)
		switch {
		case victim == nil,
			!victim.held && !at.executable,
			victim.held == !at.executable && victim.floor.tip(p.head.Env.BaseFee) >= tip:
			return nil, p.full("what it holds pays at least as much")
		}
		victims = append(victims, victim)
		want.add(victim, -1)
		touched = append(touched, owner)
		p.index.order.plan(owner)
	}
	return victims, nil
}

// evict removes what victimsFor found.
func (p *Pool) evict(victims []*entry) {
	for _, e := range victims {
		p.pushOut(e)
	}
	for _, e := range victims {
		p.trim(e.sender)
	}
}

// trim takes the evicted entries out of their sender's lists, at whose ends they are. Its held ones are gone before any
// of its run, so that nothing is left to promote.
func (p *Pool) trim(s *sender) {
	for last := len(s.held) - 1; last >= 0 && s.held[last].gone; last-- {
		s.held[last] = nil
		s.held = s.held[:last]
	}
	n := len(s.run)
	for n > 0 && s.run[n-1].gone {
		n--
		s.spent -= s.run[n].cost
	}
	if n < len(s.run) {
		s.run = slices.Clip(s.run[:n]) // appending must not overwrite what a snapshot may share
		if n&(n-1) == 0 {
			s.run = slices.Clone(s.run) // lets go of those behind, now and then
		}
	}
	p.publish(s)
}

// enforceHeldShare evicts held transactions, first those that pay least, until they are within their share.
func (p *Pool) enforceHeldShare() {
	for p.filling.usage.heldOver(&p.opts) && !p.ahead() {
		_, victim := p.index.order.first(p.head.Env.BaseFee)
		p.evict([]*entry{victim})
	}
}
