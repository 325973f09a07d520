package wake

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestEveryoneIsWokenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Event
		var order, want []int
		var mu sync.Mutex
		for i := range 100 {
			want = append(want, i)
			go func() {
				if err := e.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			}()
			synctest.Wait()
		}
		if len(order) > 0 {
			t.Fatalf("%d went on before the event", len(order))
		}
		e.Fire()
		e.Fire()
		synctest.Wait()
		if slices.Sort(order); !slices.Equal(order, want) {
			t.Errorf("woken: %v, want each once", order)
		}
		if err := e.Wait(t.Context()); err != nil {
			t.Errorf("after the event: error %v", err)
		}
	})
}

// A goroutine that becomes ready while many are woken does not wait behind all of them.
func TestOthersRunBetween(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		const many = 1000
		var e Event
		var mu sync.Mutex
		woken, before := 0, -1
		other := make(chan struct{})
		for range many {
			go func() {
				_ = e.Wait(t.Context()) // the goroutine is woken
				mu.Lock()
				defer mu.Unlock()
				if woken++; woken == 1 {
					close(other)
				}
			}()
		}
		go func() {
			<-other
			mu.Lock()
			defer mu.Unlock()
			before = woken
		}()
		synctest.Wait()
		e.Fire()
		synctest.Wait()
		if woken != many || before > many/10 {
			t.Errorf("%d of %d were woken, %d before another that became ready at the first", woken, many, before)
		}
	})
}

func TestWhoLeavesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Event
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- e.Wait(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if n := e.waiting.Len(); n != 0 {
			t.Errorf("%d still wait, want 0", n)
		}
		e.Fire()
	})
}
