package mempool

import (
	"math"
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
	pressure bool      // see [Stats].BackPressure
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
func (p *Pool) full(class Class) error {
	return &FullError{Class: class, RetryAfter: min(max(p.head.interval, time.Second), time.Minute)}
}

// gapTime is how long a gap may be open before what it holds makes way for what has come since. Most gaps are those of
// transactions that overtake one another, and close at once.
const gapTime = 10 * time.Second

// claim is by what a candidate may displace others.
type claim struct {
	class Class
	low   bool  // it is under the base fee
	grows bool  // it replaces none
	count int   // held ones that its sender would have, or its run
	tip   int64 // the lowest of its run
	// old is the time until which a gap must have opened to make way, in nanoseconds; the beginning for none.
	old int64
}

func (p *Pool) claimOf(s *sender, c *candidate, at place) claim {
	floor := capsOf(c.signed())
	k := claim{grows: at.replaced == nil, count: len(s.held), old: math.MinInt64}
	if k.grows {
		k.count++
	}
	if at.executable {
		n := min(int(c.signed().Nonce-s.state.Nonce), len(s.run))
		floor, k.count = s.runFloor(n, floor), max(n, len(s.run)-1)+1
	} else if old := c.added.Add(-gapTime).UnixNano(); s.gapSince() > old {
		k.old = old
	}
	k.tip = floor.tip(p.head.Env.BaseFee)
	k.class, k.low = p.classOf(!at.executable, floor), k.tip < 0
	return k
}

// victimsFor finds what has to be evicted for a candidate at its place; see [Pool.nextVictim]. Its own sender's
// transactions are never evicted for it, and all of the evictions are found or none.
func (p *Pool) victimsFor(s *sender, c *candidate, at place) ([]*entry, error) {
	want, k := p.filling.usage, p.claimOf(s, c, at)
	want.addSize(c.size(), !at.executable, 1)
	if at.replaced != nil {
		want.add(at.replaced, -1)
	}
	// What is under the base fee does not make the pool fuller once it is nearly full.
	fits := func() bool {
		grows := want.count > p.filling.usage.count || want.bytes > p.filling.usage.bytes
		return want.fits(&p.opts) && !(k.low && k.grows && !c.restored && grows && want.over(&p.opts, pressureOnPercent))
	}
	if fits() {
		return nil, nil
	}
	p.index.order.protect(s)
	touched := []*sender{s}
	defer func() { p.index.order.release(touched) }()
	var victims []*entry
	for !fits() {
		owner, part := p.nextVictim(k, want.heldOver(&p.opts))
		if owner == nil {
			return nil, p.full(k.class)
		}
		victim := owner.victim(part)
		victims = append(victims, victim)
		want.add(victim, -1)
		touched = append(touched, owner)
		p.index.order.plan(owner, part)
	}
	return victims, nil
}

// nextVictim finds the sender that makes way next for a claim, nil for none, and in which part. What a block can
// include displaces what none can: first what is held, then what is under the base fee, of whoever has most of it. Then
// it displaces what has a lower tip. Anything else displaces only what no block can include. That is of a sender who
// has more of it than the candidate's own would have, or of one whose gap is old while the own one is not.
func (p *Pool) nextVictim(k claim, onlyHeld bool) (owner *sender, part int) {
	order, baseFee, includable := &p.index.order, p.head.Env.BaseFee, k.class == ClassExecutable
	if s := order.top(byHeld); s != nil && (includable || len(s.left(partHeld)) > k.count) {
		return s, partHeld
	}
	if s := order.top(byGap); s != nil && s.gapSince() <= k.old {
		return s, partHeld
	}
	if onlyHeld {
		return nil, 0
	}
	if s := order.longestUnder(baseFee); s != nil && (includable || len(s.left(partRun)) > k.count) {
		return s, partRun
	}
	if s := order.lowestTip(baseFee); s != nil && includable && s.victim(partRun).floor.tip(baseFee) < k.tip {
		return s, partRun
	}
	return nil, 0
}

// evict removes what victimsFor found.
func (p *Pool) evict(victims []*entry) {
	for _, e := range victims {
		p.counts.rooms[p.classOf(e.held, e.floor)].displaced.Add(1)
		p.pushOut(e, Fate{Cause: NoRoom})
	}
	for _, e := range victims {
		p.trim(e.sender)
	}
}

// trim takes the evicted entries out of their sender's lists, at whose ends they are. A shorter run promotes nothing.
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

// enforceHeldShare evicts held transactions, of whoever holds most, until they are within their share.
func (p *Pool) enforceHeldShare() {
	for p.filling.usage.heldOver(&p.opts) && !p.ahead() {
		p.evict([]*entry{p.index.order.top(byHeld).victim(partHeld)})
	}
}
