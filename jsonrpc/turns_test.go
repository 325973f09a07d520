package jsonrpc_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// slots allows a limited number of turns at a time.
type slots struct {
	taken chan struct{}
	busy  error // refuses work instead of letting it wait; nil: it waits
}

func newSlots(count int, busy error) *slots { return &slots{make(chan struct{}, count), busy} }

func (s *slots) Enter(ctx context.Context) error {
	select {
	case s.taken <- struct{}{}:
		return nil
	default:
	}
	if s.busy != nil {
		return s.busy
	}
	select {
	case s.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Yield lets waiting work run first.
func (s *slots) Yield(context.Context) error {
	<-s.taken
	s.taken <- struct{}{}
	return nil
}

func (s *slots) Leave(context.Context) { <-s.taken }
func (s *slots) Taken() int            { return len(s.taken) }

// Run calls f in a turn.
func (s *slots) Run(ctx context.Context, f func()) error {
	if err := s.Enter(ctx); err != nil {
		return err
	}
	defer s.Leave(ctx)
	f()
	return nil
}

// TestRunning makes more calls than may run at a time, in a bubble where each takes a second.
func TestRunning(t *testing.T) {
	const atATime, bodies, perBody = 2, 6, 3
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		atWork, most := 0, 0
		work := func(context.Context, struct{}) (bool, error) {
			mu.Lock()
			atWork++
			most = max(most, atWork)
			mu.Unlock()
			<-time.After(time.Second) // time in the bubble
			mu.Lock()
			atWork--
			mu.Unlock()
			return true, nil
		}
		panics := func(context.Context, struct{}) (bool, error) { panic("at work") }
		running, alone := newSlots(atATime, nil), newSlots(1, jsonrpc.NewError(7, "one at a time"))
		once := func(context.Context, struct{}) (bool, error) { // work of another kind: it takes no slot from the rest
			if running.Taken() != atATime || alone.Taken() != 1 {
				t.Errorf("%d calls run, and %d alone", running.Taken(), alone.Taken())
			}
			return true, nil
		}
		waits := func(ctx context.Context, _ struct{}) (bool, error) { <-ctx.Done(); return true, nil }
		s, err := jsonrpc.NewServer(jsonrpc.Options{
			Running: running, Incident: func(context.Context, string, error) string { return "" },
		},
			jsonrpc.NewMethod("work", work), jsonrpc.NewMethod("panics", panics), jsonrpc.NewMethod("waits", waits).In(nil),
			jsonrpc.NewMethod("once", once).In(alone))
		if err != nil {
			t.Fatal(err)
		}
		waiting, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range bodies { // more than may run, none of which is counted
			all.Go(func() { s.Serve(waiting, []byte(`{"jsonrpc":"2.0","id":1,"method":"waits"}`)) })
		}
		for range bodies { // a panic releases its slot
			s.Serve(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"panics"}`))
		}
		synctest.Wait()

		start := time.Now()
		body := []byte("[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"work"},`, perBody-1) +
			`{"jsonrpc":"2.0","id":1,"method":"work"}]`)
		var answered sync.WaitGroup
		for range bodies {
			answered.Go(func() {
				if got := string(s.Serve(t.Context(), body)); strings.Count(got, `"result":true`) != perBody {
					t.Errorf("answer %s", got)
				}
			})
		}
		for range atATime { // other work waits for its turn too
			answered.Go(func() {
				var err error
				if waited := running.Run(t.Context(), func() { _, err = work(t.Context(), struct{}{}) }); waited != nil ||
					err != nil {
					t.Errorf("got %v, error %v", waited, err)
				}
			})
		}
		<-time.After(time.Second / 2)
		answered.Go(func() {
			if got := string(s.Serve(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"once"}`))); !strings.Contains(
				got, `"result":true`,
			) {
				t.Errorf("answer %s", got)
			}
		})
		// A call whose time ends while others run gets the error of its context.
		short, cancel := context.WithTimeout(t.Context(), time.Second/3)
		defer cancel()
		if got := string(s.Serve(short, []byte(`{"jsonrpc":"2.0","id":1,"method":"work"}`))); !strings.Contains(
			got, `"reason":"time"`,
		) {
			t.Errorf("answer %s", got)
		}
		if err := running.Run(short, func() { t.Error("it was done") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
		}
		if _, compressed := s.Compress(short, make([]byte, 1<<20), nil); compressed {
			t.Error("work does not wait for its turn")
		}
		answered.Wait()
		refused := func() {
			if got := string(s.Serve(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"once"}`))); !strings.Contains(
				got, `"code":7`,
			) {
				t.Errorf("answer %s", got)
			}
		}
		if alone.Run(t.Context(), refused) != nil || running.Taken() != 0 || alone.Taken() != 0 {
			t.Errorf("%d and %d slots are held when all is done", running.Taken(), alone.Taken())
		}
		if took := time.Since(start); most != atATime || took != (bodies*perBody+atATime)/atATime*time.Second {
			t.Errorf("%d calls ran at a time, all of them took %s", most, took)
		}
		end()
		all.Wait()
	})
}
