package mempool

import (
	"math"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// Shares of the pool's limits.
const (
	heldPercent        = 10 // share of transactions and of bytes that may be held
	pressureOnPercent  = 90
	pressureOffPercent = 75
)

// usage is the used part of the pool's limits.
type usage struct {
	count, bytes         int
	heldCount, heldBytes int
}

// add adds an entry n times.
func (u *usage) add(e *entry, n int) { u.addSize(e.size(), e.held, n) }

func (u *usage) addSize(size int, held bool, n int) {
	u.count += n
	u.bytes += n * size
	if held {
		u.heldCount += n
		u.heldBytes += n * size
	}
}

// over reports whether a percentage of the limits is exceeded.
func (u usage) over(o *Options, percent int) bool {
	return u.count*100 > o.MaxTransactions*percent || u.bytes*100 > o.MaxBytes*percent
}

func (u usage) heldOver(o *Options) bool {
	return u.heldCount*100 > o.MaxTransactions*heldPercent || u.heldBytes*100 > o.MaxBytes*heldPercent
}

func (u usage) fits(o *Options) bool { return !u.over(o, 100) && !u.heldOver(o) }

// addUsage adds an entry n times to the used part of the limits; n may be −1.
func (p *Pool) addUsage(e *entry, n int) {
	p.usage.add(e, n)
	p.gas += types.Gas(n) * e.tx.Signed().GasLimit // for −1 the product wraps as intended
}

// updatePressure updates pressure with hysteresis.
func (p *Pool) updatePressure() {
	switch u, o := p.usage, &p.opts; {
	case u.count*100 >= o.MaxTransactions*pressureOnPercent || u.bytes*100 >= o.MaxBytes*pressureOnPercent:
		p.pressure = true
	case u.count*100 < o.MaxTransactions*pressureOffPercent && u.bytes*100 < o.MaxBytes*pressureOffPercent:
		p.pressure = false
	}
}

// full returns the error of a transaction without room. The next block is likely to make room.
func (p *Pool) full(class Class) error {
	return &FullError{Class: class, RetryAfter: min(max(p.blockInterval, time.Second), time.Minute)}
}

// gapTime is the time after which the transactions behind a gap can be evicted for newer ones. Most gaps are due to
// reordered transactions, and close soon.
const gapTime = 10 * time.Second

// claim is a candidate's right to displace others.
type claim struct {
	class Class
	low   bool  // under the base fee
	grows bool  // replaces no other
	count int   // transactions that its sender would have in the same part
	tip   int64 // lowest tip of its run
	// old is the latest time at which a gap may have opened to be evicted, in nanoseconds; MinInt64 for none.
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

// evictionCandidates returns the entries to evict for a candidate at its place; see [Pool.nextVictim]. They never
// belong to the candidate's sender. If they do not make enough room, it returns none and an error.
func (p *Pool) evictionCandidates(s *sender, c *candidate, at place) ([]*entry, error) {
	want, k := p.usage, p.claimOf(s, c, at)
	want.addSize(c.size(), !at.executable, 1)
	if at.replaced != nil {
		want.add(at.replaced, -1)
	}
	// When the pool is nearly full, a transaction under the base fee must not make it fuller.
	fits := func() bool {
		grows := want.count > p.usage.count || want.bytes > p.usage.bytes
		return want.fits(&p.opts) && !(k.low && k.grows && !c.restored && grows && want.over(&p.opts, pressureOnPercent))
	}
	if fits() {
		return nil, nil
	}
	p.index.order.refresh()
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

// nextVictim finds the sender that a claim displaces next, and in which part. It returns nil if there is none.
//
// A candidate that a block can include displaces, in this order: held transactions, and those under the base fee, each
// of the sender who has most; then those with a lower tip. Any other candidate displaces only transactions that no
// block can include. They belong to a sender who has more of them than the candidate's would have, or to one whose gap
// is old while the candidate's is not.
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

// evict removes victims from the pool.
func (p *Pool) evict(victims []*entry) {
	for _, e := range victims {
		p.counts.rooms[p.classOf(e.held, e.floor)].displaced.Add(1)
		p.forget(e, Fate{Cause: NoRoom})
	}
	for _, e := range victims {
		p.trim(e.sender)
	}
}

// trim removes the evicted entries from the ends of their sender's lists. No held transaction becomes executable by
// that.
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
		s.run = slices.Clip(s.run[:n]) // appending must not overwrite a snapshot's elements
		if n&(n-1) == 0 {
			s.run = slices.Clone(s.run) // releases the removed entries now and then
		}
	}
	p.publish(s)
}

// enforceHeldShare evicts held transactions, always of the sender who has most, until they are within their share.
func (p *Pool) enforceHeldShare() {
	for p.usage.heldOver(&p.opts) && !p.ahead {
		p.index.order.refresh()
		p.evict([]*entry{p.index.order.top(byHeld).victim(partHeld)})
		p.promoteFreed()
	}
}
