package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// stub answers like a live replica. It is ready or not, and has no room for requests that contain "large".
type stub struct {
	ready atomic.Bool
}

func newStub(t *testing.T, addresses [2]string) *stub {
	t.Helper()
	s := new(stub)
	serve(t, addresses[0], func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(string(body), "large") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	serve(t, addresses[1], func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" && !s.ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return s
}

func serve(t *testing.T, address string, handle http.HandlerFunc) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handle}}
	server.Start()
	t.Cleanup(server.Close)
}

// front starts a balancer with the shipped configuration before two stubs. ask returns an answer's status and the stub
// that gave it.
func front(t *testing.T, name string) (stubs []*stub, ask func(body string) (status int, by string)) {
	t.Helper()
	s := settings{configs: "../../deploy", firstPort: freePorts(t)}
	for i := range 2 {
		stubs = append(stubs, newStub(t, [2]string{s.address(2*i + 1), s.address(2*i + 2)}))
	}
	balancer, err := s.balancer(name, t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(balancer.Kill)
	return stubs, func(body string) (int, string) {
		response, err := http.Post("http://"+s.address(0), "application/json", strings.NewReader(body))
		if err != nil {
			return 0, ""
		}
		_ = response.Body.Close()
		return response.StatusCode, response.Header.Get("X-Served-By")
	}
}

// freePorts returns the first of five ports on which nothing listens.
func freePorts(t *testing.T) int {
	t.Helper()
	for {
		held := make([]net.Listener, 0, 5)
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := first.Addr().(*net.TCPAddr).Port
		held = append(held, first)
		for i := 1; i < cap(held) && err == nil; i++ {
			var next net.Listener
			if next, err = net.Listen("tcp", settings{firstPort: port}.address(i)); err == nil {
				held = append(held, next)
			}
		}
		for _, l := range held {
			_ = l.Close()
		}
		if err == nil {
			return port
		}
	}
}

// until asks until a good answer comes from a stub whose name has the given end. From the first good answer on, all
// must be good.
func until(t *testing.T, ask func(string) (int, string), answered *bool, suffix string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		status, by := ask("{}")
		if status == http.StatusOK && strings.HasSuffix(by, suffix) {
			*answered = true
			return
		}
		if *answered && status != http.StatusOK {
			t.Fatalf("waiting for %s: got status %d, want 200", suffix, status)
		}
		if wait(ctx, readPause) != nil {
			t.Fatalf("got status %d of %q, want 200 of %q", status, by, suffix)
		}
	}
}

// A client that asks for more than any replica has room for is refused, and nobody else is.
func TestOneClientsRefusalsAreItsOwn(t *testing.T) {
	for _, name := range balancers {
		t.Run(name, func(t *testing.T) {
			stubs, ask := front(t, name)
			for _, s := range stubs {
				s.ready.Store(true)
			}
			until(t, ask, new(bool), "")
			for i := range 4 {
				if got, _ := ask("large"); got != http.StatusServiceUnavailable {
					t.Errorf("large request %d: got status %d, want 503", i, got)
				}
				if got, _ := ask("{}"); got != http.StatusOK {
					t.Errorf("after large request %d: got status %d, want 200", i, got)
				}
			}
		})
	}
}

// HAProxy uses the ready nodes or, if there are none, all that are alive. No request fails when this changes.
func TestReadyOnesComeFirst(t *testing.T) {
	stubs, ask := front(t, "haproxy")
	answered := false
	until(t, ask, &answered, "-behind")
	for i, name := range []string{"replica1", "replica2"} {
		stubs[i].ready.Store(true)
		until(t, ask, &answered, name)
		stubs[i].ready.Store(false)
		until(t, ask, &answered, "-behind")
	}
}
