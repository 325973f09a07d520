package fuzz_test

import (
	"fmt"
	"math/bits"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/kit/contracttest/fuzz"
	"github.com/cairn-chain/cairn/types"
)

type args = map[string]any

// module is a compiled contract of contracts/wasm.
func module(t testing.TB, name string) []byte {
	t.Helper()
	code, err := os.ReadFile("../../../contracts/wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func token(w *fuzz.World, from contracttest.Account, name string) *contracttest.Contract {
	w.T.Helper()
	return w.Deploy(from, name, module(w.T, "nep20"), args{
		"name": name, "symbol": name, "decimals": 0, "initialSupply": 1_000_000,
	})
}

// market trades two goods, and must never give more than it gets.
func market(w *fuzz.World) {
	alice := w.Actor("alice")
	k := w.Deploy(alice, "market", module(w.T, "market"), args{"a": 1_000_000, "b": 2_000_000})
	w.Target(k)
	w.Invariant("the product of the reserves never falls", func(v *fuzz.View) error {
		var reserves [2]abi.Uint64
		v.Read(k, "reserves", nil, &reserves)
		if high, low := bits.Mul64(uint64(reserves[0]), uint64(reserves[1])); high == 0 && low < 2_000_000_000_000 {
			return fmt.Errorf("it is that of %d and %d", reserves[0], reserves[1])
		}
		return nil
	})
}

// sealed returns the setup of a sealed-bid auction. The auction must hold the coins of each opened bid.
func sealed(code string) func(*fuzz.World) {
	return func(w *fuzz.World) {
		alice := w.Actor("alice")
		w.Actor("bob")
		k := w.Deploy(alice, "auction", module(w.T, code), nil)
		w.Target(k)
		w.Invariant("opened bids are paid for", func(v *fuzz.View) error {
			if opened, has := v.Uint(k, "opened", nil), uint64(v.Balance(k.Account())); opened > has {
				return fmt.Errorf("%d were opened, and %d are there", opened, has)
			}
			return nil
		})
	}
}

// bank owes the coins paid in, and must have them.
func bank(w *fuzz.World) {
	alice, bob := w.Actor("alice"), w.Actor("bob")
	k := w.Deploy(alice, "bank", module(w.T, "bank"), nil)
	k.Call(bob, "deposit", nil, contracttest.Options{Value: 1_000}).Must(w.T)
	w.Target(k)
	mallory := w.Adversary("mallory", abi.ABI{Functions: []abi.Function{{Name: "received", Mode: abi.Write}}})
	w.Invariant("the bank has what it owes", func(v *fuzz.View) error {
		has, owes := uint64(v.Balance(k.Account())), uint64(0)
		for _, account := range []types.Account{alice.Account, bob.Account, mallory} {
			owes += v.Uint(k, "owed", args{"address": account})
		}
		if has < owes {
			return fmt.Errorf("it has %d and owes %d", has, owes)
		}
		return nil
	})
}

// router swaps silver for bob, who once allowed it to take gold too.
func router(w *fuzz.World) {
	bob := w.Actor("bob")
	gold, silver := token(w, bob, "gold"), token(w, bob, "silver")
	router := w.Deploy(bob, "router", module(w.T, "oldrouter"), nil)
	for _, k := range []*contracttest.Contract{gold, silver} {
		k.Call(bob, "approve", args{"spender": router.Account(), "amount": 1_000}).Must(w.T)
	}
	w.Target(router, "swap")
	w.Choose(router, "swap", "token", "silver")
	pool, err := abi.FromCode(module(w.T, "oldpool"))
	if err != nil {
		w.T.Fatal(err)
	}
	w.Adversary("stranger", pool)
	w.Invariant("bob swaps silver and keeps his gold", func(v *fuzz.View) error {
		if left := v.Uint(gold, "balanceOf", args{"address": bob}); left < 1_000_000 {
			return fmt.Errorf("he has %d", left)
		}
		return nil
	})
}

// pool takes coins that bob adds, and must give them back.
func pool(w *fuzz.World) {
	eve, bob := w.Actor("eve"), w.Chain.Account("bob")
	a, b := token(w, eve, "A"), token(w, eve, "B")
	pool := w.Deploy(eve, "pool", module(w.T, "oldpool"), args{"tokenA": a.Account(), "tokenB": b.Account()})
	router := w.Deploy(eve, "router", module(w.T, "oldrouter"), nil)
	for _, token := range []*contracttest.Contract{a, b} {
		token.Call(eve, "transfer", args{"to": bob, "amount": 200_000}).Must(w.T)
		for _, spender := range []types.Account{pool.Account(), router.Account()} {
			token.Call(eve, "approve", args{"spender": spender, "amount": 800_000}).Must(w.T)
			token.Call(bob, "approve", args{"spender": spender, "amount": 200_000}).Must(w.T)
		}
	}
	w.Target(pool, "add", "remove")
	w.Target(router, "swap")
	w.Invariant("who adds and removes at once loses at most 1 %", func(v *fuzz.View) error {
		has := func() uint64 { return v.Uint(a, "balanceOf", args{"address": bob}) }
		before := has()
		added := v.Try(bob.Account, pool, "add", args{"amountA": 100_000, "maxB": 200_000})
		if !added.OK {
			return nil // it accepts less now
		}
		v.Try(bob.Account, pool, "remove", args{"shares": string(added.Output)})
		if left := has(); before-left > 1_000 {
			return fmt.Errorf("bob has %d of %d", left, before)
		}
		return nil
	})
}

// trapping is a contract with a function that traps.
func trapping(w *fuzz.World) {
	m := wasmgen.Contract(1, 1)
	m.Export("stop", wasmgen.FunctionKind, m.AddFunction(m.AddType(nil, 0), nil, wasmgen.Unreachable))
	described := append(wasmgen.Name("cairn_abi"), `{"functions":[{"name":"stop","mode":"write"}]}`...)
	code := append(m.Encode(), wasmgen.Section(0, described)...)
	w.Target(w.Deploy(w.Actor("alice"), "trap", code, nil))
}

// sealedBy is a function open(key u64) in the binary form that acts as opened does if the key is that number.
func sealedBy(key int64, opened ...byte) []byte {
	m := wasmgen.Contract(1, 1)
	read := m.AddImport(wasmgen.HostImport{Name: "args_read", Params: []byte("\x7f")})
	const i64Eq = 0x51
	m.Export("open", wasmgen.FunctionKind, m.AddFunction(m.AddType(nil, 0), nil, wasmgen.Concat(
		wasmgen.Const(wasmgen.I32, 7), wasmgen.Call(read), // the number follows the byte that marks the form
		wasmgen.Const(wasmgen.I32, 8), []byte{wasmgen.I64Load, 3, 0}, wasmgen.Const(wasmgen.I64, key),
		[]byte{i64Eq, wasmgen.IfOp, wasmgen.Empty}, opened, []byte{wasmgen.End})...))
	described := append(wasmgen.Name("cairn_abi"),
		`{"functions":[{"name":"open","mode":"write","args":[{"name":"key","type":"u64"}]}],"binary":true}`...)
	return append(m.Encode(), wasmgen.Section(0, described)...)
}

// careless has functions that panic and stop, and one that continues after any failure of the first.
func careless(w *fuzz.World) {
	w.T.Helper()
	alice := w.Actor("alice")
	m := wasmgen.Contract(1, 1)
	const panics = "the contract panicked"
	m.Data = [][]byte{wasmgen.Data(0, panics), wasmgen.Data(64, "panics"), wasmgen.Data(80, "no")}
	revert := m.AddImport(wasmgen.HostImport{Name: "revert", Params: []byte("\x7f\x7f")})
	call := m.AddImport(wasmgen.HostImport{
		Name: "call", Params: []byte("\x7f\x7f\x7f\x7f\x7f\x7e\x7e"), Result: wasmgen.I32,
	})
	read := m.AddImport(wasmgen.HostImport{Name: "args_read", Params: []byte("\x7f")})
	i32 := func(values ...int64) (b []byte) {
		for _, v := range values {
			b = append(b, wasmgen.Const(wasmgen.I32, v)...)
		}
		return b
	}
	export := func(name string, code ...[]byte) {
		m.Export(name, wasmgen.FunctionKind, m.AddFunction(m.AddType(nil, 0), nil, wasmgen.Concat(code...)...))
	}
	export("panics", i32(0, int64(len(panics))), wasmgen.Call(revert))
	export("refuses", i32(80, 2), wasmgen.Call(revert))
	export("stops", []byte{wasmgen.Unreachable})
	const drop = 0x1A
	export("tries", i32(127), wasmgen.Call(read), i32(128, 64, 6, 0, 0), wasmgen.Const(wasmgen.I64, 0),
		wasmgen.Const(wasmgen.I64, -1), wasmgen.Call(call), []byte{drop})
	described := append(wasmgen.Name("cairn_abi"), `{"functions":[{"name":"panics","mode":"write"},`+
		`{"name":"refuses","mode":"write"},{"name":"stops","mode":"write"},`+
		`{"name":"tries","mode":"write","args":[{"name":"of","type":"account"}]}],"binary":true}`...)
	code := append(m.Encode(), wasmgen.Section(0, described)...)
	w.Deploy(alice, "inner", code, nil)
	w.Target(w.Deploy(alice, "outer", code, nil), "refuses", "tries", "stops")
}
