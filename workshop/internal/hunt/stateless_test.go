package hunt

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// A node without state, which executes blocks on their access lists, derives the same receipts.
func TestStatelessAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	const bits = 100
	maker := must(NewChain(wasm.Options{}, false))(t)
	engine := must(wasm.New(wasm.Options{Fresh: true}))(t)
	db := must(kv.Open("db", kv.Options{FS: kv.NewCrashDisk().FS()}))(t)
	store := must(chain.Open(db, chain.Options{Schedule: params.Prices.Digest(), Stateless: true}))(t)
	t.Cleanup(func() {
		if err := errors.Join(maker.Close(), store.Close(), db.Close(), engine.Close()); err != nil {
			t.Error(err)
		}
	})
	g := maker.Genesis()
	follower := must(ledger.OpenStateless(store, &g, nil, engine, bits))(t)
	prover := must(proving.NewProver(bits, parallel.Run))(t)
	genes := []Genes{}
	for _, line := range []string{
		"graph contracts=2 depth=4 fan=2 stride=1 turns=1 pages=1 touched=1 output=9 " +
			"functions=2 globals=2 elements=2 data=2 filled=0 exports=2 types=2 " +
			"entered=0 call1=1 bytes1=32 key1=32 mode1=2",
		"host call1=0 bytes1=9 key1=9 mode1=2 call2=1 bytes2=9 key2=9 mode2=2 " +
			"call3=3 bytes3=0 key3=0 mode3=2 unroll=1 turns=4 end=0 output=64",
	} {
		genes = append(genes, must(Parse(line))(t))
	}
	if *whole {
		genes = append(genes, Corpus()...)
	}
	for _, g := range genes {
		parent := maker.Ledger.Tip().Header
		c := g.Build()
		c.Copies = min(c.Copies, 4) // a proof for each deploy
		calls, err := maker.Deploy(c)
		if IsRefusal(err) {
			continue
		}
		must(maker.Block(2_000_000, len(must(calls, err)(t)), calls...))(t)
		for h := parent.Header.Height + 1; h <= maker.Ledger.Tip().Header.Header.Height; h++ {
			parent = follow(t, maker, follower, prover, parent, h)
		}
	}
}

// follow proves a block of the maker and makes the follower import it. It returns the block's header.
func follow(t *testing.T, maker *ChainNode, follower *ledger.Stateless, prover *proving.Prover,
	parent types.SignedHeader, h types.Height) types.SignedHeader {
	t.Helper()
	block := must(maker.store.Block(h))(t)
	task := proving.Task{
		Parent: parent, Header: block.Signed(), Accesses: must(maker.store.Accesses(h))(t),
		Witness: must(tree.DecodeWitness(must(maker.store.Witness(h))(t)))(t),
	}
	bundle := blockproof.Bundle{Parent: parent, Header: task.Header, Accesses: task.Accesses,
		Proof: must(prover.Prove(&task))(t)}
	received := must(ledger.Receive(types.Regtest, block.Encode()))(t)
	must(follower.Import(must(follower.Verify(received, bundle.Encode()))(t), ledger.Fetch{Code: maker.store.Code}))(t)
	want := must(maker.store.Receipts(h))(t)
	if got := must(follower.Store().Receipts(h))(t); !reflect.DeepEqual(got, want) {
		t.Errorf("block %d: receipts %+v, want %+v", h, got, want)
	}
	return task.Header
}
