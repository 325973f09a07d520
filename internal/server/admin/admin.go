// Package admin serves what an operator's tools ask: is the process alive, may it be sent traffic, how does it do. It
// listens on an address of its own, and health and readiness take no lock of the chain. [New] is the one door of that
// address: it says who may do what, whichever package serves it.
package admin

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
)

// Ready reports whether the node serves what it should, and if not, why.
type Ready func() (ok bool, reason string)

// Route is something that the admin address serves.
type Route struct {
	Pattern string // of [http.ServeMux], with the method
	// Open tells that no token is needed: it only reads, and what it reads is no secret.
	Open  bool
	Serve http.HandlerFunc
}

// Config is what the admin address serves, and to whom.
type Config struct {
	Ready   Ready
	Metrics http.Handler
	Backup  Backup // what POST /backup does; nil: there is none
	// Leads reports whether the node leads the cluster that it is a member of. It is nil of a node that is of no cluster.
	Leads Ready
	Parts []Route // of the parts of the node that serve below paths of their own
	// AllowHost tells whether a Host is allowed: no web page is to read profiles under a name that was pointed here.
	AllowHost func(host string) bool
	// Token is asked for; nil: what needs a token is not served.
	Token func() Token
}

// New returns the handler of the admin address. /health answers 200 while the process runs, /ready and /leader 200 or
// 503 with the reason. /backup has a backup made, and /debug/pprof/ has the profiles of net/http/pprof.
//
// A request of a web page, and one with a Host that is not allowed, is answered 403. Whoever wants more than to read
// the node's state must send the token, or is answered 401. A POST must be JSON, or is answered 415.
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	for _, route := range c.Routes() {
		mux.HandleFunc(route.Pattern, c.guard(route))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !c.AllowHost(r.Host):
			http.Error(w, "This address does not answer to that Host: see --admin-host.", http.StatusForbidden)
		case fromPage(r.Header):
			http.Error(w, "This address does not answer web pages.", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// Routes are all that is served.
func (c Config) Routes() []Route {
	health := func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, status{Status: "ok"}) }
	routes := []Route{
		{"GET /health", true, health},
		{"GET /ready", true, tell(c.Ready, "ready")},
		{"GET /metrics", true, c.Metrics.ServeHTTP},
	}
	if c.Leads != nil {
		routes = append(routes, Route{"GET /leader", true, tell(c.Leads, "leader")})
	}
	if c.Token == nil {
		return routes
	}
	if c.Backup != nil {
		routes = append(routes, Route{"POST " + backupPath, false, serveBackup(c.Backup)})
	}
	routes = append(routes, []Route{
		{"GET /debug/pprof/", false, pprof.Index}, // and the named profiles: heap, goroutine, …
		{"GET /debug/pprof/cmdline", false, pprof.Cmdline},
		{"GET /debug/pprof/profile", false, pprof.Profile},
		{"GET /debug/pprof/symbol", false, pprof.Symbol},
		{"GET /debug/pprof/trace", false, pprof.Trace},
	}...)
	return append(routes, c.Parts...)
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
	w.Header().Set("Content-Type", JSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(s) // a client that has gone away is no fault
}
