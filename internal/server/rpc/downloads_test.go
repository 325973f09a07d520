package rpc

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// least is a quota that has no more memory than so many bytes.
type least int

func (l least) Room(int) int { return int(l) }
func (least) Charge(int)     {}

// turned is a quota of a client that needs turns.
type turned struct {
	least
	turn admission.Turn
}

func (c *turned) Turn() *admission.Turn { return &c.turn }

// inTurn is a request of a client that needs turns.
func inTurn(ctx context.Context) *request.Request {
	r := request.New(ctx)
	r.Quota = &turned{least: 1 << 30}
	return r
}

// listing is a queue with a range whose lists have a MiB each.
type listing struct{ t *testing.T }

func (listing) Bundle(types.Height) (blockproof.Bundle, error) {
	return blockproof.Bundle{}, chain.ErrNotFound
}
func (listing) Changed() <-chan struct{} { return nil }

func (listing) Status(types.Height) (proving.State, uint64, error) { return proving.NotStored, 0, nil }

func (listing) Verify(types.Height, []byte, int) (int, error) { return 0, chain.ErrNotFound }

func (l listing) Range(_ blockproof.Span, count func(int) error) (blockproof.Range, error) {
	for read := range 5 {
		if err := count((read + 1) << 20); err != nil {
			return blockproof.Range{}, err
		}
		if read >= 3 {
			l.t.Error("lists are read on without memory")
		}
	}
	return blockproof.Range{}, nil
}

// TestDownloadsAreBounded: what a node holds for answers of bytes is within its memory, and it reads no more of them at
// once than calls run.
func TestDownloadsAreBounded(t *testing.T) {
	c, _, prove := newProvenChain(t)
	c.pay(0)
	prove()
	c.pay(1)
	get := func(ctx context.Context, path string, quota jsonrpc.Quota) *httptest.ResponseRecorder {
		carries := request.New(ctx)
		carries.Quota = quota
		recorder := httptest.NewRecorder()
		c.server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil).WithContext(carries))
		return recorder
	}
	for _, path := range []string{"/blocks/0-1", "/proof/1", "/accesses/1"} {
		whole := get(t.Context(), path, nil)
		size := whole.Body.Len()
		if whole.Code != http.StatusOK || size == 0 {
			t.Fatalf("%s: HTTP %d, %d bytes", path, whole.Code, size)
		}
		if enough := get(t.Context(), path, least(size)); enough.Code != http.StatusOK || enough.Body.Len() != size {
			t.Errorf("%s with memory: HTTP %d, %d bytes", path, enough.Code, enough.Body.Len())
		}
		short := get(t.Context(), path, least(size-1))
		h := short.Header()
		if short.Code != http.StatusServiceUnavailable || h.Get("Retry-After") == "" || h.Get("ETag") != "" {
			t.Errorf("%s without memory: HTTP %d, %v", path, short.Code, h)
		}
	}

	counted := &proofHandlers{
		ranges: &files{errors: c.server.errors},
		chain:  c.store,
		proofs: listing{t},
	}
	carries := request.New(t.Context())
	carries.Quota = least(3 << 20)
	refused := httptest.NewRecorder()
	asked := httptest.NewRequest(http.MethodGet, "/proof/1-2", nil).WithContext(carries)
	asked.SetPathValue("height", "1-2")
	counted.serveBundle(refused, asked)
	if refused.Code != http.StatusServiceUnavailable {
		t.Errorf("a range of lists for which there is no memory: HTTP %d", refused.Code)
	}

	answers := &files{errors: c.server.errors, lane: admission.New(1).Long()}
	ended, end := context.WithCancel(inTurn(t.Context()))
	end()
	var second *httptest.ResponseRecorder
	first := httptest.NewRecorder()
	one := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(inTurn(t.Context()))
	answers.answer(first, one, func(counter) ([]byte, error) {
		second = httptest.NewRecorder()
		late := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(inTurn(ended))
		answers.answer(second, late, func(counter) ([]byte, error) {
			t.Error("two answers are read at once")
			return nil, nil
		})
		return []byte("content"), nil
	})
	if first.Body.String() != "content" || second.Code != http.StatusServiceUnavailable {
		t.Errorf("the first: %q; the second: HTTP %d", first.Body, second.Code)
	}
}

// TestRangesAreJoinedOneAtATime: who asks for one waits for the one before, and keeps nobody else waiting.
func TestRangesAreJoinedOneAtATime(t *testing.T) {
	c, _, prove := newProvenChain(t)
	c.pay(0)
	prove()
	get := func(path string) int {
		ended, end := context.WithCancel(t.Context())
		end() // whoever would wait is busy
		recorder := httptest.NewRecorder()
		c.server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil).WithContext(inTurn(ended)))
		return recorder.Code
	}
	joined := groupOf[*proofHandlers](c).ranges.lane.TryRun(inTurn(t.Context()), func(context.Context) {
		if status := get("/proof/1-2"); status != http.StatusServiceUnavailable {
			t.Errorf("a second range: HTTP %d", status)
		}
		if status := get("/proof/1"); status != http.StatusOK {
			t.Errorf("a block's proof meanwhile: HTTP %d", status)
		}
	})
	if status := get("/proof/1-2"); !joined || status != http.StatusNotFound {
		t.Errorf("a range that there is none of: HTTP %d", status)
	}
}

// TestDownloadsAreCompressed for whom accepts it, whole files alone, and with an ETag of their own.
func TestDownloadsAreCompressed(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 4<<10)
	answers := &files{}
	get := func(fields ...string) *httptest.ResponseRecorder {
		t.Helper()
		recorder, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		answers.answer(recorder, r, func(counter) ([]byte, error) {
			recorder.Header().Set("ETag", `"tag"`)
			return content, nil
		})
		return recorder
	}
	for _, test := range []struct {
		fields       []string
		status       int
		coding, etag string
	}{
		{nil, http.StatusOK, "", `"tag"`},
		{[]string{"Accept-Encoding", "zstd"}, http.StatusOK, "zstd", `"tag-zstd"`},
		{[]string{"Accept-Encoding", "gzip, deflate"}, http.StatusOK, "gzip", `"tag-gzip"`},
		{
			[]string{"Accept-Encoding", "zstd", "Range", "bytes=8-"}, http.StatusPartialContent, "", `"tag"`,
		},
		{
			[]string{"Accept-Encoding", "zstd", "If-None-Match", `"tag-zstd"`}, http.StatusNotModified, "", `"tag-zstd"`,
		},
		{[]string{"Accept-Encoding", "zstd", "If-Match", `"tag"`}, http.StatusOK, "", `"tag"`},
		{[]string{"Accept-Encoding", "zstd", "If-Match", `"other"`}, http.StatusPreconditionFailed, "", `"tag"`},
	} {
		got := get(test.fields...)
		h := got.Header()
		if got.Code != test.status || h.Get("Content-Encoding") != test.coding || h.Get("ETag") != test.etag ||
			h.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: HTTP %d, %v", test.fields, got.Code, h)
		}
		if got.Code == http.StatusPreconditionFailed && (h.Get("Content-Length") != "" || got.Body.Len() > 0) {
			t.Errorf("%q: %d bytes, announced as %s", test.fields, got.Body.Len(), h.Get("Content-Length"))
		}
		if got.Code == http.StatusOK && h.Get("Content-Length") != strconv.Itoa(got.Body.Len()) {
			t.Errorf("%q: %d bytes, announced as %s", test.fields, got.Body.Len(), h.Get("Content-Length"))
		}
	}
	back, err := jsonrpc.Unshrink(get("Accept-Encoding", "zstd").Body, int64(len(content)))
	if err != nil || !bytes.Equal(back, content) {
		t.Errorf("%d bytes come back, %v", len(back), err)
	}
}
