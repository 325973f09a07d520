package sources

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/server/admin"
)

// archive returns an archive whose file has n bytes.
func archive(t *testing.T, n int) []byte {
	t.Helper()
	content, err := contractsource.Source{
		Manifest: contractsource.Manifest{Format: 1, Language: contractsource.Rust, Name: "t"},
		Files:    map[string][]byte{"src/lib.rs": bytes.Repeat([]byte("/"), n)},
	}.Archive()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// served is a directory with both of its handlers.
func served(t *testing.T, d *Directory) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc(Publishing(d).Pattern, Publishing(d).Serve)
	mux.Handle(api.SourcesPath, Handler(d))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestPublishedIsServed(t *testing.T) {
	d := OpenDirectory(filepath.Join(t.TempDir(), "sources"))
	url, content := served(t, d), archive(t, 100)
	node, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	hash := contractsource.HashOf(content)
	if _, err := node.Source(t.Context(), hash, 1<<20); err == nil {
		t.Fatal("it is there before it was published")
	}
	for range 2 { // a second time changes nothing
		if err := Publish(t.Context(), admin.Client{URL: url + "/"}, content); err != nil {
			t.Fatal(err)
		}
	}
	got, err := node.Source(t.Context(), hash, 1<<20)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, error %v", len(got), err)
	}
	if _, err := node.Source(t.Context(), hash, int64(len(content)-1)); err == nil {
		t.Error("more was read than is allowed")
	}
	// If an operator changes a file, the reader detects it.
	if err := os.WriteFile(d.file(hash), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node.Source(t.Context(), hash, 1<<20); err == nil || !strings.Contains(err.Error(), "a different hash") {
		t.Errorf("changed: error %v, want an error with %q", err, "a different hash")
	}
}

func TestServeKnowsOnlyHashes(t *testing.T) {
	outside := t.TempDir()
	secret := contractsource.HashOf(nil).String() + ".tar"
	if err := os.WriteFile(filepath.Join(outside, secret), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	handler := Handler(OpenDirectory(filepath.Join(outside, "sources")))
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/sources/" + strings.TrimSuffix(secret, ".tar"), http.StatusNotFound},
		{http.MethodGet, "/sources/..%2f" + strings.TrimSuffix(secret, ".tar"), http.StatusBadRequest},
		{http.MethodGet, "/sources/" + secret, http.StatusBadRequest},
		{http.MethodGet, "/sources/" + secret[2:66], http.StatusBadRequest},
		{http.MethodGet, "/sources/0x" + strings.Repeat("g", 64), http.StatusBadRequest},
		{http.MethodGet, "/sources/0x", http.StatusBadRequest},
		{http.MethodGet, "/sources/" + partSuffix, http.StatusBadRequest},
		{http.MethodPut, "/sources/" + strings.TrimSuffix(secret, ".tar"), http.StatusMethodNotAllowed},
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(c.method, c.path, nil))
		if answer.Code != c.want || strings.Contains(answer.Body.String(), "secret") {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, answer.Code, c.want)
		}
	}
}

func TestPublishIsRefused(t *testing.T) {
	room := OpenDirectory(t.TempDir())
	small := OpenDirectory(t.TempDir())
	first := archive(t, 1000)
	small.limit = int64(len(first)) + 100
	if _, err := small.Keep(first); err != nil {
		t.Fatal(err)
	}
	// The remains of an archive after a crash take no room, and do not prevent the next one.
	left := filepath.Join(room.path, "half"+archiveSuffix+partSuffix)
	if err := os.WriteFile(left, bytes.Repeat([]byte("x"), 9000), 0o600); err != nil {
		t.Fatal(err)
	}
	room.limit = int64(len(first))
	for name, c := range map[string]struct {
		to      *Directory
		kind    string
		content []byte
		want    int
	}{
		"taken":      {room, archiveType, first, http.StatusNoContent},
		"no archive": {room, archiveType, []byte("tar"), http.StatusUnprocessableEntity},
		"one more":   {room, archiveType, append(bytes.Clone(first), 0), http.StatusUnprocessableEntity},
		"too long":   {room, archiveType, make([]byte, contractsource.MaxArchiveBytes+1), http.StatusBadRequest},
		"a form":     {room, "text/plain", first, http.StatusUnsupportedMediaType},
		"no room":    {small, archiveType, archive(t, 10), http.StatusInsufficientStorage},
		"in memory":  {OpenDirectory(""), archiveType, first, http.StatusConflict},
	} {
		request := httptest.NewRequest(http.MethodPut, PublishPath, bytes.NewReader(c.content))
		request.Header.Set("Content-Type", c.kind)
		answer := httptest.NewRecorder()
		Publishing(c.to).Serve(answer, request)
		if answer.Code != c.want {
			t.Errorf("%s: %d %s", name, answer.Code, answer.Body)
		}
	}
	files, err := os.ReadDir(room.path)
	if err != nil || len(files) != 1 || files[0].Name() != contractsource.HashOf(first).String()+".tar" {
		t.Errorf("got %v, error %v", files, err)
	}
	if err := Publish(t.Context(), admin.Client{URL: served(t, small)}, archive(t, 10)); err == nil ||
		!strings.Contains(err.Error(), ErrFull.Error()) {
		t.Errorf("the reason is not told: error %v", err)
	}
}
