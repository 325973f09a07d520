package client

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// TestProofBundle has a node answer with a status. The client asks for the reason only after "not found".
func TestProofBundle(t *testing.T) {
	for _, test := range []struct {
		name     string
		statuses []int // of consecutive downloads
		why      error // what svc_getProof answers with
		want     error // nil: the bundle
		asked    int   // why
	}{
		{"it is there", []int{200}, nil, nil, 0},
		{"its proof is to come", []int{404}, api.ErrProofNotReady, api.ErrProofNotReady, 1},
		{"there is none", []int{404}, api.ErrProofNotStored, api.ErrProofNotStored, 1},
		{"it comes meanwhile", []int{404, 200}, nil, nil, 1},
		{"it is not served", []int{404, 404}, nil, &StatusError{Status: 404}, 1},
		{"the node is busy", []int{503}, nil, &StatusError{Status: 503}, 0},
		{"too many requests", []int{429}, nil, &StatusError{Status: 429}, 0},
		{"it is too large", []int{200}, nil, ErrTooLarge, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked, downloads := 0, 0
			rpc, err := jsonrpc.NewServer(jsonrpc.Options{}, answer(api.GetProof, func(
				p api.GetProofParams,
			) (api.BlockProof, error) {
				if asked++; p.Block != api.AtHeight(7) {
					t.Errorf("asked for %v, want %v", p.Block, api.AtHeight(7))
				}
				return api.BlockProof{}, test.why
			}))
			if err != nil {
				t.Fatal(err)
			}
			mux := http.NewServeMux()
			mux.Handle("POST /", rpc)
			mux.HandleFunc("GET /proof/7", func(w http.ResponseWriter, _ *http.Request) {
				content := "bundle"
				if test.want == ErrTooLarge {
					content = "bundle!"
				}
				w.WriteHeader(test.statuses[downloads])
				downloads++
				if _, err := io.WriteString(w, content); err != nil {
					t.Error(err)
				}
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			c, err := New(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			bundle, err := c.ProofBundle(t.Context(), 7, 6)
			if asked != test.asked || downloads != len(test.statuses) {
				t.Errorf("downloaded %d times, asked why %d times", downloads, asked)
			}
			var want, got *StatusError
			switch {
			case test.want == nil:
				if err != nil || string(bundle) != "bundle" {
					t.Errorf("got %q, want bundle, error %v", bundle, err)
				}
			case errors.As(test.want, &want):
				if !errors.As(err, &got) || got.Status != want.Status || !errors.Is(err, ErrUnreachable) {
					t.Errorf("error %v", err)
				}
			case !errors.Is(err, test.want):
				t.Errorf("error %v", err)
			}
		})
	}
}

// A file of known length takes exactly that much memory, whatever the length; one of unknown length has a limit.
func TestFilesAreBounded(t *testing.T) {
	const long = 40 << 20
	var answer func(w http.ResponseWriter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	defer server.Close()
	c, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	body := make([]byte, long)
	write := func(w http.ResponseWriter, bytes []byte) { _, _ = w.Write(bytes) } // the client may close the connection
	shrunk, _ := jsonrpc.Shrink(body, "zstd")
	coded := func(coding string, bytes []byte) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", coding)
			write(w, bytes)
		}
	}
	for _, test := range []struct {
		name    string
		answer  func(w http.ResponseWriter)
		limit   int64
		want    error
		wantLen int
	}{
		{"announced", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(long))
			write(w, body)
		}, long, nil, long},
		{"over the limit", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(long))
			write(w, body)
		}, long - 1, ErrTooLarge, 0},
		{"not announced, short", func(w http.ResponseWriter) {
			write(w, body[:1<<20])
			_ = http.NewResponseController(w).Flush()
		}, long, nil, 1 << 20},
		{"not announced, long", func(w http.ResponseWriter) { write(w, body) }, long, ErrTooLarge, 0},
		{"less than announced", func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", strconv.Itoa(long))
			write(w, body[:1<<20])
		}, long, ErrUnreachable, 0},
		{"compressed", coded("zstd", shrunk), long, nil, long},
		{"compressed, in capitals", coded("ZSTD", shrunk), long, nil, long},
		{"compressed, over the limit", coded("zstd", shrunk), long - 1, ErrTooLarge, 0},
		{"compressed, cut off", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "zstd")
			w.Header().Set("Content-Length", strconv.Itoa(len(shrunk)))
			write(w, shrunk[:len(shrunk)/2])
		}, long, ErrUnreachable, 0},
		{"not compressed as it says", coded("zstd", body[:100]), long, ErrBadAnswer, 0},
		{"in a coding that was not asked for", coded("gzip", shrunk), long, ErrBadAnswer, 0},
	} {
		answer = test.answer
		var got []byte
		var err error
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err = c.ProofBundle(t.Context(), 1, test.limit)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, test.want) || len(got) != test.wantLen {
			t.Errorf("%s: %d bytes, error %v", test.name, len(got), err)
		}
		// The buffer for an answer of unknown length grows by quarters up to 16 MiB, so all allocations together are
		// five times that.
		if took := after.TotalAlloc - before.TotalAlloc; took > long+16<<20 && test.want == nil || took > 96<<20 {
			t.Errorf("%s: %d bytes of memory", test.name, took)
		}
	}
}
