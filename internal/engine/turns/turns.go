// Package turns shares a bounded number of slots fairly among clients. Slots go round by client and not by arrival, so
// a client that asks for many waits behind its own requests only.
package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrBusy says that as many requests of this client wait already as may.
var ErrBusy = errors.New("too many requests of this client are waiting")

// Limits bound who holds slots and who waits for them.
type Limits struct {
	Slots     int // in all
	PerClient int // that one client may hold: the others are kept for other clients
	Waiting   int // requests of one client that may wait
}

// Turns hands out slots. Its methods may be called concurrently.
type Turns struct {
	limits Limits

	mu      sync.Mutex // guards what follows
	free    int
	clients map[string]*client // those that hold a slot or wait for one
	round   []*client          // whose turn comes next, first to last; some may have given up waiting
}

// client is whoever takes turns with others.
type client struct {
	name    string
	holds   int
	waiting []*request // first to last
	queued  bool       // in the round
}

// request is one wait for a slot.
type request struct {
	ready   chan struct{} // closed once it holds a slot
	granted bool
}

// New returns free slots.
func New(limits Limits) *Turns {
	return &Turns{limits: limits, free: limits.Slots, clients: make(map[string]*client)}
}

// Take waits for a slot and returns the function that gives it back, once. If ctx ends first, the request leaves the
// queue, and the error is ctx's cause. The error is [ErrBusy] if too many requests of this client wait.
func (t *Turns) Take(ctx context.Context, name string) (give func(), err error) {
	r, c, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
		if !t.leave(c, r) {
			t.give(c)
		}
		return nil, context.Cause(ctx)
	}
	return func() { t.give(c) }, nil
}

// enter queues a request, which may hold a slot at once.
func (t *Turns) enter(name string) (*request, *client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[name]
	if c == nil {
		c = &client{name: name}
		t.clients[name] = c
	}
	if len(c.waiting) >= t.limits.Waiting {
		return nil, nil, ErrBusy
	}
	r := &request{ready: make(chan struct{})}
	c.waiting = append(c.waiting, r)
	t.queue(c)
	t.dispatch()
	return r, c, nil
}

// queue puts a client at the end of the round if it may take a slot.
func (t *Turns) queue(c *client) {
	if !c.queued && len(c.waiting) > 0 && c.holds < t.limits.PerClient {
		c.queued = true
		t.round = append(t.round, c)
	}
}

// dispatch hands out the free slots, one to each client in turn.
func (t *Turns) dispatch() {
	for t.free > 0 && len(t.round) > 0 {
		c := t.round[0]
		t.round = t.round[1:]
		c.queued = false
		if len(c.waiting) == 0 { // it has given up
			t.forget(c)
			continue
		}
		r := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.holds++
		t.free--
		r.granted = true
		close(r.ready)
		t.queue(c)
	}
}

// leave takes a request out of the queue, and reports whether it was still there: else it holds a slot.
func (t *Turns) leave(c *client, r *request) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.granted {
		return false
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(one *request) bool { return one == r })
	t.forget(c)
	return true
}

// give gives a slot back.
func (t *Turns) give(c *client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.holds--
	t.free++
	t.queue(c)
	t.dispatch()
	t.forget(c)
}

// forget drops a client that neither holds a slot nor waits. One in the round is dropped when its turn comes.
func (t *Turns) forget(c *client) {
	if c.holds == 0 && len(c.waiting) == 0 && !c.queued {
		delete(t.clients, c.name)
	}
}
