package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"
	"math/rand/v2"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// spread is code that exceeds every cache: many small functions, called in random order. In between is code that never
// runs.
var spread = []*shape{
	{name: "many", numbers: []number{{"functions", 1, 4_990}, {"op", 0, uint64(len(littles) - 1)}, {"parts", 1, 400},
		{"padding", 0, 200}, {"fill", 0, 2}, {"order", 0, 1_000}, {"table", 0, 1}}, build: buildMany},
	{name: "cases", numbers: []number{{"functions", 1, 2_000}, {"cases", 1, 120}, {"padding", 0, 200}, {"fill", 0, 2},
		{"turns", 1, 20}, {"order", 0, 1_000}}, build: buildCases},
}

// The functions of spread code before the generated ones.
const (
	spreadHost  = 0 // gas_left
	spreadIdle  = 1 // () → (), does nothing
	spreadFirst = 2
)

// little is a short instruction sequence. Local 0 is 0; locals 1 (i32) and 2 (i64) change.
type little struct {
	locals bool // whether it has locals
	write  func(i int, padding []byte) []byte
}

var littles = []little{
	{false, func(int, []byte) []byte { return nil }},
	{false, func(int, []byte) []byte { return Concat(Const(I32, 0), Op(MemoryGrow, 0), []byte{Drop}) }},
	{true, func(int, []byte) []byte { return Concat(Op(MemorySize, 0), Op(LocalSet, 1)) }},
	{false, func(_ int, padding []byte) []byte { return Concat([]byte{LoopOp, Empty}, padding, []byte{End}) }},
	{true, func(_ int, padding []byte) []byte {
		return Concat(Op(LocalGet, 0), []byte{IfOp, Empty}, padding, []byte{End})
	}},
	{false, func(_ int, padding []byte) []byte {
		return Concat([]byte{BlockOp, Empty}, Const(I32, 1), Op(BrIfOp, 0), padding, []byte{End})
	}},
	{false, func(_ int, padding []byte) []byte {
		return Concat([]byte{BlockOp, Empty}, Op(BrOp, 0), []byte{End}, padding)
	}},
	{true, func(_ int, padding []byte) []byte {
		return Concat(bytes.Repeat([]byte{BlockOp, Empty}, 2), Op(LocalGet, 0), BrTable(1, 1, 0), []byte{End}, padding,
			[]byte{End})
	}},
	{false, func(int, []byte) []byte { return Call(spreadIdle) }},
	{false, func(int, []byte) []byte { return Concat(Const(I32, 0), Op(CallIndirect, 0, 0)) }},
	{false, func(int, []byte) []byte { return Concat(Call(spreadHost), []byte{Drop}) }},
	{true, func(i int, _ []byte) []byte { return Concat(coldAddress(i), Op(I32Load, 0, 0), Op(LocalSet, 1)) }},
	{true, func(i int, _ []byte) []byte { return Concat(coldAddress(i), Op(LocalGet, 1), Op(0x3A, 0, 0)) }},
	{true, func(i int, _ []byte) []byte { return Concat(coldAddress(i), Op(LocalGet, 1), Op(I32Store, 0, 0)) }},
	{true, func(int, []byte) []byte {
		return Concat(Op(LocalGet, 1), Op(LocalGet, 1), Const(I32, 1), []byte{0x72 /* i32.or */, I32DivU}, Op(LocalSet, 1))
	}},
	{true, func(i int, _ []byte) []byte {
		return Concat(Op(LocalGet, 2), Const(I64, int64(i+1)*0x5555_5555_5555), []byte{I64Add}, Op(LocalTee, 2),
			Op(GlobalSet, 0))
	}},
	{true, func(int, []byte) []byte { // a loop of two turns
		return Concat([]byte{LoopOp, Empty}, Op(LocalGet, 1), Const(I32, 1), []byte{I32Add}, Op(LocalTee, 1), Const(I32, 1),
			[]byte{I32And}, Op(BrIfOp, 0), []byte{End})
	}},
	{false, func(int, []byte) []byte {
		return Concat(Op(GlobalGet, 0), Const(I64, 1), []byte{I64Add}, Op(GlobalSet, 0))
	}},
	{true, func(_ int, padding []byte) []byte {
		return Concat(Op(LocalGet, 0), []byte{IfOp, Empty}, padding, []byte{Unreachable, End})
	}},
	{true, func(_ int, padding []byte) []byte { // an unpredictable branch
		return Concat(Op(GlobalGet, 0), Const(I64, 6364136223846793005), []byte{I64Mul}, Const(I64, 1442695040888963407),
			[]byte{I64Add}, Op(LocalTee, 2), Op(GlobalSet, 0), Op(LocalGet, 2), Const(I64, 63), []byte{I64ShrU, I32WrapI64,
				IfOp, Empty}, padding[:0], []byte{End})
	}},
}

// coldAddress returns one of many addresses, some machine pages apart.
func coldAddress(i int) []byte { return Const(I32, int64(i)*4_160%1_000_000) }

// unused returns code that never runs and has much machine code for its length.
func unused(v values) []byte {
	return bytes.Repeat([][]byte{
		Call(spreadIdle),
		Concat(Const(I32, 0), Op(CallIndirect, 0, 0)),
		Concat(Const(I32, 1), Const(I32, 1), []byte{I32DivU, Drop}),
	}[v.of("fill")], v.of("padding"))
}

// spreadModule returns a module with the functions that spread code calls.
func spreadModule() *Module {
	m := newContract(16)
	m.AddImport(HostImport{Name: "gas_left", Result: I64})
	m.Globals = [][]byte{Global(I64, true, 0)}
	m.AddFunction(0, nil)
	m.Tables, m.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{Element(0, spreadIdle)}
	return m
}

// buildMany builds calls of many functions, directly or through a table.
func buildMany(v values) Candidate {
	m := spreadModule()
	n, op, padding := v.of("functions"), littles[v.of("op")], unused(v)
	var locals []byte
	if op.locals {
		locals = []byte{I32, I32, I64}
	}
	for i := range n {
		m.AddFunction(0, locals, each(v.of("parts"), func(k int) []byte { return op.write(i+k, padding) })...)
	}
	order := anOrder(n, v.of("order"))
	part := func(i int) []byte { return Call(uint32(spreadFirst + order[i])) }
	if v.of("table") == 1 {
		n = min(n, 2_500)
		order = anOrder(n, v.of("order"))
		targets := make([]uint32, n)
		for i := range targets {
			targets[i] = uint32(spreadFirst + i)
		}
		m.Tables, m.Elements = [][]byte{Concat([]byte{0x70, 0}, U32(uint32(n)))}, [][]byte{Element(0, targets...)}
		part = func(i int) []byte { return Concat(Const(I32, int64(order[i])), Op(CallIndirect, 0, 0)) }
	}
	m.Export("run", FunctionKind, m.AddFunction(0, nil, forever(each(n, part))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// anOrder returns the numbers below n, in random order if the seed is not 0.
func anOrder(n, seed int) []int {
	if seed > 0 {
		return rand.New(rand.NewPCG(uint64(seed), 2)).Perm(n)
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// callAll returns calls of n functions, beginning at first.
func callAll(first uint32, n, seed int) []byte {
	order := anOrder(n, seed)
	return each(n, func(i int) []byte { return Call(first + uint32(order[i])) })
}

// buildCases builds functions that branch to one of many cases at random, several times in a row.
func buildCases(v values) Candidate {
	m := spreadModule()
	n, padding := v.of("cases"), unused(v)
	targets := make([]uint32, n)
	for i := range targets {
		targets[i] = uint32(i)
	}
	// Local 0 is the random state, kept in global 0 between calls. Local 1 is 0.
	index := Concat(chance(), Const(I32, int64(n)), []byte{0x70 /* i32.rem_u */})
	cases := each(n, func(i int) []byte {
		return Concat([]byte{End}, Op(LocalGet, 1), []byte{IfOp, Empty}, padding, []byte{End}, Op(BrOp, uint32(n-1-i)))
	})
	one := Concat([]byte{BlockOp, Empty}, bytes.Repeat([]byte{BlockOp, Empty}, n), index, BrTable(0, targets...), cases,
		[]byte{End})
	body := Concat(Op(GlobalGet, 0), Op(LocalSet, 0), bytes.Repeat(one, fits(v.of("turns"), len(one), 20)),
		Op(LocalGet, 0), Op(GlobalSet, 0))
	functions := v.of("functions")
	for range functions {
		m.AddFunction(0, []byte{I64, I32}, body...)
	}
	m.Export("run", FunctionKind,
		m.AddFunction(0, nil, forever(callAll(spreadFirst, functions, v.of("order")))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}
