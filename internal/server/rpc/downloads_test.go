package rpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// least is a quota that has no more memory than so many bytes.
type least int

func (l least) Room(int) int { return int(l) }
func (least) Charge([]byte)  {}

// TestDownloadsAreBounded: what a node holds for answers of bytes is within its memory, and it reads no more of them at
// once than calls run.
func TestDownloadsAreBounded(t *testing.T) {
	c, _, prove := newProvenChain(t)
	c.pay(0)
	prove()
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

	answers := &files{errors: c.server.errors, slots: jsonrpc.NewSlots(1)}
	ended, end := context.WithCancel(t.Context())
	end()
	var second *httptest.ResponseRecorder
	first := httptest.NewRecorder()
	answers.answer(first, httptest.NewRequest(http.MethodGet, "/", nil), func() ([]byte, error) {
		second = httptest.NewRecorder()
		answers.answer(second, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ended), func() ([]byte, error) {
			t.Error("two answers are read at once")
			return nil, nil
		})
		return []byte("content"), nil
	})
	if first.Body.String() != "content" || second.Code != http.StatusServiceUnavailable {
		t.Errorf("the first: %q; the second: HTTP %d", first.Body, second.Code)
	}
}
