// Package request is what a request carries on its way from the connection to a handler: whom it comes from, and what
// it may still use.
package request

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

const (
	// Gas and Time bound what the calls of one request that are not sent may execute together.
	Gas  types.Gas = 1_000_000_000
	Time           = 5 * time.Second

	lookTime = time.Second // between two looks whether the client of an idle request is still there
)

// Subscriber is the WebSocket connection that a message came on.
type Subscriber interface {
	Subscribe(context.Context, api.SubscribeParams) (id api.Quantity, err error)
	Unsubscribe(id api.Quantity) (known bool, err error)
}

// A Request is the context of the calls of one HTTP request or one WebSocket message, and what they share. Unlike a
// context of context.WithDeadline it starts no timer before someone waits for it, and most calls only ask Err.
type Request struct {
	context.Context // of the server or of the connection

	// whom the pool holds transactions against: an IPv4 address or an IPv6 network; empty: the node
	Source     string
	Quota      jsonrpc.Quota // nil: no bound
	Subscriber Subscriber    // nil of a request that came by HTTP

	gas      atomic.Int64
	until    time.Time // that executions may run
	deadline time.Time // of all; zero: that of Context

	mu       sync.Mutex
	waitable context.Context // with a timer, once someone has asked for Done
	cancel   context.CancelFunc
}

// Begin starts the time of a request: all of it has come now. A total of 0 sets no deadline but that of its executions.
func (r *Request) Begin(now time.Time, total time.Duration) {
	r.gas.Store(int64(Gas))
	r.until = now.Add(Time)
	if total > 0 {
		r.deadline = now.Add(total)
	}
}

// New returns a request that has come now, with a context for parent.
func New(parent context.Context) *Request {
	r := &Request{Context: parent}
	r.Begin(time.Now(), 0)
	return r
}

type key struct{}

// Of is the request that a context belongs to, or a new one for a call that belongs to none: one of the node's own.
func Of(ctx context.Context) *Request {
	if r, ok := ctx.Value(key{}).(*Request); ok {
		return r
	}
	return New(ctx)
}

// Quota is jsonrpc.Options.Quota.
func Quota(ctx context.Context) jsonrpc.Quota { return Of(ctx).Quota }

// Value implements context.Context.
func (r *Request) Value(k any) any {
	switch k {
	case key{}:
		return r
	case admission.TurnKey{}:
		if t, ok := r.Quota.(interface{ Turn() *admission.Turn }); ok {
			return t.Turn()
		}
	}
	return r.Context.Value(k)
}

// Deadline implements context.Context.
func (r *Request) Deadline() (time.Time, bool) {
	if r.deadline.IsZero() {
		return r.Context.Deadline()
	}
	return r.deadline, true
}

// Done implements context.Context.
func (r *Request) Done() <-chan struct{} {
	if r.deadline.IsZero() {
		return r.Context.Done()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waitable == nil {
		r.waitable, r.cancel = context.WithDeadline(r.Context, r.deadline)
	}
	return r.waitable.Done()
}

// Err implements context.Context.
func (r *Request) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waitable != nil {
		return r.waitable.Err()
	}
	if err := r.Context.Err(); err != nil {
		return err
	}
	if !r.deadline.IsZero() && time.Until(r.deadline) <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// End releases what Done started. Whoever waits must not use the context afterwards.
func (r *Request) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel()
	}
}

// Until is when the request's executions end.
func (r *Request) Until() time.Time { return r.until }

// Stop tells an execution for ctx, which is of the request, to end by returning an error: its time is up, or nobody
// waits for the answer. It lets others have their turn.
func (r *Request) Stop(ctx context.Context) error {
	if time.Now().After(r.until) {
		return api.ErrTimeUp
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return admission.Yield(ctx)
}

// Idle runs wait, which waits for a block and not for the node. Its context ends with an error soon after the client has
// gone, or its connection was needed for another.
func (r *Request) Idle(ctx context.Context, wait func(context.Context) error) error {
	q, ok := r.Quota.(interface {
		Idle(func() error) error
		Gone() bool
	})
	if !ok {
		return wait(ctx)
	}
	return q.Idle(func() error {
		waiting, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		go func() {
			ticker := time.NewTicker(lookTime)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					if q.Gone() {
						stop(admission.ErrGone)
						return
					}
				case <-waiting.Done():
					return
				}
			}
		}()
		if err := wait(waiting); err != nil {
			return errors.Join(err, context.Cause(waiting))
		}
		return nil
	})
}

// GasLeft is how much its calls may still use; not more than 0 where nothing is left.
func (r *Request) GasLeft() int64 { return r.gas.Load() }

// TakeGas takes up to most gas and returns how much, 0 where none is left. What is not used is given back.
func (r *Request) TakeGas(most types.Gas) types.Gas {
	for {
		left := r.gas.Load()
		taken := max(0, min(left, int64(most)))
		if r.gas.CompareAndSwap(left, left-taken) {
			return types.Gas(taken)
		}
	}
}

// SpendGas takes gas that was used already, even if less is left.
func (r *Request) SpendGas(gas types.Gas) { r.gas.Add(-int64(gas)) }

// GiveBack returns gas that was taken and not used.
func (r *Request) GiveBack(gas types.Gas) { r.gas.Add(int64(gas)) }
