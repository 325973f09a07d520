package provers

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// node is a ledger whose blocks wait for proofs.
type node struct {
	*ledger.Ledger
	producer, sender crypto.PrivateKey
	nonce            uint64
}

// newNode opens a ledger in memory.
func newNode(t *testing.T) *node {
	t.Helper()
	key := func(name string) crypto.PrivateKey {
		key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
		must(t, err)
		return key
	}
	n := &node{producer: key("producer"), sender: key("sender")}
	db, err := kv.Open("db", kv.Options{FS: kv.Memory()})
	must(t, err)
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest(), WitnessBytes: 1 << 20})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(store.Close(), db.Close())) })
	n.Ledger, err = ledger.Open(store, &types.Genesis{
		ChainID:     7,
		Network:     types.Regtest,
		Time:        1_000,
		BaseFee:     10,
		Parameters:  params.Default(n.producer.PublicKey()),
		Allocations: []types.Allocation{{Account: n.sender.PublicKey(), Balance: 1_000 * types.CoinUnits}},
	}, nil, nil)
	must(t, err)
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// batch is the transactions of a block.
type batch []*types.VerifiedTx

func (b *batch) Next() (tx *types.VerifiedTx) {
	if len(*b) > 0 {
		tx, *b = (*b)[0], (*b)[1:]
	}
	return tx
}

func (*batch) SkipSender() {}

// build makes a block of so many transfers, each to an account of its own.
func (n *node) build(t *testing.T, transfers int) {
	t.Helper()
	signed := make([]types.SignedTransaction, transfers)
	for i := range signed {
		var err error
		signed[i], err = types.Sign(types.Transaction{
			ChainID:              7,
			Sender:               n.sender.PublicKey(),
			Nonce:                n.nonce,
			GasLimit:             150_000,
			MaxFeePerGas:         100,
			MaxPriorityFeePerGas: 1,
			Target:               types.Account{1, byte(n.nonce)},
			Value:                7,
			Payload:              types.Transfer{},
		}, n.sender, [32]byte{})
		must(t, err)
		n.nonce++
	}
	txs := batch(types.VerifyWitnesses(types.Regtest, types.NewTxs(signed...)))
	_, err := n.Build(ledger.Batch{Time: n.Tip().Header.Header.Timestamp +
		1, Transactions: &txs}, func(h types.BlockHash) (types.Signature, error) {
		return n.producer.Sign(h[:], [32]byte{})
	})
	must(t, err)
}

func inOrder(count int, f func(i int)) {
	for i := range count {
		f(i)
	}
}

const testBits = 100

// served serves a queue, without the door of the admin address.
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

// TestWorkerProvesBlocks has a worker prove a chain over HTTP: empty blocks, too, and one that comes later.
func TestWorkerProvesBlocks(t *testing.T) {
	n := newNode(t)
	for _, transfers := range []int{0, 1, 5} {
		n.build(t, transfers)
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
			n.build(t, 2)
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
			t.Errorf("block %d: the bundle proves %d bits, %v", want, bits, err)
		}
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the worker ended with %v", err)
	}
	if bytes, err := n.Store().WitnessBytes(); err != nil || bytes != 0 {
		t.Errorf("%d bytes of witnesses are left, %v", bytes, err)
	}
	if q.Proven() != 4 {
		t.Errorf("%d proofs are counted", q.Proven())
	}
}

func TestHandlerErrors(t *testing.T) {
	n := newNode(t)
	n.build(t, 1)
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
