package explorer

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, h http.Handler, method, target string, fields ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func embeddedHandler(t *testing.T) *Handler {
	t.Helper()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFiles requests pages and files: every answer has the policy, refusals included.
func TestFiles(t *testing.T) {
	h := embeddedHandler(t)
	var asset string
	for name := range h.files {
		if strings.HasPrefix(name, "assets/") && strings.HasSuffix(name, ".js") {
			asset = name
		}
	}
	for _, tc := range []struct {
		method, path string
		status       int
		mediaType    string
		cache        string
	}{
		{"GET", "", 200, "text/html; charset=utf-8", "no-cache"},
		{"HEAD", "", 200, "text/html; charset=utf-8", "no-cache"},
		{"GET", "block/17", 200, "text/html; charset=utf-8", "no-cache"},
		{"GET", "search", 200, "text/html; charset=utf-8", "no-cache"},
		{"GET", asset, 200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"GET", "assets/none.js", 404, "text/plain; charset=utf-8", ""},
		{"GET", "../explorer.go", 404, "text/plain; charset=utf-8", ""},
		{"POST", "", 405, "text/plain; charset=utf-8", ""},
		{"PUT", asset, 405, "text/plain; charset=utf-8", ""},
	} {
		a := get(t, h, tc.method, Path+tc.path)
		if a.StatusCode != tc.status || a.Header.Get("Content-Type") != tc.mediaType ||
			a.Header.Get("Cache-Control") != tc.cache {
			t.Errorf(
				"%s %s: %d %s %s", tc.method, tc.path, a.StatusCode, a.Header.Get("Content-Type"), a.Header.Get("Cache-Control"),
			)
		}
		for name, value := range headers {
			if a.Header.Get(name) != value {
				t.Errorf("%s %s: %s is %q, want %q", tc.method, tc.path, name, a.Header.Get(name), value)
			}
		}
	}
}

func TestCompressedAndUnchanged(t *testing.T) {
	h := embeddedHandler(t)
	plain := get(t, h, "GET", Path)
	want, err := io.ReadAll(plain.Body)
	if err != nil {
		t.Fatal(err)
	}
	packed := get(t, h, "GET", Path, "Accept-Encoding", "br, gzip")
	reader, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(reader)
	if err != nil || string(got) != string(want) || packed.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v, %q, encoding %q", err, got, packed.Header.Get("Content-Encoding"))
	}
	if a := get(t, h, "GET", Path, "If-None-Match", plain.Header.Get("ETag")); a.StatusCode != http.StatusNotModified {
		t.Errorf("unchanged: got %d, want %d", a.StatusCode, http.StatusNotModified)
	}
	if a := get(t, h, "GET", Path, "If-None-Match", `"other"`); a.StatusCode != http.StatusOK {
		t.Errorf("changed: got %d, want %d", a.StatusCode, http.StatusOK)
	}
}

// TestSize limits the pages to what a slow line can load: the gzipped bytes of all files, and of those that the first
// page loads.
func TestSize(t *testing.T) {
	const most, mostAtFirst = 200_000, 90_000
	h := embeddedHandler(t)
	all, first := 0, 0
	page := string(h.files["index.html"].content)
	for name, f := range h.files {
		if strings.HasPrefix(name, "verifier/") {
			continue
		}
		packed, err := f.compressed()
		if err != nil {
			t.Fatal(err)
		}
		all += len(packed)
		if name == "index.html" || strings.Contains(page, Path+name) {
			first += len(packed)
		}
	}
	t.Logf("%d bytes, %d at first", all, first)
	if all > most || first > mostAtFirst || first == 0 {
		t.Errorf("%d bytes of %d, %d at first of %d", all, most, first, mostAtFirst)
	}
}

// TestVerifierIsTold: the pages offer to verify proofs only if the program contains the verifier.
func TestVerifierIsTold(t *testing.T) {
	dist := fstest.MapFS{"index.html": {Data: []byte("<body></body>")}}
	for _, tc := range []struct {
		verifier fstest.MapFS
		page     string
	}{
		{fstest.MapFS{"README.md": {}}, "<body></body>"},
		{fstest.MapFS{"index.js": {}}, "<body data-verifier></body>"},
	} {
		h, err := newHandler(dist, tc.verifier)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(get(t, h, "GET", Path).Body); err != nil || string(got) != tc.page {
			t.Errorf("got %q, %v, want %q", got, err, tc.page)
		}
	}
	if page := string(embeddedHandler(t).files["index.html"].content); !strings.Contains(page, "<body") {
		t.Errorf("got %q, want a body that can be marked", page)
	}
}

// TestFront redirects only browsers to the pages.
func TestFront(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	for _, tc := range []struct {
		method, accept string
		status         int
	}{
		{"GET", "text/html,application/xhtml+xml,*/*;q=0.8", http.StatusFound}, {"GET", "*/*", http.StatusTeapot},
		{"GET", "", http.StatusTeapot}, {"POST", "text/html", http.StatusTeapot},
	} {
		a := get(t, Front(next), tc.method, "/", "Accept", tc.accept)
		if a.StatusCode != tc.status || tc.status == http.StatusFound && a.Header.Get("Location") != Path {
			t.Errorf("%s with Accept %q: %d to %q", tc.method, tc.accept, a.StatusCode, a.Header.Get("Location"))
		}
	}
}

// TestHeadCompressesNothing: an answer without a body is not compressed.
func TestHeadCompressesNothing(t *testing.T) {
	f := newFile("a.js", []byte("content"))
	f.compressed = func() ([]byte, error) {
		t.Error("HEAD: got the file compressed, want only its header")
		return nil, nil
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodHead, Path+"a.js", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	f.serve(w, r, false)
	if h := w.Header(); h.Get("Content-Encoding") != "gzip" || h.Get("ETag") != f.tag || h.Get("Content-Length") != "" {
		t.Errorf("HEAD: got %v, want the header of GET without a length", h)
	}
}
