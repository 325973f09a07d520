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

// Config is what the admin address serves.
type Config struct {
	Ready   Ready
	Metrics http.Handler
	Proving http.Handler // what provers ask, below /proving/
	Sources http.Handler // what a publisher of a contract's source hands in, by PUT /sources
	Backup  Backup       // what POST /backup does
	// Leads reports whether the node leads the cluster that it is a member of, and Cluster is what an operator's commands
	// ask, below /cluster/. Both are nil of a node that is of no cluster.
	Leads   Ready
	Cluster http.Handler
	// AllowHost tells whether a Host is allowed: no web page is to read profiles under a name that was pointed here.
	AllowHost func(host string) bool
}

// New returns the handler of the admin address. /health answers 200 while the process runs, /ready and /leader 200 or
// 503 with the reason. /backup has a backup made, and /debug/pprof/ has the profiles of net/http/pprof. A Host that is
// not allowed is answered 403.
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, status{Status: "ok"})
	})
	mux.HandleFunc("GET /ready", tell(c.Ready, "ready"))
	if c.Cluster != nil {
		mux.HandleFunc("GET /leader", tell(c.Leads, "leader"))
		mux.Handle("/cluster/", c.Cluster)
	}
	mux.Handle("GET /metrics", c.Metrics)
	mux.Handle("/proving/", c.Proving)
	mux.Handle("/sources", c.Sources)
	mux.HandleFunc("POST "+backupPath, serveBackup(c.Backup))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // and the named profiles: heap, goroutine, …
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.AllowHost(r.Host) {
			http.Error(w, "This address does not answer to that Host: see --admin-host.", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// tell answers whether something is so, by its name.
func tell(is Ready, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if ok, reason := is(); !ok {
			answer(w, http.StatusServiceUnavailable, status{Status: "not " + name, Reason: reason})
			return
		}
		answer(w, http.StatusOK, status{Status: name})
	}
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
