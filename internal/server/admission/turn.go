package admission

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/cairn-chain/cairn/internal/machine"
)

// Client is who work is done for. The zero value is a client of its own: the node itself.
type Client struct {
	Place netip.Addr // an IPv4 address, or an IPv6 network of 64 bits
	Key   string     // name of its API key, or empty
}

// ErrGone is why work is not done, or not finished: nobody waits for it any more. It is a context.Canceled.
var ErrGone = fmt.Errorf("admission: the client has gone: %w", context.Canceled)

// Waiter is who waits for the work of a turn.
type Waiter interface {
	// Gone reports whether nobody waits any more.
	Gone() bool
	// Used is told what processor time long work has used. Goroutines that help may say it.
	Used(time.Duration)
}

// Turn is what the work of one request has of the processor. It is for one goroutine.
type Turn struct {
	Client Client
	Waiter Waiter // for the work; nil: it is not known

	kind, class claim // class is of short or long work
	began       time.Time
	at          time.Duration // of the thread's clock when its slice of long work began
	used        time.Duration // in all slices that have ended
}

// TurnKey is the key under which the context of a request has its *Turn.
type TurnKey struct{}

func turnOf(ctx context.Context) *Turn {
	t, _ := ctx.Value(TurnKey{}).(*Turn)
	return t
}

// with is a context with a turn of its own, of the same client, for a goroutine that helps.
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

// begin starts a slice in the class whose place the turn has.
func (t *Turn) begin() {
	t.began = time.Now()
	if t.class.queue.metered {
		runtime.LockOSThread()
		t.at = machine.ThreadTime()
	}
}

// end ends the slice and returns what it used: of long work processor time, which it charges, of short work the time
// that passed. A thread's clock would cost short work a tenth of what it does, and the time that passes is not its own
// fault: so short work is not charged.
func (t *Turn) end() (used time.Duration) {
	used = time.Since(t.began)
	if t.class.queue.metered {
		if now := machine.ThreadTime(); now > 0 { // 0: it is not known on this system
			used = now - t.at
		}
		runtime.UnlockOSThread()
		if t.Waiter != nil {
			t.Waiter.Used(used)
		}
	}
	t.used += used
	return used
}

// Yield lets others have their turn, where the slice of the turn of ctx is used up. It returns nil when the work may go
// on, [ErrGone] if nobody waits for it any more, or the cause why ctx ended. It is to be asked every millisecond or
// so, and costs less than 100 ns where the slice is not used up. It may be asked without a turn.
func Yield(ctx context.Context) error {
	t := turnOf(ctx)
	if t == nil || t.class.queue == nil || time.Since(t.began) < t.class.queue.slice {
		return nil
	}
	return t.class.queue.scheduler.again(ctx, t)
}

// Heavy makes long work of what the turn of ctx goes on with: its handler knows that it takes more than a slice of short
// work. The error is as that of [Yield].
func Heavy(ctx context.Context) error {
	t := turnOf(ctx)
	if t == nil || t.class.queue == nil || t.class.queue.metered {
		return nil
	}
	return t.class.queue.scheduler.again(ctx, t)
}

// Large is [Heavy] for work that holds much memory from now on until its turn ends. Few pieces of such work have begun at
// a time, and one of a client.
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
