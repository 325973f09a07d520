package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"
	"encoding/binary"
	"strings"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// graph is a family of contracts that call each other: each calls the next ones, down to a depth. Their modules are
// large in the parts that make instantiation expensive.
var graph = &shape{name: "graph", kind: Chain, build: buildGraph, numbers: append([]number{
	{"contracts", 1, 200}, {"depth", 0, 32}, {"fan", 1, 8}, {"stride", 1, 199}, {"turns", 1, 10_000}, {"pages", 1, 16},
	{"touched", 0, 256}, {"output", 0, 64 << 10},
	{"functions", 0, 4_000}, {"globals", 0, 2_000}, {"elements", 0, 2_500}, {"data", 0, 1_024}, {"filled", 0, 250_000},
	{"exports", 0, 100}, {"types", 0, 240}, {"entered", 0, 4_000},
}, hostNumbers("1")...)}

// Memory addresses of a contract of a graph: the remaining depth and the IDs of all contracts, which are its arguments,
// followed by its data. machinePage is the size of a page of the machine, which it touches.
const (
	levelAt     = 2_048
	idsAt       = levelAt + 8
	dataAt      = 16 << 10
	machinePage = 4 << 10
)

func buildGraph(v values) Candidate {
	m := newContract(v.of("pages"))
	m.Data = [][]byte{Data(0, "run"), Data(8, "\x00")}
	work := callsOf(m, v, "1")
	read := m.AddImport(HostImport{Name: "args_read", Params: manyI32(1)})
	length := m.AddImport(HostImport{Name: "args_len", Result: I32})
	left := m.AddImport(HostImport{Name: "gas_left", Result: I64})
	give := m.AddImport(HostImport{Name: "return_data", Params: manyI32(2)})
	call := m.AddImport(HostImport{Name: "call", Params: append(manyI32(5), I64, I64), Result: I32})
	first := uint32(len(m.Imports))
	burden(m, v)
	enter := callAll(first, min(v.of("entered"), v.of("functions")), 1)

	contracts := v.of("contracts")
	// Local 1 counts turns, and local 2 the calls, which selects the next contract. Only the first level repeats turns.
	one := Concat(Op(LocalGet, 2), Const(I64, int64(v.of("stride"))), []byte{I64Add}, Op(LocalTee, 2),
		Const(I64, int64(contracts)), []byte{0x82 /* i64.rem_u */},
		Const(I64, 32), []byte{I64Mul, I32WrapI64}, Const(I32, idsAt), []byte{I32Add}, Const(I32, 0), Const(I32, 3),
		Const(I32, levelAt), Call(length), Const(I64, 0), Const(I64, -1), Call(call), []byte{Drop})
	touch := each(v.of("touched"), func(i int) []byte {
		at := dataAt + i*machinePage%(v.of("pages")<<16-dataAt)
		return Concat(Const(I32, int64(at)), Const(I64, 1), Op(I64Store, 3, 0))
	})
	level := Concat(Const(I32, levelAt), Op(I64Load, 0, 0))
	body := Concat(Const(I32, levelAt), Call(read), touch, enter, work(),
		level, []byte{i64Eqz, IfOp, Empty, Return, End},
		level, Op(LocalSet, 2),
		Const(I32, levelAt), level, Const(I64, 1), []byte{0x7D /* i64.sub */}, Op(I64Store, 0, 0),
		[]byte{LoopOp, Empty}, bytes.Repeat(one, v.of("fan")),
		Op(LocalGet, 1), Const(I64, 1), []byte{I64Add}, Op(LocalTee, 1), Const(I64, int64(v.of("turns"))),
		[]byte{0x54 /* i64.lt_u */},
		level, Const(I64, max(0, int64(v.of("depth"))-1)), []byte{i64Eq, I32And},
		Call(left), Const(I64, reserve), []byte{0x56 /* i64.gt_u */, I32And}, Op(BrIfOp, 0), []byte{End},
		Const(I32, 0), Const(I32, int64(v.of("output"))), Call(give))
	m.Export("run", FunctionKind, m.AddFunction(0, manyI64(3), body...))
	m.Export("_reentrant", FunctionKind, m.AddFunction(0, nil))
	return Candidate{Code: m.Encode(), Copies: contracts,
		Args: binary.LittleEndian.AppendUint64(nil, uint64(v.of("depth")))}
}

// burden adds parts to a module that make its instantiation expensive.
func burden(m *Module, v values) {
	for i := range v.of("types") {
		params := manyI64(100)
		for bit := range 8 {
			params[bit] += byte(i >> bit & 1)
		}
		m.AddType(params, 0)
	}
	first := uint32(len(m.Imports))
	for range 1 + v.of("functions") {
		m.AddFunction(0, nil)
	}
	for i := range v.of("globals") {
		m.Globals = append(m.Globals, Global(I64, true, int64(i)))
	}
	if n := v.of("elements"); n > 0 {
		targets := make([]uint32, n)
		for i := range targets {
			targets[i] = first + uint32(i%(1+v.of("functions")))
		}
		m.Tables, m.Elements = [][]byte{Concat([]byte{0x70, 0}, U32(uint32(n)))}, [][]byte{Element(0, targets...)}
	}
	for i := range v.of("data") {
		m.Data = append(m.Data, Data(int32(dataAt+i*16), "x"))
	}
	if n := min(v.of("filled"), v.of("pages")<<16-dataAt); n > 0 {
		m.Data = append(m.Data, Data(dataAt, strings.Repeat("x", n)))
	}
	for i := range v.of("exports") {
		m.Export("x"+string([]byte{'a' + byte(i%26), 'a' + byte(i/26)}), FunctionKind, first)
	}
}
