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
// slices of gas. The block equals one that is made without the call, and so does the next one, in which the call is not
// stopped.
func TestABlockWithoutItsOverdueTransaction(t *testing.T) {
	for name, opts := range map[string]wasm.Options{"pooled": {}, "always fresh": {Fresh: true}} {
		with, without := newContractChain(t, opts), newContractChain(t, opts)
		slow := deployEndless(with)
		deployEndless(without)
		for patience := range 3 {
			pay := action{types.Account{1}, 5, types.Transfer{}, 150_000}
			asked := 0
			overdue := func() bool { asked++; return asked > patience }
			got := with.build(overdue, pay, slow, pay)
			want := without.build(nil, pay)
			if asked != patience+1 {
				t.Errorf("%s: asked %d times, want %d", name, asked, patience+1)
			}
			compareBlocks(t, name, got, want)
			compareBlocks(t, name, with.build(nil, slow, pay), without.build(nil, slow, pay))
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
		value: 9, payload: types.Deploy{Name: "endless", Code: wasmgen.Hostile(false).Encode()}, gas: 30_000_000,
	}).receipts[0].Contract
	if id == nil {
		c.t.Fatal("not deployed")
	}
	return calling(*id, "loop", nil, 3, 4_000_000)
}

// build makes a block of the user's transactions; those not included, and those after them, do not count as sent.
func (c *contractChain) build(overdue func() bool, actions ...action) ledger.Block {
	c.t.Helper()
	built, err := c.ledger.Build(ledger.Batch{
		Time: c.ledger.Tip().Header.Header.Timestamp + 1_000, Transactions: &batch{txs: c.sign(actions)}, Overdue: overdue,
	}, func(h types.BlockHash) (types.Signature, error) { return c.producer.Sign(h[:], [32]byte{}) })
	if err != nil {
		c.t.Fatal(err)
	}
	c.nonce += uint64(len(built.Included))
	return built
}
