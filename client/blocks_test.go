package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// blocksFile is a node's answer. Its number of blocks may differ from the announced one.
func blocksFile(count uint64, blocks ...string) []byte {
	e := codec.NewEncoder(64)
	e.U64(count)
	for _, b := range blocks {
		e.Bytes([]byte(b))
	}
	return e.Data()
}

// TestEncodedBlocks reads the answers of honest and hostile nodes.
func TestEncodedBlocks(t *testing.T) {
	honest := blocksFile(2, "block 7", "block 8")
	longest := blocksFile(1, strings.Repeat("b", types.MaxEncodedBlockBytes))
	all := make([]string, api.MaxBlocks+1)
	answers := func(content []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(content) // a client that has enough closes the connection
		}
	}
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		want    error // nil: some blocks
		blocks  int
	}{
		{"blocks", answers(honest), nil, 2},
		{"none", answers(blocksFile(0)), nil, 0},
		{"as many as there may be", answers(blocksFile(api.MaxBlocks, all[1:]...)), nil, api.MaxBlocks},
		{"the largest", answers(longest), nil, 1},
		{"one too many", answers(blocksFile(api.MaxBlocks+1, all...)), ErrBadAnswer, 0},
		{"one that is too large", answers(blocksFile(1, strings.Repeat("b", types.MaxEncodedBlockBytes+1))), ErrBadAnswer, 0},
		{"a count without blocks", answers(blocksFile(1<<60, "block 7")), ErrBadAnswer, 0},
		{
			"a length without a block", answers(append(blocksFile(1), 255, 255, 255, 255, 255, 255, 255, 255, 1)), ErrBadAnswer,
			0,
		},
		{"more than it counts", answers(blocksFile(1, "block 7", "block 8")), ErrBadAnswer, 0},
		{"something behind", answers(append(bytes.Clone(honest), 0)), ErrBadAnswer, 0},
		{"nothing at all", answers(nil), ErrBadAnswer, 0},
		{"JSON", answers([]byte(`{"jsonrpc":"2.0"}`)), ErrBadAnswer, 0},
		{"too much, as announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(maxBlocksFile+1))
			_, _ = w.Write(honest)
		}, ErrTooLarge, 0},
		{"without end", func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(longest[:1<<20]); err != nil {
					return
				}
			}
		}, ErrTooLarge, 0},
		{"less than is announced", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(honest)))
			_, _ = w.Write(honest[:len(honest)-1])
		}, ErrUnreachable, 0},
		{"a part of what was asked", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 8-22/30")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(honest[8:])
		}, ErrUnreachable, 0},
		{
			"they are pruned", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "pruned", http.StatusNotFound) },
			ErrUnreachable, 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/blocks/7-9" || r.URL.Query().Get("follower") != "a&b" {
					t.Errorf("asked for %s", r.URL)
				}
				test.handler(w, r)
			}))
			defer server.Close()
			c, err := New(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			blocks, err := c.EncodedBlocks(t.Context(), 7, 9, "a&b")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || len(blocks) != test.blocks {
				t.Errorf("%d blocks, %v; want %d, %v", len(blocks), err, test.blocks, test.want)
			}
		})
	}
}

// FuzzEncodedBlocks: no answer causes a panic, and accepted blocks encode to the bytes that were read.
func FuzzEncodedBlocks(f *testing.F) {
	f.Add(blocksFile(2, "block 7", "block 8"))
	f.Add(blocksFile(1 << 60))
	f.Fuzz(func(t *testing.T, answer []byte) {
		blocks, err := decodeBlocks(answer)
		if err != nil {
			if !errors.Is(err, ErrBadAnswer) {
				t.Errorf("error %v, want %v", err, ErrBadAnswer)
			}
			return
		}
		texts := make([]string, len(blocks))
		for i, b := range blocks {
			texts[i] = string(b)
		}
		if !bytes.Equal(blocksFile(uint64(len(texts)), texts...), answer) {
			t.Error("blocks have two encodings")
		}
	})
}

// TestDownloadsKeepConnections downloads several blocks at a time, twice: the second time the client reuses the
// connections.
func TestDownloadsKeepConnections(t *testing.T) {
	const together = 4
	var opened atomic.Int64
	var arrived sync.WaitGroup
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived.Done()
		arrived.Wait()
		_, _ = w.Write(blocksFile(1, "block 7"))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 2 {
		arrived.Add(together)
		var group sync.WaitGroup
		for range together {
			group.Go(func() {
				if _, err := c.EncodedBlocks(t.Context(), 7, 7, ""); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	if opened.Load() != together {
		t.Errorf("%d connections were opened, want %d", opened.Load(), together)
	}
}

// TestAccessListFile checks the limit on the bytes read.
func TestAccessListFile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/accesses/7" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = io.WriteString(w, "list")
	}))
	defer server.Close()
	c, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if list, err := c.AccessListFile(t.Context(), 7, 4); err != nil || string(list) != "list" {
		t.Errorf("got %q, want list, error %v", list, err)
	}
	if list, err := c.AccessListFile(t.Context(), 7, 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %q, error %v, want %v", list, err, ErrTooLarge)
	}
}

// TestBlockInPages reads a block that is too large for one answer, from nodes that return all of it, or only a part.
func TestBlockInPages(t *testing.T) {
	const count = 2500
	id := func(i int) types.TxID { return types.TxID{byte(i >> 8), byte(i), 1} }
	for name, test := range map[string]struct {
		gives func(i int) types.TxID // nil for no transactions
		ends  int                    // number of transactions that the node has
		want  error
	}{
		"all":                 {id, count, nil},
		"fewer than hashes":   {id, count - 1, ErrBadAnswer},
		"more than hashes":    {id, count + 1, ErrBadAnswer},
		"another transaction": {func(i int) types.TxID { return id(i / 1500 * i) }, count, ErrBadAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct {
					ID     json.RawMessage
					Method string
					Params []json.RawMessage
				}
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
					t.Error(err)
				}
				answer := func(member string, value any) {
					w.Header().Set("Content-Type", "application/json")
					if err := json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": asked.ID, member: value}); err != nil {
						t.Error(err)
					}
				}
				switch {
				case asked.Method == "svc_getBlockTransactions":
					var page struct{ From, Limit int }
					if err := json.Unmarshal(asked.Params[1], &page); err != nil {
						t.Error(err)
					}
					txs := []map[string]any{}
					for i := page.From; i < min(page.From+page.Limit, test.ends); i++ {
						txs = append(txs, map[string]any{"hash": test.gives(i)})
					}
					answer("result", txs)
				case len(asked.Params) > 1:
					answer("error", api.ErrResponseSize)
				default:
					hashes := make([]types.TxID, count)
					for i := range hashes {
						hashes[i] = id(i)
					}
					answer("result", map[string]any{"height": 7, "transactions": hashes})
				}
			}))
			defer server.Close()
			c, err := New(server.URL, WithRetry(0))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			block, err := c.BlockByNumber(t.Context(), api.AtHeight(7), true)
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if err != nil {
				return
			}
			if got := block.Transactions.Full; len(got) != count || got[0].Hash != id(0) || got[count-1].Hash != id(count-1) {
				t.Errorf("got %d transactions, want %d", len(got), count)
			}
		})
	}
}
