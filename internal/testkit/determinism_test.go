package testkit

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// TestEveryNodeMakesTheSameBlocks builds a chain of blocks of generated and hostile contracts on nodes that differ in
// everything in which nodes may differ: compiler or interpreter, reused or fresh instances, code in memory or compiled
// for each call, one processor or two. Headers, with their roots and gas, and receipts must be the same.
func TestEveryNodeMakesTheSameBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	nodes := []struct {
		name       string
		opts       wasm.Options
		processors int
	}{
		{"pooled", wasm.Options{}, 2},
		{"one processor", wasm.Options{}, 1},
		{"fresh", wasm.Options{Fresh: true}, 2},
		{"always cold", wasm.Options{Codes: 1, Bytes: 1}, 2},
		{"interpreter", wasm.Options{Interpreter: true}, 2},
		{"interpreter on one processor", wasm.Options{Interpreter: true}, 1},
	}
	var want []builtBlock
	for _, n := range nodes {
		t.Run(n.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n.processors))
			got := chainOfContracts(newContractChain(t, n.opts))
			if want == nil {
				want = got
			}
			for i, block := range got {
				if block.Header != want[i].Header || block.Hash != want[i].Hash ||
					!reflect.DeepEqual(block.receipts, want[i].receipts) ||
					!reflect.DeepEqual(block.Accesses, want[i].Accesses) {
					t.Fatalf("block %d is %+v, on node %q %+v", i+1, block, nodes[0].name, want[i])
				}
			}
		})
	}
	outcomes := map[types.ReceiptStatus]int{}
	for _, block := range want {
		for _, r := range block.receipts {
			outcomes[r.Status]++
		}
	}
	if outcomes[types.StatusSuccess] < 20 || outcomes[types.StatusFailed] < 20 {
		t.Errorf("the chain shows little: %v", outcomes)
	}
}

// chainOfContracts deploys 24 generated contracts, a forger and hostile ones, and calls them in ten blocks.
func chainOfContracts(c *contractChain) (blocks []builtBlock) {
	c.t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	var deploys []action
	for i := range 24 {
		code := wasmgen.Random(r).Encode()
		deploys = append(deploys, action{
			value: 1, payload: types.Deploy{Name: fmt.Sprint(i), Code: code}, gas: 30_000_000,
		})
	}
	forger, hostile := wasmgen.Forger(hostImports()).Encode(), wasmgen.Hostile(true).Encode()
	for _, code := range [][]byte{forger, hostile, hostile} {
		deploys = append(deploys, action{value: 1_000, payload: types.Deploy{Code: code}, gas: 30_000_000})
	}
	deployed := c.block(deploys...)
	blocks = append(blocks, deployed)
	var ids []types.ContractID
	for _, receipt := range deployed.receipts {
		if receipt.Contract == nil {
			c.t.Fatalf("not deployed: got %+v", receipt)
		}
		ids = append(ids, *receipt.Contract)
	}
	generated, forge, a, b := ids[:24], ids[24], ids[25], ids[26]
	for range 10 {
		var calls []action
		for _, i := range r.Perm(len(generated))[:12] {
			calls = append(calls, calling(
				generated[i], "run", make([]byte, r.IntN(9)), 0, 21_000+types.Gas(r.IntN(400_000)),
			))
		}
		for _, f := range hostImports() {
			args := numbers(
				uint64(r.IntN(200)), uint64(r.IntN(40)), uint64(r.IntN(200)), uint64(r.IntN(40)), uint64(r.IntN(200)),
				uint64(r.IntN(40)), 1<<40, uint64(r.IntN(200)), uint64(r.IntN(200)),
			)
			calls = append(calls, calling(forge, f.Name, append(args, generated[0][:]...), 1, 600_000))
		}
		for _, function := range []string{"relay", "fork", "growRelay", "storage", "recurse", "events"} {
			calls = append(calls, calling(a, function, both(b, a), 0, types.Gas(1_000_000+r.IntN(8_000_000))))
		}
		blocks = append(blocks, c.block(calls...))
	}
	return blocks
}
