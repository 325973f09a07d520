package request

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/types"
)

// A request ends with its parent or at its deadline, and has a timer only if something waits for it.
func TestRequestIsAContext(t *testing.T) {
	parent, cancel := context.WithCancel(t.Context())
	r := New(parent)
	if _, ok := r.Deadline(); ok || r.Err() != nil || r.Done() != parent.Done() {
		t.Error("a request without a deadline is not as its parent")
	}
	r.Begin(time.Now(), time.Hour)
	if deadline, ok := r.Deadline(); !ok || time.Until(deadline) > time.Hour || r.Err() != nil || r.waitable != nil {
		t.Errorf("deadline %v, %t; error %v", deadline, ok, r.Err())
	}
	cancel()
	if !errors.Is(r.Err(), context.Canceled) {
		t.Errorf("its parent has ended, it with %v", r.Err())
	}
	late := New(context.WithoutCancel(t.Context()))
	late.Begin(time.Now(), time.Nanosecond)
	defer late.End()
	<-late.Done()
	if !errors.Is(late.Err(), context.DeadlineExceeded) {
		t.Errorf("its time is up, it ends with %v", late.Err())
	}
	waited := New(t.Context())
	waited.Begin(time.Now(), time.Hour)
	done := waited.Done()
	waited.End()
	<-done // the timer is released
}

// The calls of one context share one request; a call without one has its own.
func TestOf(t *testing.T) {
	r := New(t.Context())
	r.Source = "192.0.2.1"
	inner, cancel := context.WithCancel(r)
	defer cancel()
	if Of(inner) != r || Of(r) != r {
		t.Error("the request is not found")
	}
	if own := Of(t.Context()); own == r || own.Source != "" || Quota(t.Context()) != nil || own.GasLeft() != int64(Gas) {
		t.Errorf("a call of no request has %+v", own)
	}
}

// However its calls take and return gas concurrently, a request never uses more than it has.
func TestGas(t *testing.T) {
	r := New(t.Context())
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 1000 {
				taken := r.TakeGas(Gas / 4)
				if taken > Gas/4 {
					t.Errorf("%d were taken", taken)
				}
				r.GiveBack(taken)
			}
		})
	}
	calls.Wait()
	if taken := []types.Gas{r.TakeGas(Gas - 10), r.TakeGas(Gas), r.TakeGas(1)}; taken[0] != Gas-10 || taken[1] != 10 ||
		taken[2] != 0 {
		t.Errorf("taken %v", taken)
	}
	r.SpendGas(5)
	if r.GasLeft() != -5 || r.TakeGas(1) != 0 {
		t.Errorf("%d are left", r.GasLeft())
	}
}

// An execution is stopped when the request's time is over, or when its client has disconnected.
func TestStop(t *testing.T) {
	r := New(t.Context())
	if err := r.Stop(r); err != nil {
		t.Error(err)
	}
	gone, cancel := context.WithCancel(r)
	cancel()
	if err := r.Stop(gone); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r.Begin(time.Now().Add(-Time-time.Second), 0)
	if err := r.Stop(r); !errors.Is(err, error(api.ErrTimeUp)) {
		t.Error(err)
	}
}

// leaver is a client that goes at a given time.
type leaver struct{ at time.Time }

func (leaver) Room(int) int                 { return 0 }
func (leaver) Charge(int)                   {}
func (l leaver) Gone() bool                 { return !time.Now().Before(l.at) }
func (leaver) Idle(wait func() error) error { return wait() }

// A waiter for a block learns within a second that the client has gone.
func TestIdleEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := New(t.Context())
		r.Quota = leaver{began.Add(10 * time.Second)}
		err := r.Idle(r, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if took := time.Since(began); !errors.Is(err, admission.ErrGone) || took < 10*time.Second || took > 11*time.Second {
			t.Errorf("it waited for %s, %v, want 10 s and %v", took, err, admission.ErrGone)
		}
		if err := r.Idle(r, func(context.Context) error { return nil }); err != nil {
			t.Errorf("what does not wait ends with %v", err)
		}
	})
}
