package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHealthAndReadiness(t *testing.T) {
	ready, reason := true, ""
	handler := New(func() (bool, string) { return ready, reason })
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
