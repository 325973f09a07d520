package admin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/secret"
)

func testConfig(ready Ready) Config {
	return Config{
		Ready:     ready,
		Metrics:   http.NotFoundHandler(),
		AllowHost: func(string) bool { return true },
		Token:     func() Token { return testToken },
	}
}

var testToken = Token{1, 2, 3}

// asked returns a request that carries the admin token.
func asked(method, path string) *http.Request {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Authorization", "Bearer "+testToken.String())
	return r
}

// A node that belongs to no cluster leads none.
func TestCluster(t *testing.T) {
	leads := false
	config := testConfig(func() (bool, string) { return true, "" })
	alone := New(config)
	config.Leads = func() (bool, string) { return leads, "b leads" }
	member := New(config)
	for _, tc := range []struct {
		handler http.Handler
		path    string
		leads   bool
		code    int
	}{
		{alone, "/leader", true, 404},
		{member, "/leader", true, 200},
		{member, "/leader", false, 503},
	} {
		leads = tc.leads
		w := httptest.NewRecorder()
		if tc.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil)); w.Code != tc.code {
			t.Errorf("%+v: got %d, want %d", tc, w.Code, tc.code)
		}
	}
}

func TestHealthAndReadiness(t *testing.T) {
	ready, reason := true, ""
	handler := New(testConfig(func() (bool, string) { return ready, reason }))
	check := func(method, path string, code int, body string) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != code || body != "" && w.Body.String() != body+"\n" {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
	}
	check(http.MethodGet, "/health", 200, `{"status":"ok"}`)
	check(http.MethodGet, "/ready", 200, `{"status":"ready"}`)
	ready, reason = false, "halted"
	check(http.MethodGet, "/health", 200, `{"status":"ok"}`)
	check(http.MethodGet, "/ready", 503, `{"status":"not ready","reason":"halted"}`)
	check(http.MethodPost, "/ready", 405, "")
	check(http.MethodGet, "/other", 404, "")
}

func TestMetricsAndProfiles(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) })
	config := testConfig(func() (bool, string) { return true, "" })
	config.Metrics = metrics
	handler := New(config)
	for path, part := range map[string]string{
		"/metrics": "metrics", "/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/pprof/cmdline": "admin",
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, asked(http.MethodGet, path))
		if w.Code != 200 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("GET %s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

// A request with a forbidden Host gets nothing, whatever it asks for.
func TestHost(t *testing.T) {
	config := testConfig(func() (bool, string) { return true, "" })
	config.AllowHost = func(host string) bool { return host == "node:1" }
	handler := New(config)
	for host, code := range map[string]int{"node:1": 200, "evil.example": 403, "": 403} {
		for _, path := range []string{"/health", "/ready", "/debug/pprof/cmdline"} {
			w, r := httptest.NewRecorder(), asked(http.MethodGet, path)
			r.Host = host
			if handler.ServeHTTP(w, r); w.Code != code || code == 403 && !strings.Contains(w.Body.String(), "--admin-host") {
				t.Errorf("%q %s: %d %s", host, path, w.Code, w.Body)
			}
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if handler.ServeHTTP(w, r); w.Code != 403 { // of example.com
		t.Errorf("got %d, want 403", w.Code)
	}
}

func TestBackup(t *testing.T) {
	var fail error
	config := testConfig(func() (bool, string) { return true, "" })
	config.Backup = func() (string, error) { return "/data/backups/1", fail }
	server := httptest.NewServer(New(config))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	if err := secret.Write(file, []byte(testToken.String())); err != nil {
		t.Fatal(err)
	}
	client := Client{URL: server.URL + "/", TokenFile: file}
	if directory, err := client.Backup(t.Context()); err != nil || directory != "/data/backups/1" {
		t.Errorf("%q, %v; want /data/backups/1", directory, err)
	}
	fail = errors.New("the disk is full")
	if _, err := client.Backup(t.Context()); err == nil || err.Error() != "the disk is full" {
		t.Errorf("a backup that fails: error %v", err)
	}
	client.URL = server.URL + "/elsewhere"
	if _, err := client.Backup(t.Context()); err == nil {
		t.Error("there is nothing at that path")
	}
}

// A client that is refused because it has no token learns which file contains the token, and which flag names the file.
func TestClientSaysWhereTheTokenIs(t *testing.T) {
	config := testConfig(func() (bool, string) { return true, "" })
	config.Backup = func() (string, error) { t.Error("a backup was made"); return "", nil }
	server := httptest.NewServer(New(config))
	defer server.Close()
	dir := t.TempDir()
	other, readable := filepath.Join(dir, "other"), filepath.Join(dir, "readable")
	if err := secret.Write(other, []byte(Token{9}.String())); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(readable, []byte(testToken.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"": "no token file is given", other: other + " contains a different token", readable: readable + " is readable by users other than its owner",
		filepath.Join(dir, "none"): "none: no such file",
	} {
		_, err := Client{URL: server.URL, TokenFile: file}.Backup(t.Context())
		if !errors.Is(err, ErrToken) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "--admin-token-file") {
			t.Errorf("with %q: %v; want %v with %q", file, err, ErrToken, want)
		}
	}
}
