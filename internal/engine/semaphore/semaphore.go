// Package semaphore shares a bounded number of slots fairly among clients. Slots go round by client and not by arrival,
// so a client that asks for many waits behind its own requests only.
package semaphore

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrBusy is returned if too many requests of this client already wait.
var ErrBusy = errors.New("too many requests of this client are waiting")

// Limits bound the slots that are held and the requests that wait.
type Limits struct {
	Total     int // slots in all
	PerClient int // slots that one client may hold: the others are kept for other clients
	Waiting   int // requests of one client that may wait
}

// Fair is a counting semaphore that grants its slots to clients in turn. It is safe for concurrent use.
type Fair struct {
	limits Limits

	mu      sync.Mutex // guards the fields below
	free    int
	clients map[string]*client // clients that hold a slot or wait for one
	round   []*client          // clients in the order of their turns; some may have given up waiting
}

// client holds slots, or waits for some.
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

// New returns a semaphore with all slots free.
func New(limits Limits) *Fair {
	return &Fair{limits: limits, free: limits.Total, clients: make(map[string]*client)}
}

// Acquire waits for a slot and returns the function that gives it back, once. If ctx ends first, the request leaves the
// queue, and the error is ctx's cause. The error is [ErrBusy] if too many requests of this client wait.
func (f *Fair) Acquire(ctx context.Context, name string) (give func(), err error) {
	r, c, err := f.enter(name)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.ready:
	case <-ctx.Done():
		if !f.leave(c, r) {
			f.give(c)
		}
		return nil, context.Cause(ctx)
	}
	return func() { f.give(c) }, nil
}

// enter queues a request, which may hold a slot at once.
func (f *Fair) enter(name string) (*request, *client, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.clients[name]
	if c == nil {
		c = &client{name: name}
		f.clients[name] = c
	}
	if len(c.waiting) >= f.limits.Waiting {
		return nil, nil, ErrBusy
	}
	r := &request{ready: make(chan struct{})}
	c.waiting = append(c.waiting, r)
	f.queue(c)
	f.dispatch()
	return r, c, nil
}

// queue puts a client at the end of the round if it may take a slot.
func (f *Fair) queue(c *client) {
	if !c.queued && len(c.waiting) > 0 && c.holds < f.limits.PerClient {
		c.queued = true
		f.round = append(f.round, c)
	}
}

// dispatch hands out the free slots, one to each client in turn.
func (f *Fair) dispatch() {
	for f.free > 0 && len(f.round) > 0 {
		c := f.round[0]
		f.round = f.round[1:]
		c.queued = false
		if len(c.waiting) == 0 { // it has given up
			f.forget(c)
			continue
		}
		r := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.holds++
		f.free--
		r.granted = true
		close(r.ready)
		f.queue(c)
	}
}

// leave takes a request out of the queue, and reports whether it was still there: else it holds a slot.
func (f *Fair) leave(c *client, r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.granted {
		return false
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(one *request) bool { return one == r })
	f.forget(c)
	return true
}

// give gives a slot back.
func (f *Fair) give(c *client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.holds--
	f.free++
	f.queue(c)
	f.dispatch()
	f.forget(c)
}

// forget drops a client that neither holds a slot nor waits. One in the round is dropped when its turn comes.
func (f *Fair) forget(c *client) {
	if c.holds == 0 && len(c.waiting) == 0 && !c.queued {
		delete(f.clients, c.name)
	}
}
