package node

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

// However many clients read the metrics, one answer is computed at a time, for all who wait for it. Who asks while it is
// computed gets a newer one. A client that does not take its answer keeps nobody waiting.
func TestMetricsAreShared(t *testing.T) {
	scheduler := admission.New(1)
	var computed atomic.Int32
	var begun, goOn chan struct{}
	handler := shared(scheduler.Short().Kind(1, 0), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if computed.Add(1) == 1 {
			close(begun)
			<-goOn
		}
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprint(w, "metrics ", computed.Load())
	}))
	ask := func(from, format string, w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.RemoteAddr = from
		r.Header.Set("Accept", format)
		handler.ServeHTTP(w, r)
	}
	synctest.Test(t, func(t *testing.T) {
		begun, goOn = make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		stuck := &unread{ResponseRecorder: httptest.NewRecorder(), taken: make(chan struct{})}
		all.Go(func() { ask("198.51.100.1:1", "text", stuck) })
		<-begun
		ctx, leave := context.WithCancel(t.Context())
		all.Go(func() { // the first of those who share an answer leaves
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", nil)
			r.Header.Set("Accept", "text")
			handler.ServeHTTP(httptest.NewRecorder(), r)
		})
		synctest.Wait()
		var answers [4]*httptest.ResponseRecorder
		for i, format := range []string{"text", "text", "text", "binary"} {
			answers[i] = httptest.NewRecorder()
			all.Go(func() { ask("203.0.113.1:1", format, answers[i]) })
		}
		synctest.Wait()
		leave()
		close(goOn)
		synctest.Wait()
		for i, want := range []string{"text metrics 2", "text metrics 2", "text metrics 2", "binary metrics 3"} {
			a := answers[i]
			if got := a.Header().Get("Content-Type") + " " + a.Body.String(); got != want || a.Code != http.StatusTeapot {
				t.Errorf("answer %d: got %d %q, want %d %q", i, a.Code, got, http.StatusTeapot, want)
			}
		}
		close(stuck.taken)
		all.Wait()
	})
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
