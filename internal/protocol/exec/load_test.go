package exec

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// largeContracts deploys contracts with codes that each have at least the given load, in bytes.
func largeContracts(c *testChain, e *scripted, n, bytes int, scripts map[string]script) []types.ContractID {
	ids := make([]types.ContractID, n)
	for i := range ids {
		ids[i] = c.deploy(e, fmt.Sprint(i, repeat(bytes)), 0, scripts)
	}
	return ids
}

// A transaction that loaded more than [params.LoadToStop] can call only codes that it has loaded.
func TestLoadOfTransaction(t *testing.T) {
	c, e := withMachine(t)
	ids := largeContracts(c, e, 4, 200_000, map[string]script{"f": func(*guest) {}})
	small := c.deploy(e, "small", 0, map[string]script{"f": func(*guest) {}})
	var codes []uint64
	outer := c.deploy(e, "outer", 0, map[string]script{
		"large": func(g *guest) {
			for _, id := range []types.ContractID{ids[0], ids[1], ids[0], ids[2], ids[3], small, ids[2], {9}} {
				codes = append(codes, g.nested(id, "f", 0, ""))
			}
		},
		"failed": func(g *guest) { // a callee's loads count even if it fails
			codes = append(codes, g.nested(ids[0], "none", 0, ""), g.nested(
				ids[1], "f", 0, "",
			), g.nested(ids[2], "f", 0, ""), g.nested(small, "f", 0, ""))
		},
	})
	for function, want := range map[string][]uint64{
		"large":  {0, 0, 0, 0, codeLimits, codeLimits, 0, codeNoContract},
		"failed": {codeNoFunction, 0, 0, codeLimits},
	} {
		codes = nil
		c.outcome(c.run(outer, function), Success, "")
		if !reflect.DeepEqual(codes, want) {
			t.Errorf("%s: codes %v, want %v", function, codes, want)
		}
	}
}

// smallestBlockLoad is a gas limit at which a block has the least load of any.
const smallestBlockLoad = 100_000_000

func TestLoadOfBlock(t *testing.T) {
	const n, bytes = 22, 200_000
	c, e := withMachine(t)
	ids := largeContracts(c, e, n, bytes, map[string]script{
		"f":     func(*guest) {},
		"works": func(g *guest) { g.gas.Take(2 * (bytes + 20_000)) },
		"fails": func(g *guest) { g.trap() },
	})
	c.params.GasLimit = smallestBlockLoad
	fits := int(params.BlockLoad(smallestBlockLoad) / (bytes + 13_000))
	call := func(nonce uint64, id types.ContractID, function string) *types.VerifiedTx {
		return c.transfer(alice, func(tx *types.Transaction) {
			tx.Nonce += nonce
			calling(id, function, 0).in(tx)
			tx.GasLimit = 1_000_000
		})
	}
	t.Run("a block is full of load", func(t *testing.T) {
		run := c.begin()
		for i := range fits {
			function := "f"
			if i%2 == 1 {
				function = "fails"
			}
			if _, err := run.Apply(call(uint64(i), ids[i], function)); err != nil {
				t.Fatalf("call %d of %d: error %v", i, fits, err)
			}
		}
		before := run.state.Accesses()
		if _, err := run.Apply(call(uint64(fits), ids[fits], "f")); !errors.Is(err, ErrLoadFull) || !IsInvalid(err) {
			t.Fatalf("a call beyond the block's load gave %v", err)
		}
		if !reflect.DeepEqual(run.state.Accesses(), before) {
			t.Error("the call that found no room left keys in the block's list")
		}
		for i, tx := range []*types.VerifiedTx{
			call(uint64(fits), ids[0], "f"), call(uint64(fits+1), ids[1], "works"), c.transfer(bob),
		} {
			if _, err := run.Apply(tx); err != nil {
				t.Errorf("transaction %d that loads nothing new: error %v", i, err)
			}
		}
	})
	t.Run("an importer refuses what passes it", func(t *testing.T) {
		var txs []*types.VerifiedTx
		for i := range fits + 1 {
			txs = append(txs, call(uint64(i), ids[i], "f"))
		}
		header := types.Header{Timestamp: c.head.Timestamp}
		if _, err := execute(c.params, c.head, c.state, header, txs, c.machine); !errors.Is(err, ErrLoadFull) {
			t.Errorf("got %v, want %v", err, ErrLoadFull)
		}
	})
	t.Run("a builder spares room for those that pay", func(t *testing.T) {
		run := c.begin()
		run.SpareLoad()
		half := fits / 2
		for i := range half {
			if _, err := run.Apply(call(uint64(i), ids[i], "f")); err != nil {
				t.Fatalf("call %d: error %v", i, err)
			}
		}
		if _, err := run.Apply(call(uint64(half), ids[half], "f")); !errors.Is(err, ErrLoadFull) {
			t.Errorf("a call that pays little for its load gave %v, want %v", err, ErrLoadFull)
		}
		for i := half; i < fits; i++ {
			if _, err := run.Apply(call(uint64(i), ids[i], "works")); err != nil {
				t.Fatalf("call %d that pays for its load: error %v", i, err)
			}
		}
		if _, err := run.Apply(call(uint64(fits), ids[fits], "works")); !errors.Is(err, ErrLoadFull) {
			t.Errorf("a call beyond the block's load gave %v", err)
		}
	})
}

// Even the least load of a block is twice the most load of a transaction: a transaction that found no room has room as
// the first in the next block.
func TestBlockLoadHoldsAnyTransaction(t *testing.T) {
	// the load of a module at all limits
	const largest = 12_000 + types.MaxCodeBytes + 40*5_000 + 100*(1_024+2_500+1_024)
	if most := params.LoadToStop + largest; most > leastCheapLoad ||
		2*leastCheapLoad > params.BlockLoad(params.MinGasLimit) {
		t.Errorf("a transaction may load %d, the least block %d", most, params.BlockLoad(params.MinGasLimit))
	}
	if got := params.BlockLoad(params.DefaultGasLimit); got != 31_250_000 {
		t.Errorf("a block of the default gas limit may load %d, want 31_250_000", got)
	}
}

// Each code is counted once, whatever the order and number of its uses.
func TestLoadsAreCountedOnce(t *testing.T) {
	var l loads
	for round := range 3 {
		for i := range 3 * fewCodes {
			l.add(types.CodeHash{byte(i)}, params.Load(i))
			if round > 0 {
				continue
			}
			if want := params.Load(i * (i + 1) / 2); l.sum != want || len(l.codes) != i+1 || !l.has(types.CodeHash{byte(i)}) ||
				l.has(types.CodeHash{byte(i + 1)}) {
				t.Fatalf("after %d codes the sum is %d of %d, want %d", i+1, l.sum, len(l.codes), want)
			}
		}
	}
	if len(l.codes) != 3*fewCodes {
		t.Errorf("%d codes", len(l.codes))
	}
}

// A value that a node is not expected to have in memory costs more to look up, whatever is done with it.
func TestLongValues(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "long", 0, map[string]script{
		"short": func(g *guest) { g.write("k", repeat(params.LongValue)) },
		"long":  func(g *guest) { g.write("k", repeat(params.LongValue+1)) },
		"read":  func(g *guest) { g.read("k") },
		"write": func(g *guest) { g.write("k", "v") },
		"clear": func(g *guest) { p, n := g.text(0, "k"); g.call(vm.StorageDelete, p, n) },
	})
	used := func(before, function string) types.Gas {
		c.outcome(c.run(id, before), Success, "")
		result := c.run(id, function)
		c.outcome(result, Success, "")
		return result.Receipts[0].GasUsed
	}
	for function, aByte := range map[string]types.Gas{"read": 16, "write": 16, "clear": 16} {
		if short, long := used("short", function), used("long", function); long-short != 25_000+aByte &&
			long-short != 25_000+aByte+1 {
			// copying one byte more may cost one gas more
			t.Errorf("%s: %d gas of a short value, %d of a long one", function, short, long)
		}
	}
}
