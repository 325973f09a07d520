package node

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

// However many clients read the metrics, one answer is computed at a time, and the client that has read least comes
// first. A client that does not read its answer delays nobody.
func TestMetricsTakeTurns(t *testing.T) {
	scheduler := admission.New(1)
	scheduler.Reserve(true) // one turn
	defer scheduler.Reserve(false)
	var running, served atomic.Int32
	var order []string
	begun, goOn := make(chan struct{}), make(chan struct{})
	handler := inTurns(scheduler.Short(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if running.Add(1) > 1 {
			t.Error("two answers are computed at once")
		}
		if served.Add(1) == 1 {
			close(begun)
			<-goOn
		}
		order = append(order, r.RemoteAddr)
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("metrics"))
		running.Add(-1)
	}))
	ask := func(from string, w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr = from
		handler.ServeHTTP(w, r)
	}
	var all sync.WaitGroup
	stuck := &unread{ResponseRecorder: httptest.NewRecorder(), taken: make(chan struct{})}
	all.Go(func() { ask("198.51.100.1:1", stuck) })
	<-begun
	for range 3 {
		all.Go(func() { ask("198.51.100.1:1", httptest.NewRecorder()) })
	}
	other := httptest.NewRecorder()
	all.Go(func() { ask("203.0.113.1:1", other) })
	for scheduler.Stats().Short.Waiting < 4 {
		runtime.Gosched()
	}
	close(goOn)
	for served.Load() < 5 {
		runtime.Gosched()
	}
	close(stuck.taken)
	all.Wait()
	if order[1] != "203.0.113.1:1" {
		t.Errorf("served in the order %v, want 203.0.113.1 second", order)
	}
	if other.Code != http.StatusTeapot || other.Body.String() != "metrics" {
		t.Errorf("answered %d %q", other.Code, other.Body)
	}
}

// unread is an answer that its client reads late.
type unread struct {
	*httptest.ResponseRecorder

	taken chan struct{}
}

func (u *unread) Write(b []byte) (int, error) {
	<-u.taken
	return u.ResponseRecorder.Write(b)
}
