package main

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// measured is a contract to measure.
type measured struct {
	name      string
	candidate hunt.Candidate
}

// cases returns ordinary operations, which show the cost without an attacker, and the whole corpus of the hunt.
func cases() (all []measured) {
	all = instructions()
	for _, g := range hunt.Corpus() {
		all = append(all, measured{g.String(), g.Build()})
	}
	return all
}

// instructions returns loops of 50 copies of the same few instructions.
func instructions() (all []measured) {
	get, set := Op(LocalGet, 0), Op(LocalSet, 0)
	for _, c := range []struct {
		name   string
		locals []byte
		body   []byte
	}{
		{"additions", []byte{I64}, Concat(get, get, []byte{I64Add}, set)},
		{"multiplications", []byte{I64}, Concat(get, Const(I64, 3), []byte{I64Mul}, set)},
		{"divisions of 32 bits", []byte{I32}, Concat(Const(I32, -1), get, Const(I32, 3), []byte{I32Add, I32DivU}, set)},
		{"divisions of 64 bits", []byte{I64}, Concat(Const(I64, -1), get, Const(I64, 3), []byte{I64Add, I64DivU}, set)},
		{"globals", []byte{I32}, Concat(Op(GlobalGet, 0), Const(I32, 1), []byte{I32Add}, Op(GlobalSet, 0))},
		{"br_ifs that nobody can foresee", []byte{I64}, Concat([]byte{BlockOp, Empty}, random(), Op(BrIfOp, 0), []byte{End})},
		{
			"ifs that nobody can foresee", []byte{I64},
			Concat(random(), []byte{IfOp, Empty}, Op(GlobalGet, 0), Op(GlobalSet, 0), []byte{End}),
		},
		{"br_tables that nobody can foresee", []byte{I64}, Concat(
			bytes.Repeat([]byte{BlockOp, Empty}, 4), random(), BrTable(0, 1, 2, 3, 0, 2, 1, 3, 0), bytes.Repeat([]byte{End}, 4),
		)},
	} {
		all = append(all, measured{c.name, repeated(c.locals, c.body)})
	}
	return all
}

// random pushes a pseudorandom number from 0 to 7, from a generator in local 0 (Knuth's MMIX).
func random() []byte {
	return Concat(Op(LocalGet, 0), Const(I64, 6364136223846793005), []byte{I64Mul}, Const(I64, 1442695040888963407),
		[]byte{I64Add},
		Op(LocalTee, 0), Const(I64, 61), []byte{I64ShrU, I32WrapI64})
}

// repeated returns a contract that runs 50 copies of instructions in an infinite loop.
func repeated(locals, body []byte) hunt.Candidate {
	m := Contract(1, 1)
	m.Globals = [][]byte{Global(I32, true, 0)}
	loop := Concat([]byte{LoopOp, Empty}, bytes.Repeat(body, 50), Op(BrOp, 0), []byte{End})
	m.Export("run", FunctionKind, m.AddFunction(m.AddType(nil, 0), locals, loop...))
	return hunt.Candidate{Code: m.Encode(), Copies: 1}
}
