// Package admin serves an operator's tools: health, readiness, metrics, profiles and backups. It listens on an address
// of its own; health and readiness take no lock of the chain. All requests to that address pass through [New], which
// enforces access for the routes of every package.
package admin

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"slices"
)

// Ready reports whether a condition holds, and if not, the reason.
type Ready func() (ok bool, reason string)

// Route is a route of the admin address.
type Route struct {
	Pattern string // pattern of [http.ServeMux], with the method
	// Open means that no token is needed: the route only reads, and reveals no secret.
	Open  bool
	Serve http.HandlerFunc
}

// Config configures the admin address.
type Config struct {
	Ready   Ready
	Metrics http.Handler
	Backup  Backup // makes a backup for POST /backup; nil: there is no such route
	// Leads reports whether the node leads its cluster. It is nil if the node is not a member of one.
	Leads Ready
	Parts []Route // routes of other parts of the node
	// AllowHost reports whether a Host is allowed: a page whose name points here must not read profiles.
	AllowHost func(host string) bool
	// Token returns the required token; nil: routes that need a token are not served.
	Token func() Token
}

// New returns the handler of the admin address. /health answers 200 while the process runs. /ready and /leader answer
// 200, or 503 with the reason. /backup makes a backup, and /debug/pprof/ serves the profiles of net/http/pprof.
//
// A request from a web page, or with a Host that is not allowed, is answered with 403. Routes that are not open need
// the token; without it the answer is 401. A POST must be JSON, or the answer is 415.
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	for _, route := range c.Routes() {
		mux.HandleFunc(route.Pattern, c.guard(route))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !c.AllowHost(r.Host):
			http.Error(w, "This address does not accept that Host header: see --admin-host.", http.StatusForbidden)
		case fromPage(r.Header):
			http.Error(w, "This address does not accept requests from web pages.", http.StatusForbidden)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// Routes returns all routes that are served.
func (c Config) Routes() []Route {
	health := func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, status{Status: "ok"}) }
	routes := []Route{
		{"GET /health", true, health},
		{"GET /ready", true, healthCheck(c.Ready, "ready")},
		{"GET /metrics", true, c.Metrics.ServeHTTP},
	}
	if c.Leads != nil {
		routes = append(routes, Route{"GET /leader", true, healthCheck(c.Leads, "leader")})
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
	routes = append(routes, c.Parts...)
	if c.Token == nil {
		routes = slices.DeleteFunc(routes, func(r Route) bool { return !r.Open })
	}
	return routes
}

// healthCheck returns a handler that reports, under the given name, whether a condition holds.
func healthCheck(is Ready, name string) http.HandlerFunc {
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
	_ = json.NewEncoder(w).Encode(s) // fails only if the client has gone
}
