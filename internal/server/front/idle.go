package front

import (
	"net/netip"
	"time"
)

// leastIdle is how long a connection has had no request, or a part of one, before it may make way for a new one. Most
// clients that reuse a connection come back sooner, and nearly all requests are sent faster.
const leastIdle = time.Second

// site is the open connections of one place.
type site struct {
	place netip.Addr
	open  int
	ripe  link[conn] // a list of those that may make way, the longest idle first
	count int        // of ripe
	crowd link[site] // in the list of the sites with as many
}

// idlers are the connections without a complete request: half a one must keep nobody out. Every change takes constant
// time; the server's lock guards it.
type idlers struct {
	young  link[conn]    // a list of those that were not yet found to be idle for leastIdle, the longest first
	crowds []*link[site] // lists of the sites with one more ripe connection than the index says; the last one is not empty
}

// park makes a connection idle or reading from now on.
func (i *idlers) park(c *conn, state connState, now time.Time) {
	c.state, c.since = state, now
	i.young.add(&c.idle)
}

// unpark takes out a connection, if it is in.
func (i *idlers) unpark(c *conn) {
	c.idle.untie()
	if c.ripe {
		c.ripe = false
		i.recount(c.site, -1)
	}
}

// longest is the connection that makes way for a new one. It is the longest idle of a site or, if that is nil, of the
// site which has the most to give. It is nil where nobody is idle for leastIdle.
func (i *idlers) longest(of *site, now time.Time) *conn {
	for c := i.young.first(); c != nil && now.Sub(c.since) >= leastIdle; c = i.young.first() {
		c.idle.untie()
		c.site.ripe.add(&c.idle)
		c.ripe = true
		i.recount(c.site, 1)
	}
	if of == nil && len(i.crowds) > 0 {
		of = i.crowds[len(i.crowds)-1].first()
	}
	if of == nil {
		return nil
	}
	return of.ripe.first()
}

// recount follows a site that has one ripe connection more or less.
func (i *idlers) recount(s *site, by int) {
	s.crowd.untie()
	s.count += by
	if s.count > len(i.crowds) {
		i.crowds = append(i.crowds, &link[site]{})
	}
	if s.count > 0 {
		i.crowds[s.count-1].add(&s.crowd)
	}
	if last := len(i.crowds) - 1; i.crowds[last].first() == nil {
		i.crowds = i.crowds[:last]
	}
}

// link ties its owner into a list. A list is a link without an owner, in a ring with those in it.
type link[T any] struct {
	owner          *T
	previous, next *link[T]
}

// add ties l in at the list's end.
func (list *link[T]) add(l *link[T]) {
	if list.next == nil {
		list.previous, list.next = list, list
	}
	l.previous, l.next = list.previous, list
	l.previous.next, l.next.previous = l, l
}

// untie takes l out of the list that it is in, if any.
func (l *link[T]) untie() {
	if l.next == nil {
		return
	}
	l.previous.next, l.next.previous = l.next, l.previous
	l.previous, l.next = nil, nil
}

// first is the owner of the list's first link, nil where there is none.
func (list *link[T]) first() *T {
	if list.next == nil {
		return nil
	}
	return list.next.owner
}
