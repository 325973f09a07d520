package exec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// TestBatch has a batch of transfers and calls. It checks the logs and their order, the output, the payments, and the
// effects of earlier steps that a step sees.
func TestBatch(t *testing.T) {
	c, e := withMachine(t)
	supply := c.supply()
	id := c.deploy(e, "counter", 0, map[string]script{
		"add": func(g *guest) {
			g.call(vm.Caller, 0x600)
			g.emit("Added", g.read("n"))
			g.write("n", g.read("n")+"|")
			own := types.Account(g.memory[0x600:0x620]) == account(alice)
			g.answer("%s %d %v", g.read("n"), g.call(vm.Value), own)
		},
		"pays": func(g *guest) { to := account(bob); g.call(vm.Transfer, g.put(0x80, to[:]), 1) },
	})
	memo := &[32]byte{'m', 'e', 'm', 'o'}
	before := c.state.account(t, account(bob)).Balance
	result := c.block(c.action(alice, 1_000_000, batch(
		action{account(bob), 5, types.Transfer{Memo: memo}},
		pay(account(bob), 0), // moves nothing, so it is not logged
		pay(account(alice), 7),
		pay(fresh, 1),
		calling(id, "add", 3),
		calling(id, "pays", 0),
		calling(id, "add", 4),
	)))
	c.outcome(result, Success, "|| 4 true")
	var logs []string
	for _, l := range result.Receipts[0].Logs {
		logs = append(logs, fmt.Sprintf("%s %t %x", l.Name, l.Contract.IsZero(), l.Data))
	}
	want := []string{
		fmt.Sprintf("NativeTransfer true 0500000000000000%x", memo[:]),
		"NativeTransfer true 0700000000000000",
		"NativeTransfer true 0100000000000000",
		"NativeTransfer true 0300000000000000", "Added false ",
		"NativeTransfer true 0100000000000000",
		"NativeTransfer true 0400000000000000", "Added false 7c",
	}
	if !slices.Equal(logs, want) {
		t.Errorf("logs %q, want %q", logs, want)
	}
	if c.state.account(t, account(bob)).Balance != before+6 || c.coins(id) != 6 || c.supply() != supply {
		t.Errorf("bob has %d, the contract %d", c.state.account(t, account(bob)).Balance-before, c.coins(id))
	}
	payload := result.Transactions[0].Signed().Payload.(types.Batch)
	intrinsic := types.Gas(11_000+4*5_000+3*2_000+16*(3+4+3)) + 5_000
	if got := result.Receipts[0].GasUsed; got < intrinsic+100_000+3*(11_000+2*3_000) || len(payload.Steps) != 7 {
		t.Errorf("it took %d gas", got)
	}
}

// TestBatchFails: the first failing step makes the batch fail for its reason, and undoes the earlier steps.
func TestBatchFails(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "fails", 0, map[string]script{
		"ok":      func(g *guest) { g.write("k", "v"); g.emit("E", ""); g.answer("output") },
		"reverts": func(g *guest) { p, n := g.text(0, "why"); g.call(vm.Revert, p, n) },
		"traps":   func(g *guest) { g.trap() },
		"floods":  func(g *guest) { emitTimes(g, types.MaxTransactionLogs, "") },
	})
	for _, tc := range []struct {
		name   string
		step   action
		reason Reason
		output string
		all    bool
	}{
		{"reverts", calling(id, "reverts", 1), Reverted, "why", false},
		{"traps", calling(id, "traps", 1), Trap, "", true},
		{"no contract", calling(types.ContractID{9}, "f", 1), NoSuchContract, "", false},
		{"no function", calling(id, "none", 1), NoSuchFunction, "", false},
		{"a payment without room for its log", batchOf(calling(id, "floods", 0), pay(fresh, 1)), Reverted, "too many logs", false},
		{"value of a call without room for its log", batchOf(calling(id, "floods", 0), calling(id, "ok", 1)), Reverted,
			"too many logs", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			supply, coins := c.supply(), c.coins(id)
			steps := []types.Step{pay(fresh, 2).step()}
			if b, ok := tc.step.payload.(types.Batch); ok {
				steps = append(steps, b.Steps...)
			} else {
				steps = append(steps, calling(id, "ok", 3).step(), tc.step.step())
			}
			steps = append(steps, pay(types.Account{0x77}, 1).step()) // a step that is not reached
			result := c.block(c.action(alice, 40_000_000, with(types.Batch{Steps: steps})))
			c.outcome(result, tc.reason, tc.output)
			r := result.Receipts[0]
			if (r.GasUsed == 40_000_000) != tc.all || len(r.Logs) != 0 {
				t.Errorf("it took %d gas and logged %d times", r.GasUsed, len(r.Logs))
			}
			if c.coins(id) != coins || c.stored(id, "k") != "" || c.state.account(t, fresh).Balance != 0 || c.supply() != supply {
				t.Error("something is left of the steps before")
			}
			for _, key := range listed(result) {
				if key == "\x01\x77"+string(make([]byte, 31)) {
					t.Error("it lists the step that was not reached")
				}
			}
		})
	}
}

// batchOf is a batch as a part of another in a test.
func batchOf(actions ...action) action { return batch(actions...) }

// TestBatchesEqualSingles: a batch of transfers results in the same balances as the single transfers, and takes the gas
// of its steps.
func TestBatchesEqualSingles(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 50
	}
	r := rand.New(rand.NewPCG(7, 41))
	for range rounds {
		together, alone := newTestChain(t), newTestChain(t)
		var steps []action
		var txs []*types.VerifiedTx
		made, seen := types.Gas(0), map[types.Account]bool{}
		for range 1 + r.IntN(20) {
			to := []types.Account{account(alice), account(bob), collector, {0xe0, byte(r.IntN(4))}}[r.IntN(4)]
			step := pay(to, types.Amount(r.IntN(3)))
			if new := to == collector || to[0] == 0xe0; new && step.value > 0 && !seen[to] {
				made, seen[to] = made+100_000, true
			}
			steps = append(steps, step)
		}
		free := func(tx *types.Transaction) { tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 10, 0 }
		gas := 16_000 + 5_000*types.Gas(len(steps)) + made
		result := together.block(together.transfer(alice, batch(steps...).in, free, func(tx *types.Transaction) { tx.GasLimit = gas }))
		for i, step := range steps {
			txs = append(txs, alone.transfer(alice, step.in, free, func(tx *types.Transaction) { tx.Nonce = uint64(i) }))
		}
		singles := alone.block(txs...)
		if result.Reasons[0] != Success || result.Receipts[0].GasUsed != gas {
			t.Fatalf("the batch ended %q with %d gas of %d", result.Reasons[0], result.Receipts[0].GasUsed, gas)
		}
		var single types.Gas
		for _, receipt := range singles.Receipts {
			single += receipt.GasUsed
		}
		if want := 10_000*types.Gas(len(steps)) + made; single != want {
			t.Fatalf("the transfers alone took %d gas, want %d", single, want)
		}
		for key, value := range alone.state {
			switch {
			case state.Domain(key[0]) != state.DomainAccount, bytes.Equal(value, together.state[key]):
			case key == string(state.AccountKey(account(alice))): // its nonce and its payment for gas differ
			default:
				t.Fatalf("%x has %x alone, and %x together", key, value, together.state[key])
			}
		}
	}
}
