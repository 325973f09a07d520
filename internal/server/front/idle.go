package front

import (
	"net/netip"
	"time"
)

// leastIdle is how long a connection must have been idle, or in the middle of reading a request, before it may make way
// for a new one. Most clients that reuse a connection come back sooner, and nearly all requests arrive faster.
const leastIdle = time.Second

// site holds the open connections of one place.
type site struct {
	place netip.Addr
	open  int
	ripe  link[conn] // list of connections that may make way, the longest idle first
	count int        // length of ripe
	crowd link[site] // in the list of sites with the same count
}

// idlers tracks the connections without a complete request, so that an unfinished one keeps nobody out. Every operation
// takes amortized constant time; the server's lock guards it.
type idlers struct {
	young  link[conn]    // list of connections not yet known to be idle for leastIdle, the longest idle first
	crowds []*link[site] // crowds[i] lists the sites with i+1 ripe connections; the last list is not empty
}

// park marks a connection as idle or reading from now on.
func (i *idlers) park(c *conn, state connState, now time.Time) {
	c.state, c.since = state, now
	i.young.add(&c.idle)
}

// unpark removes a connection if it is present.
func (i *idlers) unpark(c *conn) {
	c.idle.unlink()
	if c.ripe {
		c.ripe = false
		i.recount(c.site, -1)
	}
}

// longest returns the connection that makes way for a new one: the longest idle of site of or, if of is nil, of the
// site with the most ripe connections. It returns nil if no connection has been idle for leastIdle.
func (i *idlers) longest(of *site, now time.Time) *conn {
	for c := i.young.first(); c != nil && now.Sub(c.since) >= leastIdle; c = i.young.first() {
		c.idle.unlink()
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

// recount updates a site that has gained or lost a ripe connection.
func (i *idlers) recount(s *site, by int) {
	s.crowd.unlink()
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

// link ties its owner into a list. A list is a link without an owner, in a ring with its members.
type link[T any] struct {
	owner          *T
	previous, next *link[T]
}

// add appends l to the list.
func (list *link[T]) add(l *link[T]) {
	if list.next == nil {
		list.previous, list.next = list, list
	}
	l.previous, l.next = list.previous, list
	l.previous.next, l.next.previous = l, l
}

// unlink removes l from the list that it is in, if any.
func (l *link[T]) unlink() {
	if l.next == nil {
		return
	}
	l.previous.next, l.next.previous = l.next, l.previous
	l.previous, l.next = nil, nil
}

// first returns the owner of the list's first link, or nil if the list is empty.
func (list *link[T]) first() *T {
	if list.next == nil {
		return nil
	}
	return list.next.owner
}
