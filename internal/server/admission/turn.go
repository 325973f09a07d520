package admission

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/cairn-chain/cairn/internal/machine"
)

// Client identifies a client of the scheduler. The zero value is a client of its own: the node itself.
type Client struct {
	Place netip.Addr // an IPv4 address, or an IPv6 network of 64 bits
	Key   string     // name of its API key, or empty
}

// ErrGone is returned when work is dropped because its client has gone. It wraps context.Canceled.
var ErrGone = fmt.Errorf("admission: the client has gone: %w", context.Canceled)

// Waiter is the client side of a turn.
type Waiter interface {
	// Gone reports whether the client has gone.
	Gone() bool
	// Used reports the processor time of a slice of long work. Helper goroutines may call it.
	Used(time.Duration)
}

// Turn is one request's share of the processor. It is not safe for concurrent use.
type Turn struct {
	Client Client
	Waiter Waiter // may be nil

	kind, class claim // kind limits work of one kind, class is short or long work
	began       time.Time
	at          time.Duration // thread clock at the start of the slice of long work
	used        time.Duration // time used in all completed slices
}

// TurnKey is the context key of a request's *Turn.
type TurnKey struct{}

func turnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(TurnKey{}).(*Turn)
	return t
}

// with is a context that carries a helper goroutine's own turn for the same client.
type with struct {
	context.Context
	turn Turn
}

// Value implements context.Context.
func (w *with) Value(key any) any {
	if key == (TurnKey{}) {
		return &w.turn
	}
	return w.Context.Value(key)
}

// begin starts a slice. The turn must have a place in its class.
func (t *Turn) begin() {
	t.began = time.Now()
	if t.class.queue.metered {
		runtime.LockOSThread()
		t.at = machine.ThreadTime()
	}
}

// end ends the slice and returns the time used. For long work that is processor time, which it charges to the waiter.
// For short work it is elapsed time, a slice at most: reading a thread's clock would cost short work a tenth of its
// time. Elapsed time is not the client's fault, so short work is not charged, and a turn that others have delayed does
// not delay the client's next one.
func (t *Turn) end() (used time.Duration) {
	used = time.Since(t.began)
	if t.class.queue.metered {
		if now := machine.ThreadTime(); now > 0 { // 0 if the system has no such clock
			used = now - t.at
		}
		runtime.UnlockOSThread()
		if t.Waiter != nil {
			t.Waiter.Used(used)
		}
	} else {
		used = min(used, t.class.queue.slice)
	}
	t.used += used
	return used
}

// Yield lets others have their turn if the slice of the turn of ctx is used up. It returns nil if the work may go on,
// [ErrGone] if its client has gone, or the cause of ctx's end. Call it about every millisecond; it costs less than 100
// ns while the slice lasts. Without a turn in ctx, it does nothing.
func Yield(ctx context.Context) error {
	t := turnOf(ctx)
	if t == nil || t.class.queue == nil || time.Since(t.began) < t.class.queue.slice {
		return nil
	}
	return t.class.queue.scheduler.again(ctx, t)
}

// Heavy turns the rest of the work of ctx into long work, for handlers that know that it takes more than a slice of
// short work. Its errors are those that [Yield] returns.
func Heavy(ctx context.Context) error {
	t := turnOf(ctx)
	if t == nil || t.class.queue == nil || t.class.queue.metered {
		return nil
	}
	return t.class.queue.scheduler.again(ctx, t)
}

// Large is like [Heavy], for work that holds much memory until its turn ends. Only a few pieces of such work run
// concurrently, and one for each client.
func Large(ctx context.Context) error {
	t := turnOf(ctx)
	if t == nil || t.class.queue == nil || t.kind.queue != nil {
		return nil
	}
	s := t.class.queue.scheduler
	s.giveBack(&t.class, t.end())
	if err := s.wait(ctx, t, s.large, &t.kind); err != nil {
		return err
	}
	return s.goOn(ctx, t)
}
