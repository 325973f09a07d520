// Package request defines the context that accompanies a request from its connection to a handler: the client that sent
// it, and its remaining quota.
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
	// Gas and Time bound the execution of all of a request's calls, other than transactions, taken together.
	Gas  types.Gas = 1_000_000_000
	Time           = 5 * time.Second

	lookTime = time.Second // interval of checks whether the client of an idle request has gone
)

// Subscriber is the WebSocket connection of a message.
type Subscriber interface {
	Subscribe(context.Context, api.SubscribeParams) (id api.Quantity, err error)
	Unsubscribe(id api.Quantity) (known bool, err error)
}

// A Request is the shared context of the calls in one HTTP request or one WebSocket message. Unlike
// context.WithDeadline it starts no timer until someone waits for it: most calls only check Err.
type Request struct {
	context.Context // of the server or the connection

	// client that the pool charges for transactions: an IPv4 address or an IPv6 network; empty: the node
	Source     string
	Quota      jsonrpc.Quota // nil: no limit
	Subscriber Subscriber    // nil for a request over HTTP

	gas      atomic.Int64
	until    time.Time // end of the time for executions
	deadline time.Time // for the whole request; zero: the deadline of Context

	mu       sync.Mutex
	waitable context.Context // has a timer; set once Done is called
	cancel   context.CancelFunc
}

// Begin starts the clock of a request that has arrived in full. If total is 0, only its executions have a deadline.
func (r *Request) Begin(now time.Time, total time.Duration) {
	r.gas.Store(int64(Gas))
	r.until = now.Add(Time)
	if total > 0 {
		r.deadline = now.Add(total)
	}
}

// Extend gives a request a new total from now on, for the next part of an answer whose client has taken the parts before.
// Nobody may be waiting for its context meanwhile.
func (r *Request) Extend(now time.Time, total time.Duration) {
	r.End()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waitable, r.cancel = nil, nil
	if r.deadline = now.Add(total); total == 0 {
		r.deadline = time.Time{}
	}
}

// New returns a request that has just arrived, with the parent context.
func New(parent context.Context) *Request {
	r := &Request{Context: parent}
	r.Begin(time.Now(), 0)
	return r
}

type key struct{}

// Of returns the request that a context belongs to, or a new one if there is none, as for the node's own calls.
func Of(ctx context.Context) *Request {
	if r, ok := ctx.Value(key{}).(*Request); ok {
		return r
	}
	return New(ctx)
}

// Quota returns the quota of a context's request. It serves as jsonrpc.Options.Quota.
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

// End releases the timer that Done started. The context must not be waited for afterwards.
func (r *Request) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancel != nil {
		r.cancel()
	}
}

// Until returns the time at which the request's executions must end.
func (r *Request) Until() time.Time { return r.until }

// Stop returns an error if an execution must end: its time is up, or nobody waits for the answer. ctx must belong to
// the request. Stop also yields to other requests.
func (r *Request) Stop(ctx context.Context) error {
	if time.Now().After(r.until) {
		return api.ErrTimeUp
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return admission.Yield(ctx)
}

// Idle runs wait, which waits for a block rather than for the processor. The context of wait is canceled soon after the
// client has gone. Idle fails if the connection was closed to make way for another.
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

// GasLeft returns the gas that the request's calls may still use; 0 or less if none is left.
func (r *Request) GasLeft() int64 { return r.gas.Load() }

// TakeGas takes up to most gas and returns the amount, 0 if none is left. Return unused gas with GiveBack.
func (r *Request) TakeGas(most types.Gas) types.Gas {
	for {
		left := r.gas.Load()
		taken := max(0, min(left, int64(most)))
		if r.gas.CompareAndSwap(left, left-taken) {
			return types.Gas(taken)
		}
	}
}

// SpendGas takes gas that was already used, even if less is left.
func (r *Request) SpendGas(gas types.Gas) { r.gas.Add(-int64(gas)) }

// GiveBack returns unused gas.
func (r *Request) GiveBack(gas types.Gas) { r.gas.Add(int64(gas)) }
