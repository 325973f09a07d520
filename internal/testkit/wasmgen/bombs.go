package wasmgen

import "bytes"

// Bomb is a contract that is hard on whoever compiles it, within the limits of modules.
type Bomb struct {
	Name   string
	Module *Module
}

const (
	bodyLimit = 32_768
	codeLimit = 262_144
)

// Bombs makes modules that take as much work to compile for their size as is known.
func Bombs() []Bomb {
	locals := func(n int) []byte { return bytes.Repeat([]byte{I32}, n) }
	live := func(n int) (b []byte) { // a use of every local
		for i := range n {
			b = Concat(b, Op(LocalGet, uint32(i)), Op(LocalGet, uint32((i+1)%n)), Op(I32Add), Op(LocalSet, uint32(i)))
		}
		return b
	}
	branches := Concat(Op(LocalGet, 0), Op(IfOp), []byte{Empty}, Op(LocalGet, 98), Op(LocalSet, 99), Op(End))
	var nest []byte
	for range 128 {
		nest = Concat(nest, Op(LoopOp), []byte{Empty}, Op(LocalGet, 0), Op(BrIfOp, 0))
	}
	nest = Concat(nest, live(100), bytes.Repeat([]byte{End}, 128))
	targets := make([]uint32, 256)
	for i := range targets {
		targets[i] = uint32(i % 2)
	}
	table := Concat(Op(BlockOp), []byte{Empty}, Op(LocalGet, 0), BrTable(0, targets...), Op(End))
	empty := func() *Module {
		m := Contract(1, 1)
		m.AddType(nil, 0)
		return m
	}
	// fill adds functions of one repeated part, each as long as a body may be, until the code is as long as it may be.
	fill := func(m *Module, locals, part []byte) *Module {
		n := (bodyLimit - 2*len(locals) - 4) / len(part)
		for size := 0; size+n*len(part)+500 < codeLimit; size += n*len(part) + 2*len(locals) + 10 {
			m.AddFunction(0, locals, bytes.Repeat(part, n)...)
		}
		m.Export("run", FunctionKind, 0)
		return m
	}
	globals := empty()
	globals.AddFunction(0, nil)
	for range 52_000 {
		globals.Globals = append(globals.Globals, []byte{I32, 1, I32Const, 0, End})
	}
	tiny := empty()
	for range 5_000 {
		tiny.AddFunction(0, nil)
	}
	wide := empty()
	params := wide.AddType(locals(100), 0)
	wide.AddFunction(params, nil)
	exports := empty()
	exports.AddFunction(0, nil)
	for i := range 36_000 {
		exports.Export(string([]byte{byte('a' + i%26), byte('a' + i/26%26), byte('a' + i/676%26), byte('a' + i/17576)}), FunctionKind, 0)
	}
	return []Bomb{
		{"arithmetic", fill(empty(), locals(2), Concat(Op(LocalGet, 0), Op(LocalGet, 1), Op(I32Add), Op(LocalSet, 0)))},
		{"branches over 100 locals", fill(empty(), locals(100), Concat(live(20), branches))},
		{"short branches over 100 locals", fill(empty(), locals(100), branches)},
		{"nested loops over 100 locals", fill(empty(), locals(100), nest)},
		{"empty loops", fill(empty(), nil, Concat(Op(LoopOp), []byte{Empty}, Op(End)))},
		{"empty ifs", fill(empty(), locals(1), Concat(Op(LocalGet, 0), Op(IfOp), []byte{Empty}, Op(End)))},
		{"br_ifs", fill(empty(), locals(1), Concat(Op(LocalGet, 0), Op(BrIfOp, 0)))},
		{"br_tables", fill(empty(), locals(1), table)},
		{"loads", fill(empty(), locals(1), Concat(Op(LocalGet, 0), Op(I32Load, 0, 0), Op(LocalSet, 0)))},
		{"divisions", fill(empty(), locals(2), Concat(Op(LocalGet, 0), Op(LocalGet, 1), Op(I32DivU), Op(LocalSet, 0)))},
		{"calls", fill(empty(), nil, Call(0))},
		{"calls of 100 params", fill(wide, locals(100), Concat(allLocals(100), Call(0)))},
		{"memory.grow", fill(empty(), locals(1), Concat(Op(LocalGet, 0), Op(MemoryGrow, 0), Op(LocalSet, 0)))},
		{"operands", fill(empty(), nil, Concat(bytes.Repeat(Const(I32, 1), 1_000), bytes.Repeat([]byte{Drop}, 1_000)))},
		{"live operands", fill(empty(), locals(1), Concat(bytes.Repeat(Op(LocalGet, 0), 500), bytes.Repeat([]byte{I32Add}, 499), Op(LocalSet, 0)))},
		{"operands across calls", fill(empty(), locals(1), Concat(bytes.Repeat(Concat(Op(LocalGet, 0), Op(I32Load, 2, 0), Call(0)), 200), bytes.Repeat([]byte{I32Add}, 199), Op(LocalSet, 0)))},
		{"globals", globals},
		{"tiny functions", tiny},
		{"exports", exports},
		{"dead code", fill(empty(), nil, Concat(Op(BlockOp), []byte{Empty}, Op(BrOp, 0), Op(LoopOp), []byte{Empty}, Op(End), Op(End)))},
	}
}

func allLocals(n int) (b []byte) {
	for i := range n {
		b = append(b, Op(LocalGet, uint32(i))...)
	}
	return b
}
