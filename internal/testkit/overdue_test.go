package testkit

import (
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// TestABlockWithoutItsOverdueTransaction stops an endless call in a block, before its code is loaded and at its first
// slices of gas. The block is the one that is made without the call. So is the next one, in which the call is not
// stopped.
func TestABlockWithoutItsOverdueTransaction(t *testing.T) {
	for name, opts := range map[string]wasm.Options{"pooled": {}, "always fresh": {Fresh: true}} {
		with, without := newContractChain(t, opts), newContractChain(t, opts)
		slow := deployEndless(with)
		deployEndless(without)
		for patience := range 3 {
			pay := types.Transfer{To: types.Account{1}, Amount: 5}
			asked := 0
			overdue := func() bool { asked++; return asked > patience }
			got := with.build(overdue, action{pay, 50_000}, slow, action{pay, 50_000})
			want := without.build(nil, action{pay, 50_000})
			if asked != patience+1 {
				t.Errorf("%s: asked %d times, want %d", name, asked, patience+1)
			}
			compareBlocks(t, name, got, want)
			compareBlocks(t, name, with.build(nil, slow, action{pay, 50_000}), without.build(nil, slow, action{pay, 50_000}))
		}
	}
}

func compareBlocks(t *testing.T, name string, got, want ledger.Block) {
	t.Helper()
	if got.Header != want.Header || !reflect.DeepEqual(got.Included, want.Included) ||
		!reflect.DeepEqual(got.Accesses, want.Accesses) {
		t.Errorf("%s: the block is\n%+v, without the overdue transaction\n%+v", name, got, want)
	}
}

func deployEndless(c *contractChain) (call action) {
	c.t.Helper()
	id := c.block(action{
		types.Deploy{Name: "endless", Code: wasmgen.Hostile(false).Encode(), Amount: 9}, 30_000_000,
	}).receipts[0].Contract
	if id == nil {
		c.t.Fatal("not deployed")
	}
	return action{types.Call{Contract: *id, Function: "loop", Amount: 3}, 4_000_000}
}

// build makes a block of the user's transactions; what is not included, and what follows it, is not counted as sent.
func (c *contractChain) build(overdue func() bool, actions ...action) ledger.Block {
	c.t.Helper()
	built, err := c.ledger.Build(ledger.Batch{
		Time: c.ledger.Tip().Header.Header.Timestamp + 1, Transactions: &batch{txs: c.sign(actions)}, Overdue: overdue,
	}, func(h types.BlockHash) (types.Signature, error) { return c.producer.Sign(h[:], [32]byte{}) })
	if err != nil {
		c.t.Fatal(err)
	}
	c.nonce += uint64(len(built.Included))
	return built
}
