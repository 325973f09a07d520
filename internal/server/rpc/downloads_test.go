package rpc

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// least is a quota with memory for the given number of bytes.
type least int

func (l least) Room(int) int { return int(l) }
func (least) Charge(int)     {}

// turned is a quota for a client that needs turns.
type turned struct {
	least
	turn admission.Turn
}

func (c *turned) Turn() *admission.Turn { return &c.turn }

// inTurn is the request of a client that needs turns.
func inTurn(ctx context.Context) *request.Request {
	r := request.New(ctx)
	r.Quota = &turned{least: 1 << 30}
	return r
}

// listing is a queue with a range whose lists have 1 MiB each.
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

// TestDownloadsAreBounded: the memory for answers in bytes stays within its limit, and a node reads no more of them at
// once than calls may run.
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
	answers.answer(first, one, func(counter) (*file, error) {
		second = httptest.NewRecorder()
		late := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(inTurn(ended))
		answers.answer(second, late, func(counter) (*file, error) {
			t.Error("two answers are read at once")
			return nil, nil
		})
		return &file{parts: []part{wholeBytes([]byte("content"))}}, nil
	})
	if first.Body.String() != "content" || second.Code != http.StatusServiceUnavailable {
		t.Errorf("the first: %q; the second: HTTP %d", first.Body, second.Code)
	}
}

// TestRangesAreJoinedOneAtATime: a request for a range waits for the one before, and delays no other request.
func TestRangesAreJoinedOneAtATime(t *testing.T) {
	c, _, prove := newProvenChain(t)
	c.pay(0)
	prove()
	get := func(path string) int {
		ended, end := context.WithCancel(t.Context())
		end() // requests that would have to wait get ErrBusy
		recorder := httptest.NewRecorder()
		c.server.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil).WithContext(inTurn(ended)))
		return recorder.Code
	}
	joined := groupOf[*proofHandlers](c).ranges.lane.TryRun(inTurn(t.Context()), func(context.Context) {
		if status := get("/proof/1-2"); status != http.StatusServiceUnavailable {
			t.Errorf("a second range: HTTP %d, want %d", status, http.StatusServiceUnavailable)
		}
		if status := get("/proof/1"); status != http.StatusOK {
			t.Errorf("a block's proof meanwhile: HTTP %d, want %d", status, http.StatusOK)
		}
	})
	if status := get("/proof/1-2"); !joined || status != http.StatusNotFound {
		t.Errorf("a range that there is none of: HTTP %d", status)
	}
}

// slowly is a queue with a range whose lists take longer than a slice each. With the first, another comes.
type slowly struct {
	listing
	other func()
	ended chan<- string
}

func (s slowly) Range(_ blockproof.Span, count func(int) error) (r blockproof.Range, err error) {
	for read := 0; read < 5 && err == nil; read++ {
		if read == 0 {
			go s.other()
		}
		<-time.After(10 * time.Millisecond)
		err = count(read + 1)
	}
	s.ended <- "the range"
	return r, err
}

// TestRangesLetOthersHaveTheirTurn: long work of another client does not have to wait until all lists of a range are
// read.
func TestRangesLetOthersHaveTheirTurn(t *testing.T) {
	c, _, _ := newProvenChain(t)
	c.pay(0)
	c.pay(1)
	synctest.Test(t, func(t *testing.T) {
		lane := admission.New(1).Long()
		ended := make(chan string, 2)
		other := func() {
			who := inTurn(t.Context())
			who.Quota.(*turned).turn.Client = admission.Client{Key: "another"}
			if err := lane.Run(who, func() { ended <- "another" }); err != nil {
				t.Errorf("another client's work: got %v, want no error", err)
			}
		}
		h := &proofHandlers{
			ranges: &files{errors: c.server.errors, lane: lane}, chain: c.store, proofs: slowly{listing{t}, other, ended},
		}
		asked := httptest.NewRequest(http.MethodGet, "/proof/1-2", nil).WithContext(inTurn(t.Context()))
		asked.SetPathValue("height", "1-2")
		answer := httptest.NewRecorder()
		h.serveBundle(answer, asked)
		if first := <-ended; first != "another" || answer.Code != http.StatusOK {
			t.Errorf("%s was first, and the range is HTTP %d; want another first, and 200", first, answer.Code)
		}
	})
}

// TestDownloadsAreCompressed for clients that accept it, only as whole files, and with their own ETag.
func TestDownloadsAreCompressed(t *testing.T) {
	content := bytes.Repeat([]byte("content "), 4<<10)
	answers := &files{}
	get := func(fields ...string) *httptest.ResponseRecorder {
		t.Helper()
		recorder, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		answers.answer(recorder, r, func(counter) (*file, error) {
			return &file{tag: `"tag"`, parts: []part{wholeBytes(content)}}, nil
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
		if got.Code == http.StatusOK && test.coding == "" && h.Get("Content-Length") != strconv.Itoa(got.Body.Len()) {
			t.Errorf("%q: %d bytes, announced as %s", test.fields, got.Body.Len(), h.Get("Content-Length"))
		}
	}
	back, err := jsonrpc.Unshrink(get("Accept-Encoding", "zstd").Body, int64(len(content)))
	if err != nil || !bytes.Equal(back, content) {
		t.Errorf("%d bytes come back, error %v", len(back), err)
	}
}

// reads counts the bytes read of a file.
type reads struct {
	pieces, bytes int
	held          bool // whether a turn was held during a read
}

// counted is a file of parts of these sizes, with distinct bytes, and the number of bytes read so far.
func (n *reads) counted(lane *admission.Lane, sizes ...int) (*file, []byte) {
	opened, all := &file{tag: `"tag"`}, []byte{}
	for _, size := range sizes {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte((len(all) + i) * 7 >> 3)
		}
		inner := wholeBytes(content)
		all = append(all, content...)
		opened.parts = append(opened.parts, part{inner.size, func(item uint32) ([]byte, uint32, error) {
			piece, next, err := inner.read(item)
			n.pieces, n.bytes, n.held = n.pieces+1, n.bytes+len(piece), lane.Running() == 1
			return piece, next, err
		}})
	}
	return opened, all
}

// TestNothingIsReadWithoutABody: no part of a file is read for HEAD requests, and for conditional requests whose answer
// has no body.
func TestNothingIsReadWithoutABody(t *testing.T) {
	for _, test := range []struct {
		method string
		fields []string
		status int
		length string
	}{
		{http.MethodHead, nil, 200, "1000000"},
		{http.MethodHead, []string{"Accept-Encoding", "zstd"}, 200, ""},
		{http.MethodHead, []string{"Range", "bytes=10-19"}, 206, "10"},
		{http.MethodGet, []string{"If-None-Match", `"tag"`}, 304, ""},
		{http.MethodGet, []string{"If-None-Match", `"tag-gzip"`, "Accept-Encoding", "gzip"}, 304, ""},
		{http.MethodGet, []string{"If-Match", `"other"`}, 412, ""},
		{http.MethodGet, []string{"Range", "bytes=1000000-"}, 416, ""},
	} {
		var n reads
		answers := &files{lane: admission.New(1).Long()}
		recorder, r := httptest.NewRecorder(), httptest.NewRequest(test.method, "/", nil)
		for i := 0; i < len(test.fields); i += 2 {
			r.Header.Set(test.fields[i], test.fields[i+1])
		}
		answers.answer(recorder, r, func(counter) (*file, error) {
			opened, _ := n.counted(answers.lane, 600_000, 400_000)
			return opened, nil
		})
		got := recorder.Header().Get("Content-Length")
		if recorder.Code != test.status || n.bytes != 0 || test.length != got && test.status < 300 {
			t.Errorf("%s %q: got HTTP %d, %q bytes announced, %d read; want HTTP %d, %q and 0",
				test.method, test.fields, recorder.Code, got, n.bytes, test.status, test.length)
		}
	}
}

// stalling is a client that reads the given number of bytes and then no more.
type stalling struct {
	*httptest.ResponseRecorder
	most  int
	check func()
}

var errStalled = errors.New("the client takes nothing for too long")

func (s *stalling) Write(b []byte) (int, error) {
	s.check()
	if s.Body.Len()+len(b) > s.most {
		return 0, errStalled
	}
	return s.ResponseRecorder.Write(b)
}

// TestDownloadsAreReadAsTheyAreTaken: for a stalled client the node has read one piece more than the client. The client
// has no turn, and holds at most a piece of memory.
func TestDownloadsAreReadAsTheyAreTaken(t *testing.T) {
	const size = 16 << 20
	for _, coding := range []string{"", "gzip", "zstd"} {
		for _, taken := range []int{0, 1 << 20} {
			var n reads
			quota := new(mostAsked)
			answers := &files{lane: admission.New(1).Long()}
			client := &stalling{httptest.NewRecorder(), taken, func() {
				if got := answers.lane.Running(); got != 0 {
					t.Errorf("while the client takes a piece: got %d turns, want 0", got)
				}
			}}
			carries := request.New(inTurn(t.Context()))
			carries.Quota = quota
			r := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(carries)
			r.Header.Set("Accept-Encoding", coding)
			answers.answer(client, r, func(counter) (*file, error) {
				opened, _ := n.counted(answers.lane, 8, 300, 5<<20, 300, size-5<<20-608)
				return opened, nil
			})
			if !n.held {
				t.Error("a piece is read without a turn")
			}
			// These bytes compress to a small part: so more is read for each part taken.
			if most := taken + 3*pieceBytes; coding == "" && n.bytes > most {
				t.Errorf("%d bytes taken: got %d read, want at most %d", taken, n.bytes, most)
			}
			if most := 2*pieceBytes + jsonrpc.ShrinkerBytes; int(*quota) > most || *quota == 0 {
				t.Errorf("%q, %d bytes taken: got %d counted, want at most %d", coding, taken, *quota, most)
			}
		}
	}
}

// mostAsked is a quota that records the largest request.
type mostAsked int

func (m *mostAsked) Room(bytes int) int {
	*m = max(*m, mostAsked(bytes))
	return bytes
}
func (*mostAsked) Charge(int) {}

// TestRangesOfPieces: a range has the same bytes as that part of the whole file, wherever its parts and pieces begin. A
// request for several ranges gets the whole file.
func TestRangesOfPieces(t *testing.T) {
	var n reads
	answers := &files{lane: admission.New(1).Long()}
	opened, all := n.counted(answers.lane, 8, 1, 3*pieceBytes+5, 300, 2*pieceBytes, 77)
	get := func(fields ...string) *httptest.ResponseRecorder {
		recorder, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		for i := 0; i < len(fields); i += 2 {
			r.Header.Set(fields[i], fields[i+1])
		}
		answers.answer(recorder, r, func(counter) (*file, error) { return opened, nil })
		return recorder
	}
	r := rand.New(rand.NewPCG(1, 2))
	edges := []int{0, 7, 8, 9, pieceBytes, 3*pieceBytes + 13, len(all) - 78, len(all) - 1}
	for range 300 {
		from, to := r.IntN(len(all)), r.IntN(len(all))
		if r.IntN(2) == 0 {
			from = edges[r.IntN(len(edges))]
		}
		from, to = min(from, to), max(from, to)
		got := get("Range", fmt.Sprintf("bytes=%d-%d", from, to))
		if got.Code != http.StatusPartialContent || !bytes.Equal(got.Body.Bytes(), all[from:to+1]) {
			t.Fatalf("bytes %d to %d: got HTTP %d, %d bytes; want these", from, to, got.Code, got.Body.Len())
		}
	}
	n.bytes = 0
	if got := get("Range", "bytes=0-0,600000-600000,1-1,700000-700000"); got.Code != http.StatusOK ||
		!bytes.Equal(got.Body.Bytes(), all) || n.bytes != len(all) {
		t.Errorf("many ranges: got HTTP %d, %d bytes, %d read; want the whole, read once", got.Code, got.Body.Len(), n.bytes)
	}
	back, err := jsonrpc.Unshrink(get("Accept-Encoding", "zstd").Body, int64(len(all)))
	if err != nil || !bytes.Equal(back, all) {
		t.Errorf("compressed: got %d bytes back, %v; want %d", len(back), err, len(all))
	}
}

// TestBrokenDownloads: a file that cannot be read is refused; one that breaks off later ends the connection, so that no
// client mistakes a part for the whole. A deadline is not a fault of the node.
func TestBrokenDownloads(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{}, jsonrpc.Options{})
	damage := errors.New("damage")
	for _, coding := range []string{"identity", "zstd"} {
		for _, test := range []struct {
			err    error
			after  uint32
			status int
		}{
			{damage, 0, 500}, {context.DeadlineExceeded, 0, 503}, {chain.ErrReverted, 1, 0}, {context.DeadlineExceeded, 2, 0},
		} {
			incidents := 0
			answers := &files{errors: c.server.errors, report: func(context.Context, string, error) string {
				incidents++
				return "id"
			}}
			noise := make([]byte, pieceBytes)
			_, _ = crand.Read(noise)
			broken := part{4 * pieceBytes, func(item uint32) ([]byte, uint32, error) {
				if item == test.after {
					return nil, 0, test.err
				}
				return noise, item + 1, nil
			}}
			recorder, aborted := httptest.NewRecorder(), false
			func() {
				defer func() { aborted = recover() == http.ErrAbortHandler }()
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Header.Set("Accept-Encoding", coding)
				answers.answer(recorder, r, func(counter) (*file, error) {
					return &file{tag: `"tag"`, parts: []part{broken}}, nil
				})
			}()
			if wanted := test.after > 0; aborted != wanted {
				t.Errorf("%s, %v after %d pieces: got aborted %t, want %t", coding, test.err, test.after, aborted, wanted)
			}
			if test.after == 0 && (recorder.Code != test.status || recorder.Header().Get("ETag") != "" ||
				recorder.Header().Get("Content-Encoding") != "" || (incidents == 1) != (test.status == 500)) {
				t.Errorf("%s, %v: got HTTP %d, %v, %d incidents; want HTTP %d",
					coding, test.err, recorder.Code, recorder.Header(), incidents, test.status)
			}
		}
	}
}
