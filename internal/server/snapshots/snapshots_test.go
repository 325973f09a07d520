package snapshots

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/internal/upstream"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served returns a directory with a snapshot of block 1, and its server.
func served(t *testing.T) (*snapshot.Directory, *httptest.Server) {
	t.Helper()
	c := testchain.New(t, chain.Options{})
	c.Extend(t, 0)
	d, err := snapshot.OpenDirectory(t.TempDir(), slog.New(slog.DiscardHandler))
	must(t, err)
	_, err = d.Create(t.Context(), c.Store(), 1_700_000_000)
	must(t, err)
	server := httptest.NewServer(Handler(d))
	t.Cleanup(server.Close)
	return d, server
}

func get(t *testing.T, method, url string, header http.Header) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	must(t, err)
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	body, err := io.ReadAll(response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	return response, body
}

func TestServe(t *testing.T) {
	d, server := served(t)
	m := d.List()[0]
	response, body := get(t, http.MethodGet, server.URL+snapshot.PathPrefix+"1/"+snapshot.ManifestFile, nil)
	var said snapshot.Manifest
	must(t, json.Unmarshal(body, &said))
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json" ||
		said.BlockHash != m.BlockHash {
		t.Errorf("manifest: %s %s", response.Status, body)
	}
	for _, chunk := range m.Chunks {
		response, body := get(t, http.MethodGet, server.URL+chunk.URL, nil)
		if response.StatusCode != http.StatusOK || uint64(len(body)) != chunk.SizeBytes ||
			sha256.Sum256(body) != chunk.SHA256 || response.Header.Get("ETag") != `"`+chunk.SHA256.String()+`"` {
			t.Errorf("chunk %d: %s, %d bytes", chunk.Index, response.Status, len(body))
		}
		response, rest := get(t, http.MethodGet, server.URL+chunk.URL, http.Header{"Range": {"bytes=7-"}})
		if response.StatusCode != http.StatusPartialContent || !bytes.Equal(rest, body[7:]) {
			t.Errorf("chunk %d from 7 on: %s, %d bytes", chunk.Index, response.Status, len(rest))
		}
		response, _ = get(t, http.MethodGet, server.URL+chunk.URL, http.Header{"Range": {"bytes=99999999-"}})
		if response.StatusCode != http.StatusRequestedRangeNotSatisfiable {
			t.Errorf("beyond the end: %s", response.Status)
		}
	}
	for _, path := range []string{
		"", "1", "1/", "2/" + snapshot.ManifestFile, "01/" + snapshot.ManifestFile, "1/other",
		"1/../1/" + snapshot.ManifestFile + "x", "1/000099.zst", "1/000000.zst/", "%2e%2e/1/000000.zst",
	} {
		if response, _ := get(
			t, http.MethodGet, server.URL+snapshot.PathPrefix+path, nil,
		); response.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %s", path, response.Status)
		}
	}
	if response, _ := get(
		t, http.MethodPost, server.URL+m.Chunks[0].URL, nil,
	); response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") == "" {
		t.Errorf("POST: %s", response.Status)
	}
	if response, body := get(t, http.MethodHead, server.URL+m.Chunks[0].URL, nil); response.StatusCode != http.StatusOK ||
		len(body) != 0 {
		t.Errorf("HEAD: %s", response.Status)
	}
	must(t, d.Prune(0))
	if response, _ := get(t, http.MethodGet, server.URL+m.Chunks[0].URL, nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("a pruned one: %s", response.Status)
	}
}

// The Go SDK reads the served files, from any byte on.
func TestClientDownloads(t *testing.T) {
	d, server := served(t)
	chunk := d.List()[0].Chunks[0]
	source, err := upstream.New(server.URL)
	must(t, err)
	defer source.Close()
	_, whole := get(t, http.MethodGet, server.URL+chunk.URL, nil)
	for _, from := range []uint64{0, 1, chunk.SizeBytes - 1} {
		body, start, err := source.Chunk(t.Context(), chunk.URL, from)
		must(t, err)
		data, err := io.ReadAll(body)
		must(t, errors.Join(err, body.Close()))
		if start != from || !bytes.Equal(data, whole[from:]) {
			t.Errorf("from %d: start %d, %d bytes", from, start, len(data))
		}
	}
	var refused *client.StatusError
	_, _, err = source.Chunk(t.Context(), snapshot.PathPrefix+"9/000000.zst", 0)
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("what is not there: error %v", err)
	}
	for _, path := range []string{"", "snapshots/1", "//elsewhere/x", "http://elsewhere/x"} {
		_, _, err := source.Chunk(t.Context(), path, 0)
		if !errors.Is(err, client.ErrBadAnswer) {
			t.Errorf("%q: error %v, want %v", path, err, client.ErrBadAnswer)
		}
	}
}
