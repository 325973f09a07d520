package wasm

import (
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// guest builds a contract in the binary format of WebAssembly 1.0 (its section 5).
type guest struct {
	pages, maxPages int // pages of memory; a maximum of 0 means none
	imports         []string
	functions       []guestFunction
	globals         []int64 // mutable, i64
	table           []int   // functions by their index in functions
	data            []guestData
}

type guestFunction struct {
	export string // "": none
	params int    // i32
	result bool   // i32
	locals int    // i32
	body   []byte // without the final `end`
}

type guestData struct {
	offset int
	bytes  []byte
}

// Instructions that the guests in these tests use.
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opElse        = 0x05
	opEnd         = 0x0B
	opBr          = 0x0C
	opBrIf        = 0x0D
	opReturn      = 0x0F
	opDrop        = 0x1A
	opI32Eqz      = 0x45
	opI32LtU      = 0x49
	opI32GeU      = 0x4F
	opI32Add      = 0x6A
	opI32Sub      = 0x6B
	opI32Mul      = 0x6C
	opI32DivS     = 0x6D
	opI64Add      = 0x7C
	opExtend      = 0xAD // i64.extend_i32_u
	opWrap        = 0xA7 // i32.wrap_i64
	noResult      = 0x40
)

func unsigned(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func signed(n int64) (out []byte) {
	for {
		b := byte(n & 0x7F)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// seq joins opcodes (int), and encoded instructions ([]byte).
func seq(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func i32(n int) []byte       { return seq(0x41, signed(int64(int32(n)))) }
func i64(n int64) []byte     { return seq(0x42, signed(n)) }
func get(local int) []byte   { return seq(0x20, unsigned(uint64(local))) }
func set(local int) []byte   { return seq(0x21, unsigned(uint64(local))) }
func getG(global int) []byte { return seq(0x23, unsigned(uint64(global))) }
func setG(global int) []byte { return seq(0x24, unsigned(uint64(global))) }
func call(f int) []byte      { return seq(0x10, unsigned(uint64(f))) }

// callTable calls the table's entry on the stack, of type () -> ().
func callTable() []byte        { return []byte{0x11, 0, 0} }
func load8(offset int) []byte  { return seq(0x2D, 0, unsigned(uint64(offset))) }
func load32(offset int) []byte { return seq(0x28, 2, unsigned(uint64(offset))) }
func store8(offset int) []byte { return seq(0x3A, 0, unsigned(uint64(offset))) }
func store32(offset int) []byte {
	return seq(0x36, 2, unsigned(uint64(offset)))
}
func memorySize() []byte { return []byte{0x3F, 0} }
func memoryGrow() []byte { return []byte{0x40, 0} }

// forever is an endless loop around a body that leaves nothing on the stack.
func forever(body ...any) []byte {
	return seq(opLoop, noResult, seq(body...), opBr, 0, opEnd)
}

// times runs a body n times, counting down in a local.
func times(local, n int, body ...any) []byte {
	return seq(i32(n), set(local), opLoop, noResult, seq(body...),
		get(local), i32(1), opI32Sub, set(local), get(local), opBrIf, 0, opEnd)
}

// binary encodes the module. Types of the functions come after () -> (), one for each.
func (g *guest) binary() []byte {
	var types, imports, functions, exports, codes, globals, data [][]byte
	addType := func(params []vm.ValueType, results ...vm.ValueType) uint64 {
		t := append([]byte{0x60}, unsigned(uint64(len(params)))...)
		for _, p := range params {
			t = append(t, byte(p))
		}
		t = append(t, byte(len(results)))
		for _, r := range results {
			t = append(t, byte(r))
		}
		types = append(types, t)
		return uint64(len(types) - 1)
	}
	addType(nil)
	for _, name := range g.imports {
		row := vm.Functions[slices.IndexFunc(vm.Functions[:], func(f vm.HostFunction) bool { return f.Name == name })]
		var results []vm.ValueType
		if row.Result != 0 {
			results = append(results, row.Result)
		}
		imports = append(imports, seq(text(vm.HostModule), text(name), 0, unsigned(addType(row.Params, results...))))
	}
	exports = append(exports, seq(text("memory"), 2, 0))
	for i, f := range g.functions {
		kind := uint64(0)
		if f.params > 0 || f.result {
			var results []vm.ValueType
			if f.result {
				results = append(results, vm.I32)
			}
			kind = addType(slices.Repeat([]vm.ValueType{vm.I32}, f.params), results...)
		}
		functions = append(functions, unsigned(kind))
		body := []byte{0}
		if f.locals > 0 {
			body = seq(1, unsigned(uint64(f.locals)), int(vm.I32))
		}
		body = seq(body, f.body, opEnd)
		codes = append(codes, seq(unsigned(uint64(len(body))), body))
		if f.export != "" {
			exports = append(exports, seq(text(f.export), 0, unsigned(uint64(len(g.imports)+i))))
		}
	}
	for _, value := range g.globals {
		globals = append(globals, seq(int(vm.I64), 1, i64(value), opEnd))
	}
	for _, d := range g.data {
		data = append(data, seq(0, i32(d.offset), opEnd, unsigned(uint64(len(d.bytes))), d.bytes))
	}
	limits := seq(0, unsigned(uint64(g.pages)))
	if g.maxPages > 0 {
		limits = seq(1, unsigned(uint64(g.pages)), unsigned(uint64(g.maxPages)))
	}
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, items [][]byte) {
		if len(items) > 0 {
			content := seq(unsigned(uint64(len(items))), slices.Concat(items...))
			out = seq(out, int(id), unsigned(uint64(len(content))), content)
		}
	}
	section(1, types)
	section(2, imports)
	section(3, functions)
	if g.table != nil {
		section(4, [][]byte{seq(0x70, 0, unsigned(uint64(len(g.table))))})
	}
	section(5, [][]byte{limits})
	section(6, globals)
	section(7, exports)
	if g.table != nil {
		elements := seq(0, i32(0), opEnd, unsigned(uint64(len(g.table))))
		for _, f := range g.table {
			elements = seq(elements, unsigned(uint64(f)))
		}
		section(9, [][]byte{elements})
	}
	section(10, codes)
	section(11, data)
	return out
}

func text(s string) []byte { return seq(unsigned(uint64(len(s))), []byte(s)) }
