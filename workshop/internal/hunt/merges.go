package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// merges is code whose control flow merges with many live locals: a compiler moves each local at each merge.
var merges = []*shape{
	{name: "ladder", numbers: []number{{"width", 1, 98}, {"depth", 2, 126}, {"ladders", 1, 4}},
		build: func(v values) Candidate {
			n := v.of("width")
			zero := Op(LocalGet, uint32(n))
			return single(1, manyI64(n+1), forever(each(v.of("ladders"),
				func(int) []byte { return ladder(v.of("depth"), zero, 0, n) })),
				use(n), Op(GlobalSet, 0))
		}},
	{name: "arms", numbers: []number{{"width", 1, 98}, {"arms", 1, 200}, {"way", 0, 3}, {"rotate", 0, 1}},
		build: buildArms},
	{name: "backedge", numbers: []number{{"width", 1, 98}, {"way", 0, 3}, {"turns", 2, 10_000}, {"depth", 1, 120}},
		build: buildBackEdge},
	{name: "straight", numbers: []number{{"width", 1, 98}, {"parts", 1, 400}, {"rotate", 0, 1}},
		build: func(v values) Candidate {
			n, part := v.of("width"), update
			if v.of("rotate") == 1 {
				part = rotate
			}
			return single(1, manyI64(n+1), forever(bytes.Repeat(part(0, n), fits(v.of("parts"), 8*n, 0))))
		}},
	{name: "recursion", numbers: []number{{"width", 1, 98}, {"depth", 2, 126}, {"ladders", 0, 3}, {"live", 0, 1}},
		build: buildRecursion},
	{name: "permute", numbers: []number{{"live", 1, 90}, {"arms", 1, 100}, {"way", 0, 2}, {"step", 1, 13}},
		build: buildPermute},
}

// buildArms builds arms that are never executed: of an if, beside a br_if, after an else, or of an if with a result.
func buildArms(v values) Candidate {
	n, change := v.of("width"), update
	if v.of("rotate") == 1 {
		change = rotate
	}
	arm := change(0, n)
	always := Concat(Op(LocalGet, uint32(n)), []byte{i64Eqz})
	var b []byte
	switch v.of("way") {
	case 0:
		b = Concat(never(n), []byte{IfOp, Empty}, arm, []byte{End})
	case 1:
		b = Concat([]byte{BlockOp, Empty}, always, Op(BrIfOp, 0), arm, []byte{End})
	case 2:
		b = Concat(always, []byte{IfOp, Empty, Else}, arm, []byte{End})
	case 3:
		b = Concat(never(n), []byte{IfOp, I64}, arm, Const(I64, 1), []byte{Else}, Const(I64, 2), []byte{End, Drop})
	}
	return single(1, manyI64(n+1), forever(bytes.Repeat(b, fits(v.of("arms"), len(b), 0))))
}

// buildBackEdge builds loops with many locals. Some have an arm, never executed, as another path; others are nested and
// left at once, or have locals that change.
func buildBackEdge(v values) Candidate {
	n, counter := v.of("width"), uint32(v.of("width")+1)
	again := Concat(Op(LocalGet, counter), Const(I64, 1), []byte{I64Add}, Op(LocalTee, counter),
		Const(I64, int64(v.of("turns"))), []byte{0x54 /* i64.lt_u */}, Op(BrIfOp, 0))
	arm := Concat(never(n), []byte{IfOp, Empty}, rotate(0, n), []byte{End})
	var inner []byte
	switch v.of("way") {
	case 0:
		inner = Concat([]byte{LoopOp, Empty}, arm, again, []byte{End})
	case 1:
		inner = Concat([]byte{LoopOp, Empty}, again, never(n), []byte{IfOp, Empty}, rotate(0, n), Op(BrOp, 1),
			[]byte{End, End})
	case 2:
		depth := v.of("depth")
		inner = Concat(bytes.Repeat([]byte{LoopOp, Empty}, depth), arm,
			bytes.Repeat(Concat(never(n), Op(BrIfOp, 0), []byte{End}), depth))
	case 3:
		inner = Concat([]byte{LoopOp, Empty}, rotate(0, n), again, []byte{End})
	}
	return single(1, manyI64(n+2), forever(inner, Const(I64, 0), Op(LocalSet, counter)))
}

// buildRecursion builds a function with a large frame that recurses until the stack overflows.
func buildRecursion(v values) Candidate {
	m := newContract(1)
	m.Globals = [][]byte{Global(I64, true, 0)}
	n, self := v.of("width"), Call(0)
	zero := Op(LocalGet, uint32(n))
	body := each(n, func(i int) []byte {
		return Concat(Op(GlobalGet, 0), Const(I64, int64(i)), []byte{I64Add}, Op(LocalSet, uint32(i)))
	})
	body = Concat(body, each(v.of("ladders"), func(int) []byte { return ladder(v.of("depth"), zero, 0, n) }))
	if v.of("live") == 1 {
		body = Concat(use(n), self, Op(GlobalSet, 0), body) // an operand live across the call
	}
	m.Export("run", FunctionKind, m.AddFunction(0, manyI64(n+1), Concat(body, self, use(n), Op(GlobalSet, 0))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// buildPermute builds arms after a call, never executed, that use live values in another order, so registers must be
// restored.
func buildPermute(v values) Candidate {
	n, step := v.of("live"), v.of("step")
	arm := func(k int) []byte {
		return Concat(Const(I64, 0), each(n, func(j int) []byte {
			return Concat(Op(LocalGet, uint32((j*step+k*7)%n)), []byte{i64Xor})
		}), Op(GlobalSet, 0))
	}
	always := Concat(Op(LocalGet, uint32(n)), []byte{i64Eqz})
	one := func(k int) []byte {
		switch v.of("way") {
		case 0:
			return Concat(never(n), []byte{IfOp, Empty}, Call(0), arm(k), []byte{End})
		case 1:
			return Concat([]byte{BlockOp, Empty}, always, Op(BrIfOp, 0), Call(0), arm(k), []byte{End})
		}
		return Concat(always, []byte{IfOp, Empty, Else}, Call(0), arm(k), []byte{End})
	}
	m := newContract(1)
	m.Globals = [][]byte{Global(I64, true, 0)}
	m.AddFunction(0, nil)
	start := each(n, func(i int) []byte {
		return Concat(Op(GlobalGet, 0), Const(I64, int64(i+3)), []byte{I64Mul}, Op(LocalSet, uint32(i)))
	})
	arms := each(fits(v.of("arms"), len(one(1))+8, 10*n), one)
	m.Export("run", FunctionKind, m.AddFunction(0, manyI64(n+1), Concat(start, forever(arms, arm(5)))...))
	return Candidate{Code: m.Encode(), Copies: 1}
}
