package contracttest_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"slices"
	"testing"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/kit/contracttest"
)

const i64Eqz = 0x50

// branching has a function that branches on whether it received coins, and traps if not.
func branching() []byte {
	m := Contract(1, 1)
	value := uint32(len(m.Imports))
	m.Imports = append(m.Imports, ImportFunction("cairn", "value", m.AddType(nil, I64)))
	body := Concat(Call(value), []byte{i64Eqz, IfOp, Empty, Unreachable, Else, Nop, End})
	m.Export("pay", FunctionKind, m.AddFunction(m.AddType(nil, 0), nil, body...))
	m.Export("never", FunctionKind, m.AddFunction(m.AddType(nil, 0), nil, Nop))
	return m.Encode()
}

// ranBlocks returns the blocks of branching that ran.
func ranBlocks(t *testing.T, code []byte) (ran []bool) {
	t.Helper()
	blocks, err := contracttest.Coverage(code)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range blocks {
		if b.From >= b.To || b.To > len(code) || i > 0 && b.Function < blocks[i-1].Function {
			t.Errorf("block %d is %+v", i, b)
		}
		ran = append(ran, b.Ran)
	}
	return ran
}

func TestCoverage(t *testing.T) {
	code := branching()
	chain := contracttest.New(t)
	chain.Cover()
	alice := chain.Account("alice")
	k := chain.Deploy(alice, code, nil)
	// Blocks: up to the if, its first branch, its second branch, where both join, never executed.
	if ran := ranBlocks(t, code); !slices.Equal(ran, []bool{false, false, false, false, false}) {
		t.Errorf("after the deploy %v ran", ran)
	}
	if r := k.Call(alice, "pay", nil, contracttest.Options{Gas: 1_000_000}); r.Reason != "trap" {
		t.Fatalf("got %+v, want Reason trap", r)
	}
	if ran := ranBlocks(t, code); !slices.Equal(ran, []bool{true, true, false, false, false}) {
		t.Errorf("after a trap %v ran", ran)
	}
	stage := chain.Rehearse()
	if r := stage.Call(alice.Account, k.ID, "pay", nil, 1); !r.OK {
		t.Fatalf("got %+v", r)
	}
	if ran := ranBlocks(t, code); !slices.Equal(ran, []bool{true, true, true, true, false}) {
		t.Errorf("after both ways %v ran", ran)
	}
	if _, err := contracttest.Coverage([]byte("no module")); err == nil {
		t.Error("what is no module has blocks")
	}
}

// TestCoverageChangesNothing makes the same calls of a real contract with and without coverage.
func TestCoverageChangesNothing(t *testing.T) {
	code, err := os.ReadFile("../../contracts/wasm/nep20.wasm")
	if err != nil {
		t.Fatal(err)
	}
	play := func(chain *contracttest.Chain) (results []contracttest.Result) {
		alice, bob := chain.Account("alice"), chain.Account("bob")
		k, r := chain.TryDeploy(alice, code, map[string]any{
			"name": "Gold", "symbol": "GLD", "decimals": 0, "initialSupply": 1_000,
		})
		results = append(results, r)
		for _, amount := range []uint64{1, 999, 1_000} {
			results = append(results, k.Call(alice, "transfer", map[string]any{"to": bob, "amount": amount}))
		}
		return append(results, k.View("totalSupply", nil))
	}
	plain := play(contracttest.New(t))
	chain := contracttest.New(t)
	chain.Cover()
	for i, r := range play(chain) {
		if r.GasUsed != plain[i].GasUsed || r.Reason != plain[i].Reason || string(r.Output) != string(plain[i].Output) {
			t.Errorf("call %d: %+v, without notes %+v", i, r, plain[i])
		}
	}
	ran := ranBlocks(t, code)
	if !slices.Contains(ran, true) || !slices.Contains(ran, false) {
		t.Errorf("of %d blocks all or none ran", len(ran))
	}
}

// TestStops calls a function, which returns, and then one that traps within another.
func TestStops(t *testing.T) {
	m := Contract(1, 1)
	procedure := m.AddType(nil, 0)
	first := uint32(len(m.Imports) + len(m.Functions))
	m.AddFunction(procedure, nil, Nop)
	m.AddFunction(procedure, nil, Concat(Const(I32, 7), []byte{IfOp, Empty}, Call(first), Op(Unreachable), Op(End))...)
	m.Export("outer", FunctionKind, m.AddFunction(procedure, nil, Concat(Op(Nop), Call(first), Call(first+1))...))
	m.Export("fine", FunctionKind, m.AddFunction(procedure, nil, Call(first)...))
	code := m.Encode()
	chain := contracttest.New(t)
	if r := chain.Deploy(chain.Account("alice"), code, nil).View("outer", nil); r.Reason != "trap" || r.Stops != nil {
		t.Errorf("without notes: got %+v, want Reason trap and Stops nil", r)
	}
	chain.Cover()
	k := chain.Deploy(chain.Account("alice"), code, nil)
	stage := chain.Rehearse()
	for name, r := range map[string]contracttest.Result{
		"a call": k.Call(chain.Account("alice"), "outer", nil), "a view": k.View("outer", nil),
		"a rehearsal": stage.View(k.ID, "outer", nil),
	} {
		if r.Reason != "trap" || len(r.Stops) != 1 || r.Stops[0].Code != sha256.Sum256(code) {
			t.Fatalf("%s: got %+v, want Reason trap and 1 stop and Code %v", name, r, sha256.Sum256(code))
		}
		places := r.Stops[0].Places
		if len(places) != 2 || places[0].Function != 1 || places[1].Function != 2 {
			t.Fatalf("%s stopped in %+v", name, places)
		}
		if at := places[0].At; code[at] != Unreachable {
			t.Errorf("%s: the inner function stopped at %x", name, code[at:])
		}
		if at := places[1].At; !bytes.HasPrefix(code[at:], Call(first+1)) {
			t.Errorf("%s: the outer function stopped at %x", name, code[at:])
		}
	}
	if r := k.View("fine", nil); !r.OK || r.Stops != nil {
		t.Errorf("a call that succeeds: got %+v", r)
	}
}
