package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

func manyI32(n int) []byte { return bytes.Repeat([]byte{I32}, n) }
func manyI64(n int) []byte { return bytes.Repeat([]byte{I64}, n) }

// each concatenates the results of n calls of part.
func each(n int, part func(i int) []byte) (b []byte) {
	for i := range n {
		b = append(b, part(i)...)
	}
	return b
}

// forever returns an infinite loop of instructions.
func forever(body ...[]byte) []byte {
	return Concat([]byte{LoopOp, Empty}, Concat(body...), Op(BrOp, 0), []byte{End})
}

// rotate rotates the values of n locals by one.
func rotate(from, n int) []byte {
	return Concat(
		each(n, func(i int) []byte { return Op(LocalGet, uint32(from+(i+1)%n)) }),
		each(n, func(i int) []byte { return Op(LocalSet, uint32(from+n-1-i)) }))
}

// update sets n locals, each to its neighbour plus one.
func update(from, n int) []byte {
	return each(n, func(i int) []byte {
		return Concat(Op(LocalGet, uint32(from+(i+1)%n)), Const(I64, 1), []byte{I64Add}, Op(LocalSet, uint32(from+i)))
	})
}

// use returns a result computed from n locals, so that none is dead.
func use(n int) []byte {
	return Concat(Const(I64, 0), each(n, func(i int) []byte { return Concat(Op(LocalGet, uint32(i)), []byte{i64Xor}) }))
}

// never returns a condition that is false, from a local that is 0.
func never(zero int) []byte { return Concat(Op(LocalGet, uint32(zero)), []byte{I32WrapI64}) }

// ladder returns nested blocks, all of which are targets of a br_table that leaves the innermost, followed by a
// rotation that is never executed. The values of n locals merge at every end. zero pushes an i64 of 0.
func ladder(depth int, zero []byte, from, n int) []byte {
	targets := make([]uint32, depth-1)
	for i := range targets {
		targets[i] = uint32(i)
	}
	index := Concat(zero, []byte{I32WrapI64})
	return Concat(
		bytes.Repeat([]byte{BlockOp, Empty}, depth), index, BrTable(uint32(depth-1), targets...), []byte{End},
		index, []byte{IfOp, Empty}, rotate(from, n), []byte{End},
		bytes.Repeat([]byte{End}, depth-1))
}

// single returns a contract with one exported function.
func single(pages int, locals []byte, body ...[]byte) Candidate {
	m := newContract(pages)
	m.Globals = [][]byte{Global(I64, true, 0)}
	m.Export("run", FunctionKind, m.AddFunction(0, locals, Concat(body...)...))
	return Candidate{Code: m.Encode(), Copies: 1}
}

// fits returns how often a part of a given size fits into a body beside others, at most n times.
func fits(n, part, others int) int { return max(1, min(n, (32_000-others)/part)) }
