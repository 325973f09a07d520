package semaphore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// desk takes turns for clients, and records the order in which they get them.
type desk struct {
	t     *testing.T
	turns *Fair

	mu    sync.Mutex // guards the fields below, if two are notified at once
	order []string
	gives []func()
	errs  []error
}

// ask has a client wait for a slot, until ctx ends.
func (d *desk) ask(ctx context.Context, client string) {
	go func() {
		give, err := d.turns.Acquire(ctx, client)
		d.mu.Lock()
		defer d.mu.Unlock()
		if err != nil {
			d.errs = append(d.errs, err)
			return
		}
		d.order, d.gives = append(d.order, client), append(d.gives, give)
	}()
	synctest.Wait()
}

// give returns the slot that was taken first.
func (d *desk) give() {
	give := d.gives[0]
	d.gives = d.gives[1:]
	give()
	synctest.Wait()
}

func (d *desk) want(order ...string) {
	d.t.Helper()
	if !slices.Equal(d.order, order) {
		d.t.Fatalf("got turns %v, want %v", d.order, order)
	}
}

// end returns all slots: then no client is remembered.
func (d *desk) end() {
	d.t.Helper()
	for len(d.gives) > 0 {
		d.give()
	}
	if d.turns.free != d.turns.limits.Total || len(d.turns.clients) != 0 || len(d.turns.round) != 0 {
		d.t.Fatalf("got %d free slots, %d clients and %d in the round, want %d, 0 and 0",
			d.turns.free, len(d.turns.clients), len(d.turns.round), d.turns.limits.Total)
	}
}

func at(t *testing.T, limits Limits, test func(*desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{t: t, turns: New(limits)}
		test(d)
		d.end()
	})
}

// A client with many earlier requests waits for the first ones of the others.
func TestTurnsGoRoundByClient(t *testing.T) {
	at(t, Limits{Total: 1, PerClient: 1, Waiting: 3}, func(d *desk) {
		for range 4 {
			d.ask(d.t.Context(), "many")
		}
		d.ask(d.t.Context(), "one")
		d.ask(d.t.Context(), "two")
		d.ask(d.t.Context(), "one")
		for range 6 {
			d.give()
		}
		d.want("many", "one", "two", "many", "one", "many", "many")
	})
}

// However many slots a client asks for, some stay free for others, and only a limited number of its requests wait.
func TestClientIsBounded(t *testing.T) {
	at(t, Limits{Total: 3, PerClient: 2, Waiting: 2}, func(d *desk) {
		for range 5 {
			d.ask(d.t.Context(), "many")
		}
		d.want("many", "many")
		if len(d.errs) != 1 || !errors.Is(d.errs[0], ErrBusy) {
			t.Fatalf("got errors %v, want one ErrBusy", d.errs)
		}
		d.ask(d.t.Context(), "one")
		d.want("many", "many", "one")
	})
}

// A request whose context ends leaves the queue without using a turn.
func TestGoneClientLeaves(t *testing.T) {
	at(t, Limits{Total: 1, PerClient: 1, Waiting: 2}, func(d *desk) {
		d.ask(d.t.Context(), "first")
		gone := errors.New("the connection is gone")
		ctx, leave := context.WithCancelCause(d.t.Context())
		d.ask(ctx, "gone")
		d.ask(ctx, "gone")
		d.ask(d.t.Context(), "last")
		leave(gone)
		synctest.Wait()
		if fmt.Sprint(d.errs) != fmt.Sprint([]error{gone, gone}) {
			t.Fatalf("got errors %v, want twice %v", d.errs, gone)
		}
		d.give()
		d.want("first", "last")
	})
}
