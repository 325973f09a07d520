// Package admin serves what an operator's tools ask: is the process alive, may it be sent traffic, how does it do. It
// listens on an address of its own, and health and readiness take no lock of the chain.
package admin

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
)

// Ready reports whether the node serves what it should, and if not, why.
type Ready func() (ok bool, reason string)

// New returns the handler of the admin address: /health answers 200 while the process runs, /ready 200 or 503, /metrics
// what metrics serves, /proving/ what provers ask of proving, /debug/pprof/ the profiles of net/http/pprof. A Host that allowHost does not allow is answered 403:
// no web page is to read profiles under a name that was pointed here.
func New(ready Ready, metrics, proving http.Handler, allowHost func(host string) bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, status{Status: "ok"})
	})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) {
		if ok, reason := ready(); !ok {
			answer(w, http.StatusServiceUnavailable, status{Status: "not ready", Reason: reason})
			return
		}
		answer(w, http.StatusOK, status{Status: "ready"})
	})
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/proving/", proving)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // and the named profiles: heap, goroutine, …
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !allowHost(r.Host) {
			http.Error(w, "This address does not answer to that Host: see --admin-host.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type status struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func answer(w http.ResponseWriter, code int, s status) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(s) // a client that has gone away is no fault
}
