package loadgen

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// fakeClock jumps to the time that it is asked to wait for.
type fakeClock struct{ time atomic.Int64 }

func (c *fakeClock) now() time.Duration { return time.Duration(c.time.Load()) }

func (c *fakeClock) waitUntil(_ context.Context, at time.Duration) bool {
	c.time.Store(max(c.time.Load(), int64(at)))
	return true
}

func TestOpenLoopArrivesEvenly(t *testing.T) {
	const connections, rate = 4, 1000.0 // in batches of 10: a request every 10 ms
	var arrivals []time.Duration
	for i := range connections {
		s := newSchedule(rate, 10, i, connections)
		clock := new(fakeClock)
		for index := range 25 {
			at, ok := s.arrival(t.Context(), clock, index)
			if !ok || clock.now() != at {
				t.Fatalf("arrival at %s, %v, the clock says %s", at, ok, clock.now())
			}
			arrivals = append(arrivals, at)
		}
	}
	slices.Sort(arrivals)
	for i, at := range arrivals {
		if want := time.Duration(i) * 10 * time.Millisecond; at != want {
			t.Fatalf("request %d is due at %s, want %s", i, at, want)
		}
	}
}

func TestClosedLoopArrivesAtOnce(t *testing.T) {
	clock := new(fakeClock)
	clock.time.Store(int64(5 * time.Second))
	if at, ok := newSchedule(0, 10, 3, 4).arrival(t.Context(), clock, 99); at != 5*time.Second || !ok {
		t.Errorf("arrival at %s, %v", at, ok)
	}
}

// TestSlowAnswersAreNotOmitted lets each answer take 1 s of the fake clock while a request is due every 100 ms.
// Latencies are measured from the scheduled times, and grow with the queue.
func TestSlowAnswersAreNotOmitted(t *testing.T) {
	clock := new(fakeClock)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		clock.time.Add(int64(time.Second))
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":0,"result":0}`))
	}))
	defer server.Close()
	node, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	const requests = 10
	calls := slices.Repeat([]Call{NewCall("read", "[]", nil)}, requests)
	w := &worker{
		dialer:   dialer{node: node},
		clock:    clock,
		schedule: newSchedule(10, 1, 0, 1),
		queue:    queue{requests: newEncoder(node, "", false).split(calls, 1)},
		latency:  newHistogram(), errors: map[string]*ErrorCount{},
	}
	w.run(t.Context())
	if w.requestCount.Load() != requests || w.latency.TotalCount() != requests {
		t.Fatalf("%d requests, %d latencies", w.requestCount.Load(), w.latency.TotalCount())
	}
	// The last request was due after 0.9 s and answered after 10 s.
	p := percentiles(w.latency)
	if p.Max < 9_000 || p.Max > 9_200 || p.P50 < 4_500 || p.P50 > 5_600 {
		t.Errorf("latencies %+v", p)
	}
}
