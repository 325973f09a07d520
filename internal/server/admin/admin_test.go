package admin

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func testConfig(ready Ready) Config {
	return Config{
		Ready:     ready,
		Metrics:   http.NotFoundHandler(),
		Proving:   http.NotFoundHandler(),
		Sources:   http.NotFoundHandler(),
		AllowHost: func(string) bool { return true },
	}
}

// A node that is of no cluster leads none, and says nothing below /cluster/.
func TestCluster(t *testing.T) {
	leads := false
	config := testConfig(func() (bool, string) { return true, "" })
	alone := New(config)
	config.Leads = func() (bool, string) { return leads, "b leads" }
	config.Cluster = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	member := New(config)
	for _, tc := range []struct {
		handler http.Handler
		path    string
		leads   bool
		code    int
	}{
		{alone, "/leader", true, 404},
		{alone, "/cluster/status", true, 404},
		{member, "/leader", true, 200},
		{member, "/leader", false, 503},
		{member, "/cluster/status", false, http.StatusTeapot},
	} {
		leads = tc.leads
		w := httptest.NewRecorder()
		if tc.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tc.path, nil)); w.Code != tc.code {
			t.Errorf("%+v: %d", tc, w.Code)
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
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), part) {
			t.Errorf("GET %s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

// A forbidden Host reads nothing, whatever it asks for.
func TestHost(t *testing.T) {
	config := testConfig(func() (bool, string) { return true, "" })
	config.AllowHost = func(host string) bool { return host == "node:1" }
	handler := New(config)
	for host, code := range map[string]int{"node:1": 200, "evil.example": 403, "": 403} {
		for _, path := range []string{"/health", "/ready", "/debug/pprof/cmdline"} {
			w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = host
			if handler.ServeHTTP(w, r); w.Code != code || code == 403 && !strings.Contains(w.Body.String(), "--admin-host") {
				t.Errorf("%q %s: %d %s", host, path, w.Code, w.Body)
			}
		}
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
	if handler.ServeHTTP(w, r); w.Code != 403 { // of example.com
		t.Errorf("%d", w.Code)
	}
}

func TestBackup(t *testing.T) {
	var fail error
	config := testConfig(func() (bool, string) { return true, "" })
	config.Backup = func() (string, error) { return "/data/backups/1", fail }
	server := httptest.NewServer(New(config))
	defer server.Close()
	if directory, err := AskBackup(t.Context(), server.URL+"/"); err != nil || directory != "/data/backups/1" {
		t.Errorf("%q, %v", directory, err)
	}
	fail = errors.New("the disk is full")
	if _, err := AskBackup(t.Context(), server.URL); err == nil || err.Error() != "the disk is full" {
		t.Errorf("a backup that fails: %v", err)
	}
	if _, err := AskBackup(t.Context(), server.URL+"/elsewhere"); err == nil {
		t.Error("there is nothing at that path")
	}
	form, err := http.Post(server.URL+"/backup", "application/x-www-form-urlencoded", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := form.Body.Close(); err != nil || form.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("a web page's form: %s, %v", form.Status, err)
	}
}
