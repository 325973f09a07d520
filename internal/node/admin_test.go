package node

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/sources"
)

// unaskable is a cluster that fails the test if it is asked to change.
type unaskable struct{ t *testing.T }

func (unaskable) Status() members.Status { return members.Status{} }
func (u unaskable) Add(context.Context, members.Addition) error {
	u.t.Error("a member was added")
	return nil
}
func (u unaskable) Remove(context.Context, string) error {
	u.t.Error("a member was removed")
	return nil
}
func (u unaskable) Transfer(context.Context, string) error {
	u.t.Error("leadership was handed over")
	return nil
}

// readable are the GET routes that need no token.
var readable = "GET /health, GET /ready, GET /metrics, GET /leader, GET /cluster/status"

// TestAdminRoutes requests every route of a member's admin address as unauthorized clients do.
func TestAdminRoutes(t *testing.T) {
	yes := func() (bool, string) { return true, "" }
	config := admin.Config{
		Ready:   yes,
		Metrics: http.NotFoundHandler(),
		Backup: func() (string, error) {
			t.Error("a backup was made")
			return "", nil
		},
		Leads: yes,
		Parts: append(append(provers.Routes(new(proving.Queue)), sources.Publishing(sources.OpenDirectory(t.TempDir()))),
			members.Routes(unaskable{t})...),
		AllowHost: func(string) bool { return true },
		Token:     func() admin.Token { return admin.Token{1} },
	}
	handler := admin.New(config)
	ask := func(method, path string, header ...string) int {
		r, w := httptest.NewRequest(method, path, nil), httptest.NewRecorder()
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		handler.ServeHTTP(w, r)
		return w.Code
	}
	expect := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	var open []string
	for _, route := range config.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if path = strings.ReplaceAll(path, "{span}", "1"); strings.Contains(path, "{") {
			t.Fatalf("the test does not know %s", path)
		}
		token := []string{"Authorization", "Bearer " + config.Token().String(), "Content-Type", admin.JSON}
		expect(route.Pattern+" of a page", ask(method, path, append(token, "Origin", "http://127.0.0.1")...), 403)
		expect(route.Pattern+" of a site", ask(method, path, append(token, "Sec-Fetch-Site", "cross-site")...), 403)
		expect(route.Pattern+" of a host", ask(method, path, append(token, "Sec-Fetch-Site", "same-site")...), 403)
		if route.Open {
			open = append(open, route.Pattern)
			continue
		}
		other := append([]string{"Authorization", "Bearer " + admin.Token{2}.String()}, token[2:]...)
		expect(route.Pattern+" without a token", ask(method, path, token[2:]...), 401)
		expect(route.Pattern+" with another token", ask(method, path, other...), 401)
		if method == http.MethodPost {
			expect(route.Pattern+" of a form", ask(method, path, token[:2]...), 415)
		}
		if profile := strings.HasPrefix(path, "/debug/pprof/"); method == http.MethodGet && !profile {
			t.Errorf("%s needs a token, so it is not to be a GET", route.Pattern)
		} else if !profile {
			expect("GET "+path, ask(http.MethodGet, path, token...), 405)
		}
	}
	for _, pattern := range strings.Split(readable, ", ") {
		if !strings.Contains(", "+strings.Join(open, ", ")+", ", ", "+pattern+", ") {
			t.Errorf("%s needs a token", pattern)
		}
	}
	if got := len(open); got != len(strings.Split(readable, ", ")) {
		t.Errorf("without a token: %s; want %s", open, readable)
	}
}

// A starting node does not claim to belong to no cluster.
func TestAdminOfAStart(t *testing.T) {
	a, err := ListenAdmin("127.0.0.1:0", nil, build.Info{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.Say("loading the chain")
	node := admin.Client{URL: a.URL()}
	if _, err := (members.Client{Node: node}).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "loading "+
		"the chain") {
		t.Errorf("the status of a cluster: got %v, want what the node does", err)
	}
	if _, err := node.Backup(t.Context()); err == nil || !strings.Contains(err.Error(), "loading the chain") {
		t.Errorf("a backup: got %v, want what the node does", err)
	}
}
