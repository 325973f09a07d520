package provers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func inOrder(count int, f func(i int)) {
	for i := range count {
		f(i)
	}
}

const testBits = 100

// served serves a queue, without the checks of the admin address.
func served(q *proving.Queue) http.Handler {
	mux := http.NewServeMux()
	for _, route := range Routes(q) {
		mux.HandleFunc(route.Pattern, route.Serve)
	}
	return mux
}

func newTestProver(t *testing.T) *proving.Prover {
	t.Helper()
	p, err := proving.NewProver(testBits, inOrder)
	must(t, err)
	return p
}

func requireStatus(t *testing.T, q *proving.Queue, height types.Height, want proving.State, wantPosition uint64) {
	t.Helper()
	if state, position, err := q.Status(height); err != nil || state != want || position != wantPosition {
		t.Errorf("block %d: %s at position %d, %v; want %s at %d", height, state, position, err, want, wantPosition)
	}
}

// TestWorkerProvesBlocks has a worker prove a chain over HTTP, including empty blocks and one that is made later.
func TestWorkerProvesBlocks(t *testing.T) {
	n := testchain.New(t, chain.Options{WitnessBytes: 1 << 20})
	for _, transfers := range []int{0, 1, 5} {
		n.Extend(t, transfers)
	}
	q := proving.NewQueue(n.Store(), testBits)
	requireStatus(t, q, 3, proving.Queued, 2)
	server := httptest.NewServer(served(q))
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	proven := make(chan types.Height)
	w := Worker{Node: admin.Client{URL: server.URL}, Prover: newTestProver(t), Log: slog.New(slog.DiscardHandler)}
	w.OnProof = func(_, last types.Height, _, _ int, _ time.Duration) { proven <- last }
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	for want := types.Height(1); want <= 4; want++ {
		if want == 4 {
			n.Extend(t, 2)
		}
		if got := <-proven; got != want {
			t.Fatalf("block %d was proven, want %d", got, want)
		}
		requireStatus(t, q, want, proving.Proven, 0)
		bundle, err := q.Bundle(want)
		must(t, err)
		again, err := blockproof.DecodeBundle(bundle.Encode())
		must(t, err)
		if bits, err := again.Verify(testBits, blockproof.InOrder); err != nil || bits < testBits {
			t.Errorf("block %d: the bundle proves %d bits, error %v", want, bits, err)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the worker ended with %v, want %v", err, context.Canceled)
	}
	if bytes, err := n.Store().WitnessBytes(); err != nil || bytes != 0 {
		t.Errorf("%d bytes of witnesses are left, error %v", bytes, err)
	}
	if q.Proven() != 4 {
		t.Errorf("%d proofs are counted, want 4", q.Proven())
	}
}

func TestHandlerErrors(t *testing.T) {
	n := testchain.New(t, chain.Options{WitnessBytes: 1 << 20})
	n.Extend(t, 1)
	q := proving.NewQueue(n.Store(), testBits)
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPut, spanPath + "1", http.StatusUnprocessableEntity},
		{http.MethodPut, spanPath + "9", http.StatusConflict},
		{http.MethodPut, spanPath + "x", http.StatusBadRequest},
		{http.MethodDelete, spanPath + "x", http.StatusBadRequest},
		{http.MethodDelete, spanPath + "1?refuse=1", http.StatusNoContent},
		{http.MethodGet, spanPath + "1", http.StatusMethodNotAllowed},
		{http.MethodGet, nextPath, http.StatusMethodNotAllowed},
	} {
		w := httptest.NewRecorder()
		served(q).ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		if w.Code != c.code {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, w.Code, w.Body, c.code)
		}
	}
	requireStatus(t, q, 1, proving.NotStored, 0)
}
