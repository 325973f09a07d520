package vm_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// contract has something of everything: an import, a table, globals, segments, an init and a function to call. Types: 0
// () → (), 1 that of storage_read. Functions: 0 storage_read, 1 init, 2 run.
func contract() *Module {
	m := Contract(1, 2)
	empty, storageRead := m.AddType(nil, 0), m.AddType([]byte{I32, I32, I32, I32}, I32)
	m.Imports = [][]byte{ImportFunction("cairn", "storage_read", storageRead)}
	m.Tables = [][]byte{{0x70, 0, 4}}
	m.Globals = [][]byte{Global(I32, true, 5), Global(I64, false, -1)}
	init := m.AddFunction(empty, nil, Concat(Const(I32, 9), Op(GlobalSet, 0))...)
	run := m.AddFunction(empty, []byte{I32}, Concat(
		Const(I32, 0), Const(I32, 4), Const(I32, 8), Const(I32, 4), Call(0), Op(LocalTee, 0),
		Op(IfOp), []byte{Empty}, Op(LocalGet, 0), Op(CallIndirect, empty, 0), Op(Else),
		Const(I32, 1), Op(MemoryGrow, 0), Op(Drop), Op(End),
	)...)
	m.Export("init", FunctionKind, init)
	m.Export("run", FunctionKind, run)
	m.Export("_private", FunctionKind, run)
	m.Elements = [][]byte{Element(1, init, run)}
	m.Data = [][]byte{Data(16, "data")}
	return m
}

func TestCheck(t *testing.T) {
	m, err := vm.Check(contract().Encode())
	if err != nil {
		t.Fatal(err)
	}
	if m.Pages() != 1 || m.MaxPages() != 2 || !m.HasInit() || m.Reentrant() || m.CodeSize() != len(contract().Encode()) {
		t.Errorf(
			"got %d pages of %d, init %v, reentrant %v, %d bytes", m.Pages(), m.MaxPages(), m.HasInit(), m.Reentrant(),
			m.CodeSize(),
		)
	}
	for name, want := range map[string]bool{
		"run":      true,
		"init":     false,
		"_private": false,
		"memory":   false,
		"absent":   false,
		"":         false,
	} {
		if m.Callable(name) != want {
			t.Errorf("callable %q: %v", name, !want)
		}
	}
	// init has 6 bytes, 1 branch and 1 + 4 variables. run has 30 bytes, 4 branches (if, else, end, end), 1 + 4 + 4
	// variables and 3 calls, and there is one mutable global.
	if got := m.DeployGas(); got != 800_000+2*45_000+2_000*(6+30)+10*(1*5+16*9)+600*3*1 {
		t.Errorf("deploy gas %d", got)
	}
	// 2 functions; 2 globals, 2 indices of elements and 1 data segment.
	if m.Load() != 12_000+uint64(len(contract().Encode()))+2*40+100*(2+2+1) || m.InstanceItems() != 2+2+1 {
		t.Errorf("load %d, %d items", m.Load(), m.InstanceItems())
	}
	requireRule(t, contract().Encode(), m)
}

// body returns a contract whose function 2 has other instructions; if whole is set, they include their own end.
func body(locals []byte, instructions ...[]byte) func() []byte {
	return func() []byte {
		m := contract()
		m.Code[1] = Body(locals, Concat(instructions...)...)
		return m.Encode()
	}
}

// rawBody returns a contract whose function 2 has a code entry of these bytes.
func rawBody(entry ...[]byte) func() []byte {
	return func() []byte {
		m := contract()
		b := Concat(entry...)
		m.Code[1] = Concat(U32(uint32(len(b))), b)
		return m.Encode()
	}
}

// changed returns a changed contract.
func changed(change func(m *Module)) func() []byte {
	return func() []byte {
		m := contract()
		change(m)
		return m.Encode()
	}
}

// raw returns a module with these bytes after the header.
func raw(parts ...[]byte) func() []byte {
	return func() []byte { return Concat(Header, Concat(parts...)) }
}

func repeat(n int, part ...byte) []byte { return bytes.Repeat(part, n) }

func entries(n int, entry ...byte) [][]byte { return slices.Repeat([][]byte{entry}, n) }

// many returns a contract with the given number of functions, the last of which has the given number of locals.
func many(functions int) func() []byte {
	return changed(func(m *Module) {
		for len(m.Functions) < functions-len(m.Imports) {
			m.AddFunction(0, nil)
		}
	})
}

// manyTypes returns a contract with this many types.
func manyTypes(all int) func() []byte {
	return changed(func(m *Module) {
		for len(m.Types) < all {
			m.AddType([]byte{I64}, 0)
		}
	})
}

// nested returns blocks nested in each other.
func nested(depth int) func() []byte {
	return body(nil, repeat(depth, BlockOp, Empty), repeat(depth, End))
}

// manyLocals returns a contract with functions of 100 locals and one with the rest; its own function 2 has one.
func manyLocals(all int) func() []byte {
	return changed(func(m *Module) {
		for rest := all - 1; rest > 0; rest -= 100 {
			m.AddFunction(0, repeat(min(rest, 100), I64))
		}
	})
}

// imports returns a contract with this many imports.
func imports(n int) func() []byte {
	m := Contract(1, 1)
	m.AddType([]byte{I32, I32, I32, I32}, I32)
	for range n {
		m.Imports = append(m.Imports, ImportFunction("cairn", "storage_read", 0))
	}
	return m.Encode
}

// exports returns a contract with this many exports.
func exports(n int) func() []byte {
	return changed(func(m *Module) {
		for i := range n - len(m.Exports) {
			m.Export(strconv.Itoa(i), FunctionKind, 1)
		}
	})
}

// globals returns a contract with this many globals, or this many mutable ones.
func globals(n int, mutable bool) func() []byte {
	return changed(func(m *Module) {
		if mutable {
			m.Globals = m.Globals[:1]
		}
		for len(m.Globals) < n {
			m.Globals = append(m.Globals, Global(I64, mutable, 0))
		}
		m.Code[1] = none
	})
}

// indices returns a contract whose element segments, more than one, have this many indices.
func indices(n int) func() []byte {
	return changed(func(m *Module) {
		m.Tables[0] = Concat([]byte{0x70, 0}, U32(2_500))
		m.Elements = [][]byte{Element(0, make([]uint32, 1_000)...), Element(0, make([]uint32, n-1_000)...)}
	})
}

func dataSegments(n int) func() []byte {
	return changed(func(m *Module) { m.Data = entries(n, Data(0, "")...) })
}

// loopOf returns a contract with a function whose frame has this many slots: a loop that sets 99 locals and is the
// target of 100 branches.
func loopOf(slots int) func() []byte {
	const locals, branches = 99, 100
	loop := []byte{LoopOp, Empty}
	for i := range uint32(locals) {
		loop = Concat(loop, Op(LocalGet, i), Op(LocalSet, i))
	}
	loop = Concat(loop, repeat(branches, Concat(Op(LocalGet, 0), Op(BrIfOp, 0))...), Op(End))
	// In addition to the merge: the locals, an operand, the br_ifs, loop, end and end.
	rest := slots - 16 - (locals+1)*(1+branches) - locals - 1 - branches - 3
	return body(repeat(locals, I32), loop, repeat(rest, Concat(Const(I32, 0), Op(Drop))...))
}

var none = Body(nil)

// rules breaks each rule about modules once. good, if not nil, is just within the rule.
var rules = []struct {
	name      string
	want      vm.Reason
	good, bad func() []byte
}{
	{"size", "the code is longer than 256 KiB", padded(types.MaxCodeBytes), padded(types.MaxCodeBytes + 1)},
	{"empty", "it does not begin with the magic number and version 1 of WebAssembly", nil, func() []byte { return nil }},
	{
		"magic", "it does not begin with the magic number and version 1 of WebAssembly", nil,
		func() []byte { return []byte("\x00asM\x01\x00\x00\x00") },
	},
	{
		"version", "it does not begin with the magic number and version 1 of WebAssembly", nil,
		func() []byte { return []byte("\x00asm\x02\x00\x00\x00") },
	},
	{
		"header cut", "it does not begin with the magic number and version 1 of WebAssembly", nil,
		func() []byte { return []byte("\x00asm\x01\x00\x00") },
	},
	{"section cut", "the code ends in the middle of an element", nil, raw([]byte{1, 5, 1, 0x60})},
	{"vector cut", "the code ends in the middle of an element", nil, raw(Section(1, []byte{2, 0x60, 0, 0}))},
	{"vector of 2^32 entries", "the code ends in the middle of an element", nil, raw(Section(1, U32(1<<32-1)))},
	{
		"integer of 6 bytes", "an integer has more bytes than its type allows", nil,
		raw(Section(1, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0})),
	},
	{
		"integer of 33 bits", "an integer exceeds the range of its type", nil,
		raw(Section(1, []byte{0x80, 0x80, 0x80, 0x80, 0x10})),
	},
	{"signed integer of 6 bytes", "an integer has more bytes than its type allows",
		body(nil, []byte{
			I32Const, 0x80, 0x80, 0x80, 0x80, 0x78, Drop,
		}), body(nil, []byte{I32Const, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7F, Drop})},
	{"signed integer of 33 bits", "an integer exceeds the range of its type",
		body(nil, []byte{
			I32Const, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, Drop,
		}), body(nil, []byte{I32Const, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, Drop})},
	{"signed integer of 65 bits", "an integer exceeds the range of its type",
		body(nil, []byte{I64Const}, repeat(9, 0x80), []byte{
			0x7F, Drop,
		}), body(nil, []byte{I64Const}, repeat(9, 0x80), []byte{0x7E, Drop})},
	{"section 12", "the section id is unknown", nil, raw(Section(12, []byte{0}))},
	{"section order", "a section is out of order or comes twice", nil, raw(Section(3, []byte{0}), Section(1, []byte{0}))},
	{"section twice", "a section is out of order or comes twice", nil, raw(Section(1, []byte{0}), Section(1, []byte{0}))},
	{"section size", "a section is longer than its content", nil, raw(Section(1, []byte{0, 0}))},
	{
		"name of a custom section", "a name is not UTF-8", appended(Section(0, Name("ünï"))),
		appended(Section(0, Name("\xFF"))),
	},
	{
		"name of an import", "a name is not UTF-8", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction("cairn\xC0", "x", 0) }),
	},
	{
		"name of an export", "a name is not UTF-8", nil,
		changed(func(m *Module) { m.Export("\xED\xA0\x80", FunctionKind, 1) }),
	},
	{"value type", "the value type is unknown", nil, changed(func(m *Module) { m.AddType([]byte{0x7B}, 0) })},
	{
		"type form", "a type is not the type of a function", nil,
		changed(func(m *Module) { m.Types = append(m.Types, []byte{0x61, 0, 0}) }),
	},
	{
		"results", "a type has more than one result", nil,
		changed(func(m *Module) { m.Types = append(m.Types, []byte{0x60, 0, 2, I32, I32}) }),
	},
	{
		"kind of import", "there is no kind of import of this number", nil,
		changed(func(m *Module) { m.Imports[0] = Concat(Name("cairn"), Name("x"), []byte{4, 0}) }),
	},
	{"kind of export", "the kind of an export is unknown", nil, changed(func(m *Module) { m.Export("x", 4, 0) })},
	{
		"element type", "a table has elements other than functions", nil,
		changed(func(m *Module) { m.Tables[0] = []byte{0x6F, 0, 4} }),
	},
	{
		"limits flag", "limits begin with a flag other than 0 and 1", nil,
		changed(func(m *Module) { m.Memories[0] = []byte{3, 1, 2} }),
	},
	{"mutability", "a global's mutability is neither 0 nor 1", nil, changed(func(m *Module) { m.Globals[0][1] = 2 })},
	{
		"bodies without functions", "the numbers of functions and bodies differ", nil,
		changed(func(m *Module) { m.Code = append(m.Code, none) }),
	},
	{"functions without bodies", "the numbers of functions and bodies differ", nil, changed(func(m *Module) { m.Code = nil })},
	{"body size", "a body is longer than its instructions", nil, rawBody([]byte{0, End, End})},
	{"body end", "a body ends before its last end", nil, rawBody([]byte{0, Nop})},
	{"body cut", "the code ends in the middle of an element", nil, rawBody([]byte{0, I32Const})},
	{"size of a body", "the code ends in the middle of an element", nil, changed(func(m *Module) { m.Code[1] = []byte{0x20, 0, End} })},
	{
		"instruction", "the instruction is unknown", body(nil, Const(I32, 1), []byte{0xC0, Drop}),
		body(nil, Const(I32, 1), []byte{0xC5, Drop}),
	},
	{
		"bulk memory", "the instruction is unknown", nil,
		body(nil, Const(I32, 1), Const(I32, 1), Const(I32, 1), []byte{0xFC, 11, 0}),
	},
	{"reserved byte of memory.size", "a reserved byte is not 0", nil, body(nil, Op(MemorySize, 1), Op(Drop))},
	{
		"reserved byte of memory.grow", "a reserved byte is not 0", nil,
		body(nil, Const(I32, 1), []byte{MemoryGrow, 0x80, 0, Drop}),
	},
	{"reserved byte of call_indirect", "a reserved byte is not 0", nil, body(nil, Const(I32, 1), Op(CallIndirect, 0, 1))},

	{"type of a function", "a type index is out of range", nil, changed(func(m *Module) { m.Functions[1] = U32(2) })},
	{
		"type of an import", "a type index is out of range", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction("cairn", "caller", 2) }),
	},
	{"type of a call_indirect", "a type index is out of range", nil, body(nil, Const(I32, 1), Op(CallIndirect, 2, 0))},
	{"function of a call", "a function index is out of range", body(nil, Call(2)), body(nil, Call(3))},
	{
		"function of an export", "a function index is out of range", nil,
		changed(func(m *Module) { m.Export("x", FunctionKind, 3) }),
	},
	{
		"function of an element", "a function index is out of range", nil,
		changed(func(m *Module) { m.Elements[0] = Element(0, 3) }),
	},
	{
		"table of an export", "a table index is out of range", nil,
		changed(func(m *Module) { m.Export("x", TableKind, 1) }),
	},
	{"table of an element", "a table index is out of range", nil, changed(func(m *Module) { m.Elements[0][0] = 1 })},
	{
		"table of a call_indirect", "a table index is out of range", nil,
		changed(func(m *Module) { m.Tables, m.Elements = nil, nil }),
	},
	{
		"memory of an export", "a memory index is out of range", nil,
		changed(func(m *Module) { m.Export("x", MemoryKind, 1) }),
	},
	{"memory of data", "a memory index is out of range", nil, changed(func(m *Module) { m.Data[0][0] = 1 })},
	{
		"memory of a load", "a memory index is out of range", nil,
		withoutMemory(Const(I32, 0), Op(I32Load, 2, 0), Op(Drop)),
	},
	{"memory of memory.size", "a memory index is out of range", nil, withoutMemory(Op(MemorySize, 0), Op(Drop))},
	{
		"memory of memory.grow", "a memory index is out of range", nil,
		withoutMemory(Const(I32, 0), Op(MemoryGrow, 0), Op(Drop)),
	},
	{
		"global of an export", "a global index is out of range", nil,
		changed(func(m *Module) { m.Export("x", GlobalKind, 2) }),
	},
	{"global of global.get", "a global index is out of range", nil, body(nil, Op(GlobalGet, 2), Op(Drop))},
	{"global of global.set", "a global index is out of range", nil, body(nil, Const(I32, 1), Op(GlobalSet, 2))},
	{
		"global of an initial value", "a global index is out of range", nil,
		changed(func(m *Module) { m.Globals[1] = []byte{I32, 0, GlobalGet, 0, End} }),
	},
	{
		"local", "a local index is out of range", body([]byte{I64}, Op(LocalGet, 0), Op(Drop)),
		body([]byte{I64}, Op(LocalGet, 1), Op(Drop)),
	},
	{"label", "a label index is out of range", body(nil, Op(BrOp, 0)), body(nil, Op(BrOp, 1))},
	{"label of a br_table", "a label index is out of range", nil, body(nil, Const(I32, 0), BrTable(0, 1))},
	{"default label of a br_table", "a label index is out of range", nil, body(nil, Const(I32, 0), BrTable(1, 0))},
	{"operand type", "an operand has another type", nil, body(nil, Const(I32, 0), Const(I64, 0), Op(I32Add), Op(Drop))},
	{
		"type of an argument", "an operand has another type", nil,
		body(nil, Const(I64, 0), Const(I32, 0), Const(I32, 0), Const(I32, 0), Call(0), Op(Drop)),
	},
	{
		"type of what is selected", "an operand has another type", nil,
		body(nil, Const(I64, 0), Const(I32, 0), Const(I32, 0), Op(Select), Op(Drop)),
	},
	{
		"type of a stored value", "an operand has another type", nil,
		body(nil, Const(I32, 0), Const(I32, 0), Op(I64Store, 3, 0)),
	},
	{"type of a local set", "an operand has another type", nil, body([]byte{I64}, Const(I32, 0), Op(LocalSet, 0))},
	{
		"type of a block's result", "an operand has another type", nil,
		body(nil, Op(BlockOp), []byte{I32}, Const(I64, 0), Op(End), Op(Drop)),
	},
	{"no operand", "an operand is missing", nil, body(nil, Op(Drop))},
	{
		"operand below the block", "an operand is missing", nil,
		body(nil, Const(I32, 0), Op(BlockOp), []byte{Empty}, Op(Drop), Op(End)),
	},
	{"left over at the end of a function", "values are left at the end of a block", nil, body(nil, Const(I32, 0))},
	{
		"left over in dead code", "values are left at the end of a block", body(nil, Op(Return), Op(Drop)),
		body(nil, Op(Return), Const(I32, 0)),
	},
	{"else", "an else has no if", nil, body(nil, Op(BlockOp), []byte{Empty}, Op(Else), Op(End))},
	{
		"second else", "an else has no if", nil,
		body(nil, Const(I32, 0), Op(IfOp), []byte{Empty}, Op(Else), Op(Else), Op(End)),
	},
	{
		"no else", "an if with a result has no else", nil,
		body(nil, Const(I32, 0), Op(IfOp), []byte{I32}, Const(I32, 0), Op(End), Op(Drop)),
	},
	{"labels of a br_table", "the labels of a br_table differ in type",
		body(nil, Op(BlockOp), []byte{Empty}, Const(I32, 0), BrTable(0, 1), Op(End)),
		body(nil, Op(BlockOp), []byte{I32}, Const(I32, 0), Const(I32, 0), BrTable(0, 1), Op(End), Op(Drop))},
	{"alignment", "an alignment is larger than the access",
		body(nil, Const(I32, 0), Op(I32Load, 2, 0), Op(Drop)), body(nil, Const(I32, 0), Op(I32Load, 3, 0), Op(Drop))},
	{"constant global", "a constant global is set", nil, body(nil, Const(I64, 0), Op(GlobalSet, 1))},
	{
		"computed initial value", "an initial value or offset is not a constant", nil,
		changed(func(m *Module) { m.Globals[0] = []byte{I32, 0, I32Const, 0, I32Eqz, End} }),
	},
	{
		"no initial value", "an initial value or offset is not a constant", nil,
		changed(func(m *Module) { m.Globals[0] = []byte{I32, 0, End} }),
	},
	{
		"type of an initial value", "an initial value or offset has another type", nil,
		changed(func(m *Module) { m.Globals[0][0] = I64 }),
	},
	{
		"type of an offset", "an initial value or offset has another type", nil,
		changed(func(m *Module) { m.Data[0] = []byte{0, I64Const, 0, End, 0} }),
	},
	{"limits", "a maximum is below its minimum", nil, changed(func(m *Module) { m.Memories[0] = []byte{1, 2, 1} })},
	{
		"memory size", "a memory has more than 65536 pages", nil,
		changed(func(m *Module) { m.Memories[0] = Concat([]byte{0}, U32(65537)) }),
	},
	{"memories", "more than one memory", nil, changed(func(m *Module) { m.Memories = entries(2, 0, 1) })},
	{"tables", "more than one table", nil, changed(func(m *Module) { m.Tables = entries(2, 0x70, 0, 4) })},
	{"export twice", "two exports have the same name", nil, changed(func(m *Module) { m.Export("run", FunctionKind, 1) })},
	{
		"type of the start function", "the start function has params or a result", nil,
		changed(func(m *Module) { m.Start = []byte{0} }),
	},

	{"float in an unused type", "it has floats", nil, changed(func(m *Module) { m.AddType([]byte{F64}, 0) })},
	{"float result", "it has floats", nil, changed(func(m *Module) { m.AddType(nil, F32) })},
	{"float local", "it has floats", nil, body([]byte{F32})},
	{
		"float global", "it has floats", nil,
		changed(func(m *Module) { m.Globals[0] = []byte{F32, 0, 0x43, 0, 0, 0, 0, End} }),
	},
	{"float block", "it has floats", nil, body(nil, Op(BlockOp), []byte{F32, Unreachable, End, Drop})},
	{"float load", "it has floats", nil, body(nil, Const(I32, 0), []byte{0x2A, 0, 0, Drop})},
	{"float store in dead code", "it has floats", nil, body(nil, []byte{Unreachable, 0x39, 0, 0})},
	{"float constant", "it has floats", nil, body(nil, []byte{0x44, 0, 0, 0, 0, 0, 0, 0, 0, Drop})},
	{"float conversion", "it has floats", nil, body(nil, Const(I32, 0), []byte{0xBE, Drop})},
	{"start function", "it has a start function", nil, changed(func(m *Module) { m.Start = []byte{1} })},
	{"imported global", "it imports something other than functions", nil, changed(func(m *Module) {
		m.Imports = append(m.Imports, Concat(Name("cairn"), Name("g"), []byte{GlobalKind, I32, 1}))
	})},
	{"imported table", "it imports something other than functions", nil, changed(func(m *Module) {
		m.Tables, m.Imports = nil, append(m.Imports, Concat(Name("cairn"), Name("t"), []byte{TableKind, 0x70, 0, 4}))
	})},
	{"imported memory", "it imports something other than functions", nil, changed(func(m *Module) {
		m.Memories, m.Imports = nil, append(m.Imports, Concat(Name("cairn"), Name("memory"), []byte{MemoryKind, 0, 1}))
	})},
	{
		"unknown host function", "it imports a function that is no host function", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction("cairn", "storage_reap", 1) }),
	},
	{
		"other module", "it imports a function that is no host function", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction("engine", "storage_read", 1) }),
	},
	{
		"the engine's functions", "it imports a function that is no host function", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction(vm.EngineModule, vm.RefillName, 1) }),
	},
	{
		"params of a host function", "it imports a host function with another type", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction("cairn", "args_len", 1) }),
	},
	{
		"result of a host function", "it imports a host function with another type", nil,
		changed(func(m *Module) { m.Imports[0] = ImportFunction("cairn", "storage_write", 1) }),
	},
	{"no memory", "it declares no memory", nil, changed(func(m *Module) {
		m.Memories, m.Data, m.Exports = nil, nil, m.Exports[1:]
		m.Code[1] = none
	})},
	{
		"no export of the memory", "it does not export its memory as memory", nil,
		changed(func(m *Module) { m.Exports = m.Exports[1:] }),
	},
	{
		"other export as memory", "it does not export its memory as memory", nil,
		changed(func(m *Module) { m.Exports[0] = Export("memory", FunctionKind, 1) }),
	},
	{
		"type of init", "its export init is not a function without params and result", nil,
		changed(func(m *Module) { m.Exports[1] = Export("init", FunctionKind, 0) }),
	},
	{
		"kind of init", "its export init is not a function without params and result", nil,
		changed(func(m *Module) { m.Exports[1] = Export("init", GlobalKind, 0) }),
	},
	{"type of _reentrant", "its export _reentrant is not a function without params and result",
		changed(func(m *Module) {
			m.Export("_reentrant", FunctionKind, 1)
		}), changed(func(m *Module) { m.Export("_reentrant", MemoryKind, 0) })},
	{"types", "more than 256 types", manyTypes(256), manyTypes(257)},
	{"params of a type", "a type has more than 100 params", manyParams(100, 0), manyParams(101, 0)},
	{"functions", "more than 5000 functions", many(5000), many(5001)},
	{"body bytes", "a body has more than 32768 bytes", body(nil, repeat(32766, Nop)), body(nil, repeat(32767, Nop))},
	{"locals", "a function has more than 100 params and locals", body(repeat(100, I32)), body(repeat(101, I32))},
	{"params", "a function has more than 100 params and locals", manyParams(60, 40), manyParams(60, 41)},
	{"all locals", "more than 10000 locals in all", manyLocals(10_000), manyLocals(10_001)},
	{"nesting", "blocks are nested deeper than 128", nested(128), nested(129)},
	{"targets", "a br_table has more than 256 targets",
		body(nil, Const(I32, 0), BrTable(
			0, make([]uint32, 256)...,
		)), body(nil, Const(I32, 0), BrTable(0, make([]uint32, 257)...))},
	{"slots", "a function's frame has more than 16384 slots", loopOf(16_384), loopOf(16_385)},
	{"imports", "more than 64 imports", imports(64), imports(65)},
	{"exports", "more than 128 exports", exports(128), exports(129)},
	{"globals", "more than 1024 globals", globals(1_024, false), globals(1_025, false)},
	{"mutable globals", "more than 64 mutable globals", globals(64, true), globals(65, true)},
	{"element indices", "more than 2500 indices in element segments", indices(2_500), indices(2_501)},
	{"data segments", "more than 1024 data segments", dataSegments(1_024), dataSegments(1_025)},
	{"pages", "the initial memory has more than 16 pages",
		changed(func(m *Module) {
			m.Memories[0] = Concat([]byte{0}, U32(16))
		}), changed(func(m *Module) { m.Memories[0] = Concat([]byte{0}, U32(17)) })},
	{"most pages", "the maximum of the memory is more than 16 pages",
		changed(func(m *Module) {
			m.Memories[0] = Concat([]byte{1, 1}, U32(16))
		}), changed(func(m *Module) { m.Memories[0] = Concat([]byte{1, 1}, U32(17)) })},
	{"table size", "a table has more than 2500 elements",
		changed(func(m *Module) {
			m.Tables[0] = Concat([]byte{0x70, 1}, U32(2500), U32(1<<32-1))
		}), changed(func(m *Module) { m.Tables[0] = Concat([]byte{0x70, 0}, U32(2501)) })},
	{
		"data", "a data segment is outside the initial memory", changed(func(m *Module) { m.Data[0] = Data(65532, "data") }),
		changed(func(m *Module) { m.Data[0] = Data(65533, "data") }),
	},
	{
		"data beyond 2^31", "a data segment is outside the initial memory", nil,
		changed(func(m *Module) { m.Data[0] = Data(-1, "data") }),
	},
	{
		"empty data", "a data segment is outside the initial memory",
		changed(func(m *Module) { m.Data[0] = Data(65536, "") }), changed(func(m *Module) { m.Data[0] = Data(65537, "") }),
	},
	{
		"element", "an element segment is outside the initial table",
		changed(func(m *Module) { m.Elements[0] = Element(3, 1) }),
		changed(func(m *Module) { m.Elements[0] = Element(3, 1, 1) }),
	},
	{
		"empty element", "an element segment is outside the initial table",
		changed(func(m *Module) { m.Elements[0] = Element(4) }), changed(func(m *Module) { m.Elements[0] = Element(5) }),
	},
}

// padded is a contract with a custom section that makes it the given length.
func padded(size int) func() []byte {
	return func() []byte {
		code := contract().Encode()
		rest := size - len(code) - 1 - 3 // the section's number and size
		return Concat(code, Section(0, Concat(Name("x"), make([]byte, rest-2))))
	}
}

// appended returns a contract followed by some bytes.
func appended(part []byte) func() []byte {
	return func() []byte { return append(contract().Encode(), part...) }
}

// withoutMemory returns a contract without a memory whose function 2 has these instructions.
func withoutMemory(instructions ...[]byte) func() []byte {
	return changed(func(m *Module) {
		m.Memories, m.Data, m.Exports = nil, nil, m.Exports[1:]
		m.Code[1] = Body(nil, Concat(instructions...)...)
	})
}

// manyParams is a contract with another function of the given number of params and locals.
func manyParams(params, locals int) func() []byte {
	return changed(func(m *Module) { m.AddFunction(m.AddType(repeat(params, I32), 0), repeat(locals, I64)) })
}

func TestRules(t *testing.T) {
	broken := map[vm.Reason]bool{}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			broken[rule.want] = true
			if rule.good != nil {
				if _, err := vm.Check(rule.good()); err != nil {
					t.Errorf("within the rule: %v", err)
				}
			}
			code := rule.bad()
			m, err := vm.Check(code)
			var refused *vm.Refused
			if !errors.As(err, &refused) || refused.Reason != rule.want || m != nil {
				t.Fatalf("got %v, want %s", err, rule.want)
			}
			if refused.Offset < 0 || refused.Offset > len(code) || !strings.Contains(err.Error(), string(rule.want)) {
				t.Errorf("got %v at %d of %d", err, refused.Offset, len(code))
			}
		})
	}
	for _, reason := range reasons(t) {
		if !broken[reason] {
			t.Errorf("no test breaks the rule: %s", reason)
		}
	}
}

// reasons reads the reasons from the sources.
func reasons(t *testing.T) (all []vm.Reason) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "refused.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, vm.Reason(text))
		}
		return true
	})
	if len(all) < 60 {
		t.Fatalf("found %d reasons", len(all))
	}
	return all
}

// A module that ends anywhere but at the end of a section is refused.
func TestCut(t *testing.T) {
	code, accepted := contract().Encode(), 0
	for n := range len(code) {
		if _, err := vm.Check(code[:n]); err == nil {
			accepted++ // without its data section it is another contract
		}
	}
	if accepted != 1 {
		t.Errorf("%d beginnings of the module are accepted, want 1", accepted)
	}
}

// TestRefusedImportIsNamed: a C compiler adds imports that its user did not write, so the error must name them.
func TestRefusedImportIsNamed(t *testing.T) {
	_, err := vm.Check(changed(func(m *Module) { m.Imports[0] = ImportFunction("env", "memcpy", 1) })())
	if err == nil || !strings.HasSuffix(err.Error(), `it imports a function that is no host function: "env.memcpy"`) {
		t.Errorf("got %v, want the import's name", err)
	}
}
