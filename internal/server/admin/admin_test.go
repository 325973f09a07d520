package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealthAndReadiness(t *testing.T) {
	ready, reason := true, ""
	handler := New(func() (bool, string) { return ready, reason }, http.NotFoundHandler())
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
	handler := New(func() (bool, string) { return true, "" }, metrics)
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
