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

// TestMaxRunning lets more calls come than may run at a time, in a bubble where each takes a second.
func TestMaxRunning(t *testing.T) {
	const atATime, bodies, perBody = 2, 6, 3
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		work := func(context.Context, struct{}) (bool, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-time.After(time.Second) // of the bubble
			mu.Lock()
			running--
			mu.Unlock()
			return true, nil
		}
		panics := func(context.Context, struct{}) (bool, error) { panic("at work") }
		waits := func(ctx context.Context, _ struct{}) (bool, error) { <-ctx.Done(); return true, nil }
		s, err := jsonrpc.NewServer(jsonrpc.Options{MaxRunning: atATime, Incident: func(context.Context, string, error) string { return "" }},
			jsonrpc.NewMethod("work", work), jsonrpc.NewMethod("panics", panics), jsonrpc.NewMethod("waits", waits).Waiting())
		if err != nil {
			t.Fatal(err)
		}
		waiting, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range bodies { // more than may run, none of which is counted
			all.Go(func() { s.Serve(waiting, []byte(`{"jsonrpc":"2.0","id":1,"method":"waits"}`)) })
		}
		for range bodies { // a panic gives its slot back
			s.Serve(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"panics"}`))
		}
		synctest.Wait()

		start := time.Now()
		body := []byte("[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"work"},`, perBody-1) + `{"jsonrpc":"2.0","id":1,"method":"work"}]`)
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
				if waited := s.Compute(t.Context(), func() { _, err = work(t.Context(), struct{}{}) }); waited != nil || err != nil {
					t.Errorf("%v, %v", waited, err)
				}
			})
		}
		<-time.After(time.Second / 2)
		// Whoever's time ends while others run is told so.
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := string(s.Serve(short, []byte(`{"jsonrpc":"2.0","id":1,"method":"work"}`))); !strings.Contains(got, `"reason":"time"`) {
			t.Errorf("answer %s", got)
		}
		if err := s.Compute(short, func() { t.Error("it was done") }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		answered.Wait()
		if took := time.Since(start); most != atATime || took != (bodies*perBody+atATime)/atATime*time.Second {
			t.Errorf("%d calls ran at a time, all of them took %s", most, took)
		}
		end()
		all.Wait()
	})
}
