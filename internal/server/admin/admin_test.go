package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func anyHost(string) bool { return true }

func TestHealthAndReadiness(t *testing.T) {
	ready, reason := true, ""
	handler := New(func() (bool, string) { return ready, reason }, http.NotFoundHandler(), http.NotFoundHandler(), anyHost)
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
	handler := New(func() (bool, string) { return true, "" }, metrics, http.NotFoundHandler(), anyHost)
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
	handler := New(func() (bool, string) { return true, "" }, http.NotFoundHandler(), http.NotFoundHandler(), func(host string) bool { return host == "node:1" })
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
