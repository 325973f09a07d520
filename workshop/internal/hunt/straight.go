package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// lines is code without merging control flow: chains of one instruction, memory accesses, calls.
var lines = []*shape{
	{name: "chain", numbers: []number{{"op", 0, uint64(len(chainable) - 1)}, {"parts", 1, 2_000}, {"square", 0, 1}},
		build: buildChain},
	{name: "stores", numbers: []number{{"op", 0, 6}, {"at", 0, 8_191}, {"step", 0, 8_192}, {"parts", 1, 1_000},
		{"load", 0, 1}}, build: buildStores},
	{name: "chase", numbers: []number{{"offset", 0, 63}, {"parts", 1, 1_000}, {"step", 1, 16_383}}, build: buildChase},
	{name: "calls", numbers: []number{{"params", 0, 98}, {"parts", 1, 2_000}, {"way", 0, 3}, {"live", 0, 98}},
		build: buildCalls},
	{name: "indirect", numbers: []number{{"functions", 1, 2_400}, {"parts", 1, 500}, {"padding", 0, 40}},
		build: buildIndirect},
	{name: "operands", numbers: []number{{"held", 1, 4_000}, {"op", 0, 2}}, build: buildOperands},
	{name: "unforeseen", numbers: []number{{"way", 0, 2}, {"parts", 1, 300}, {"targets", 2, 128}}, build: buildUnforeseen},
	{name: "footprint", numbers: []number{{"functions", 1, 120}, {"parts", 1, 3_000}, {"op", 0, 2}},
		build: buildFootprint},
	{name: "globals", numbers: []number{{"globals", 1, 2_000}, {"calls", 0, 8_000}, {"parts", 0, 400}},
		build: buildGlobals},
}

// chainable lists instructions with one or two i64 operands and an i64 result.
var chainable = [][]byte{
	{0x79}, {0x7A}, {0x7B}, {0xC2}, {0xC3}, {0xC4}, {i64Eqz, I64ExtendI32U},
	{I32WrapI64, 0x67, I64ExtendI32U}, {I32WrapI64, 0x68, I64ExtendI32U}, {I32WrapI64, 0x69, I64ExtendI32U},
	{I32WrapI64, 0xAC},
	// With two operands.
	{I64Add}, {I64Mul}, {0x7F}, {I64DivU}, {0x81}, {0x82}, {0x86}, {0x89}, {i64LtS, I64ExtendI32U},
}

const binaries = 11 // index of the first with two operands

// buildChain builds instructions that each depend on the previous one: on its result alone, or also on a local.
func buildChain(v values) Candidate {
	op := chainable[v.of("op")]
	part := op
	if v.of("op") >= binaries {
		if part = Concat(Op(LocalGet, 1), op); v.of("square") == 1 {
			part = Concat(Op(LocalTee, 0), Op(LocalGet, 0), Const(I64, 1), []byte{i64Or}, op)
		}
	}
	start := Concat(Const(I64, -77_777_777_777), Op(LocalSet, 1), Const(I64, -5), Op(LocalSet, 0))
	return single(1, manyI64(2), start, forever(Op(LocalGet, 0), bytes.Repeat(part, v.of("parts")), Op(LocalSet, 0)))
}

// buildStores builds stores of every width at addresses a step apart, across a page end if the offset is such.
func buildStores(v values) Candidate {
	op := []byte{I64Store, 0x3E, 0x3D, 0x3C, I32Store, 0x3B, 0x3A}[v.of("op")]
	value := Op(LocalGet, 0)
	if op == I32Store || op == 0x3B || op == 0x3A {
		value = Concat(value, []byte{I32WrapI64})
	}
	return single(16, manyI64(2), forever(each(v.of("parts"), func(i int) []byte {
		at := Const(I32, int64((i*v.of("step"))%(900<<10)))
		b := Concat(at, value, Op(op, 0, uint32(v.of("at"))))
		if v.of("load") == 1 {
			b = Concat(b, at, Op(I64Load, 0, uint32(v.of("at"))), Op(LocalSet, 0))
		}
		return b
	})))
}

// buildChase fills 1 MiB with a ring of addresses a step of cache lines apart, and follows it, so each load depends on
// the previous one.
func buildChase(v values) Candidate {
	const last = 16_383 // number of 64-byte lines less one
	offset := uint32(v.of("offset"))
	next := Concat(Op(LocalGet, 0), Const(I64, int64(v.of("step")|1)), []byte{I64Add}, Const(I64, last), []byte{i64And},
		Const(I64, 6), []byte{0x86})
	fill := Concat([]byte{LoopOp, Empty},
		Op(LocalGet, 0), Const(I64, 6), []byte{0x86, I32WrapI64}, next, []byte{I32WrapI64}, Op(I32Store, 0, offset),
		Op(LocalGet, 0), Const(I64, 1), []byte{I64Add}, Op(LocalTee, 0), Const(I64, last), []byte{0x54}, Op(BrIfOp, 0),
		[]byte{End})
	return single(16, manyI64(1), fill, Const(I64, 0), Op(LocalSet, 0), forever(
		Op(LocalGet, 0), []byte{I32WrapI64}, bytes.Repeat(Op(I32Load, 0, offset), v.of("parts")), []byte{I64ExtendI32U},
		Op(LocalSet, 0)))
}

// buildCalls builds calls of a function that ignores its params, adds them, or passes them on twice, or indirect calls,
// with locals live across the calls.
func buildCalls(v values) Candidate {
	m := newContract(1)
	m.Globals = [][]byte{Global(I64, true, 0)}
	n, live := v.of("params"), v.of("live")
	with := m.AddType(manyI64(n), 0)
	passed := func(shift int) []byte {
		return each(n, func(i int) []byte { return Op(LocalGet, uint32((i+shift)%n)) })
	}
	idle := m.AddFunction(with, nil)
	callee := idle
	switch v.of("way") {
	case 1:
		callee = m.AddFunction(with, nil, Concat(use(n), Op(GlobalSet, 0))...)
	case 2:
		callee = m.AddFunction(with, nil, Concat(passed(1), Call(idle), passed(3), Call(idle))...)
	}
	call := Call(callee)
	if v.of("way") == 3 {
		m.Tables, m.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{Element(0, idle)}
		call = Concat(Const(I32, 0), Op(CallIndirect, with, 0))
	}
	part := Concat(bytes.Repeat(Op(LocalGet, 0), n), call, update(1, live))
	m.Export("run", FunctionKind, m.AddFunction(0, manyI64(1+live),
		forever(bytes.Repeat(part, fits(v.of("parts"), len(part), 0)))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// chance advances local 0 (Knuth's MMIX) and pushes its upper bits as an i32.
func chance() []byte {
	return Concat(Op(LocalGet, 0), Const(I64, 6364136223846793005), []byte{I64Mul}, Const(I64, 1442695040888963407),
		[]byte{I64Add},
		Op(LocalTee, 0), Const(I64, 33), []byte{I64ShrU, I32WrapI64})
}

// buildIndirect builds random calls through a table. Padding is code in each function that never runs.
func buildIndirect(v values) Candidate {
	m := newContract(1)
	m.Globals = [][]byte{Global(I64, true, 0)}
	n := v.of("functions")
	padding := Concat(Op(GlobalGet, 0), []byte{I32WrapI64, IfOp, Empty}, bytes.Repeat(Concat(
		Const(I32, 0), Const(I32, 8), Op(I64Load, 0, 0), Const(I32, 16), Op(I64Load, 0, 0), []byte{I64Mul},
		Op(I64Store, 0, 0)),
		min(v.of("padding"), 200_000/n/14)), []byte{End})
	targets := make([]uint32, n)
	for i := range targets {
		targets[i] = m.AddFunction(0, nil, padding...)
	}
	m.Tables, m.Elements = [][]byte{Concat([]byte{0x70, 0}, U32(uint32(n)))}, [][]byte{Element(0, targets...)}
	part := Concat(chance(), Const(I32, int64(n)), []byte{0x70 /* i32.rem_u */}, Op(CallIndirect, 0, 0))
	m.Export("run", FunctionKind, m.AddFunction(0, manyI64(1),
		forever(bytes.Repeat(part, fits(v.of("parts"), len(part), 0)))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// buildOperands builds code with many live operands: sums, loads, or the operands of stores.
func buildOperands(v values) Candidate {
	n := v.of("held")
	sums := bytes.Repeat([]byte{i64Xor}, n-1)
	switch v.of("op") {
	case 1:
		n = min(n, 2_500)
		return single(1, manyI64(1), forever(each(n, func(i int) []byte {
			return Concat(Const(I32, int64(i*8)),
				Op(I64Load, 3, 0))
		}), sums[:n-1], Op(LocalSet, 0)))
	case 2:
		n = min(n, 1_500)
		held := each(n, func(i int) []byte {
			return Concat(Const(I32, int64(i*8)), Op(LocalGet, 0), Const(I64, int64(i)), []byte{I64Add})
		})
		return single(1, manyI64(1), forever(held, bytes.Repeat(Op(I64Store, 3, 0), n)))
	}
	n = min(n, 3_500)
	return single(1, manyI64(1), forever(each(n, func(i int) []byte {
		return Concat(Op(LocalGet, 0), Const(I64, int64(i)), []byte{I64Add})
	}), sums[:n-1], Op(LocalSet, 0)))
}

// buildUnforeseen builds unpredictable ifs, br_ifs and br_tables.
func buildUnforeseen(v values) Candidate {
	bit := Concat(chance(), Const(I32, 1), []byte{I32And})
	var part []byte
	switch v.of("way") {
	case 0:
		part = Concat(bit, []byte{IfOp, Empty}, Op(LocalGet, 1), Const(I64, 1), []byte{I64Add}, Op(LocalSet, 1), []byte{End})
	case 1:
		part = Concat([]byte{BlockOp, Empty}, bit, Op(BrIfOp, 0), []byte{End})
	case 2:
		n := v.of("targets")
		targets := make([]uint32, n)
		for i := range targets {
			targets[i] = uint32(i * 7 % min(n, 100))
		}
		part = Concat(bytes.Repeat([]byte{BlockOp, Empty}, min(n, 100)), chance(), Const(I32, 127), []byte{I32And},
			BrTable(0, targets...),
			bytes.Repeat([]byte{End}, min(n, 100)))
	}
	return single(1, manyI64(2), forever(bytes.Repeat(part, fits(v.of("parts"), len(part), 0))))
}

// buildFootprint executes more machine code than a core's caches hold.
func buildFootprint(v values) Candidate {
	m := newContract(1)
	m.Globals = [][]byte{Global(I64, true, 0)}
	part := func(i int) []byte {
		switch v.of("op") {
		case 0:
			return Concat(Op(LocalGet, uint32(i&1)), Const(I64, int64(i)*77_777_777_777), []byte{I64Add},
				Op(LocalSet, uint32(i&1)))
		case 1:
			return Concat(Const(I32, int64(i*8%60_000)), Op(I64Load, 3, 0), Op(LocalSet, 0))
		}
		return Concat([]byte{BlockOp, Empty}, never(0), Op(BrIfOp, 0), []byte{End})
	}
	functions := v.of("functions")
	body := each(fits(v.of("parts"), 16, 20), part)
	functions = max(1, min(functions, 240_000/(len(body)+20)))
	body = Concat(body, use(2), Op(GlobalSet, 0)) // otherwise a compiler omits it
	for range functions {
		m.AddFunction(0, manyI64(2), body...)
	}
	run := each(functions, func(i int) []byte { return Call(uint32(i)) })
	m.Export("run", FunctionKind, m.AddFunction(0, nil, forever(run)...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// buildGlobals builds globals that change around calls: a compiler reloads each after each call.
func buildGlobals(v values) Candidate {
	m := newContract(1)
	n := v.of("globals")
	for i := range n {
		m.Globals = append(m.Globals, Global(I64, true, int64(i)))
	}
	m.AddFunction(0, nil)
	calls := bytes.Repeat(Call(0), v.of("calls"))
	changes := each(v.of("parts"), func(i int) []byte {
		g := uint32(i * 7 % n)
		return Concat(Op(GlobalGet, g), Const(I64, 1), []byte{I64Add}, Op(GlobalSet, g))
	})
	m.Export("run", FunctionKind, m.AddFunction(0, nil, forever(calls, changes, Call(0))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}
