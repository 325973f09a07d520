package vm_test

import (
	"encoding/binary"
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/naivemeter"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// interpreter runs a random contract as submitted, and takes gas as docs/protocol.md specifies, without any of the code
// of package vm. With package naivemeter it is the second opinion on the behaviour and the cost of rewritten modules.
// It reads the bytes of instructions directly, and knows only those that wasmgen.Random writes.
type interpreter struct {
	types     []signature
	imported  int
	functions []uint32 // types
	bodies    []*code
	table     []uint32 // function + 1
	globals   []uint64
	memory    []byte
	mostPages uint64
	gas       uint64
	frames    int
	slots     uint64
	deploy    uint64
}

type signature struct {
	params  int
	results int
}

// code is a function's instructions, with facts determined in advance, by offset.
type code struct {
	bytes     []byte
	locals    int // declared
	otherwise map[int]int
	ends      map[int]int    // of block, loop and if: offset of the end
	costs     map[int]uint64 // prices of metered blocks, by the offset at which they begin
	frame     uint64
}

// interpret returns an interpreter of a module.
func interpret(m *Module, gas uint64) *interpreter {
	in := &interpreter{imported: len(m.Imports), gas: gas, table: make([]uint32, m.Tables[0][2])}
	for _, t := range m.Types {
		params := int(t[1])
		in.types = append(in.types, signature{params, int(t[2+params])})
	}
	for _, i := range m.Imports {
		in.functions = append(in.functions, uint32(i[len(i)-1]))
	}
	rule := naivemeter.Measure(m.Encode())
	in.deploy = rule.DeployGas
	for i, f := range m.Functions {
		in.functions = append(in.functions, uint32(f[0]))
		_, n := binary.Uvarint(m.Code[i])
		body := m.Code[i][n:]
		in.bodies = append(in.bodies, prepare(body[1+2*int(body[0]):], int(body[0]), &rule.Functions[i]))
	}
	for _, g := range m.Globals {
		value, _ := signed(g[3:])
		in.globals = append(in.globals, narrow(g[0], value))
	}
	for _, e := range m.Elements {
		in.table[e[2]] = uint32(e[5]) + 1
	}
	in.memory, in.mostPages = make([]byte, int(m.Memories[0][1])<<16), uint64(m.Memories[0][2])
	for _, d := range m.Data {
		offset, n := signed(d[2:])
		copy(in.memory[offset:], d[2+n+2:])
	}
	return in
}

func narrow(t byte, v int64) uint64 {
	if t == I32 {
		return uint64(uint32(v))
	}
	return uint64(v)
}

// signed reads a signed LEB128.
func signed(b []byte) (v int64, n int) {
	for shift := 0; ; shift += 7 {
		c := b[n]
		n++
		v |= int64(c&0x7F) << shift
		if c < 0x80 {
			if shift < 57 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v, n
		}
	}
}

// after returns the offset after the instruction at pc.
func after(b []byte, pc int) int {
	skip := func(n int) int {
		for range n {
			for b[pc] >= 0x80 {
				pc++
			}
			pc++
		}
		return pc
	}
	opcode := b[pc]
	pc++
	switch {
	case opcode == BlockOp, opcode == LoopOp, opcode == IfOp, opcode == BrOp, opcode == BrIfOp, opcode == CallOp,
		opcode == I32Const,
		opcode == I64Const, opcode >= LocalGet && opcode <= GlobalSet, opcode == MemorySize, opcode == MemoryGrow:
		return skip(1)
	case opcode == CallIndirect, opcode >= I32Load && opcode <= 0x3E:
		return skip(2)
	case opcode == BrTableOp:
		n, _ := binary.Uvarint(b[pc:])
		return skip(int(n) + 2)
	}
	return pc
}

// prepare finds the ends of blocks, and stores the metering of the function.
func prepare(b []byte, locals int, rule *naivemeter.Function) *code {
	c := &code{
		bytes:     b,
		locals:    locals,
		otherwise: map[int]int{},
		ends:      map[int]int{},
		costs:     map[int]uint64{},
		frame:     rule.Frame,
	}
	for _, block := range rule.Blocks {
		c.costs[block.Offset] = block.Price
	}
	var open []int
	for pc := 0; pc < len(b); pc = after(b, pc) {
		switch b[pc] {
		case BlockOp, LoopOp, IfOp:
			open = append(open, pc)
		case Else:
			c.otherwise[open[len(open)-1]] = pc
		case End:
			if len(open) > 0 {
				c.ends[open[len(open)-1]] = pc
				open = open[:len(open)-1]
			}
		}
	}
	return c
}

// run calls a function of type () → () and returns how it ended.
func (in *interpreter) run(function uint32) (exit vm.Exit) {
	defer func() {
		if fault := recover(); fault != nil {
			exit = fault.(vm.Exit)
			in.gas = 0
		}
	}()
	in.call(function, nil)
	return vm.Returned
}

func (in *interpreter) take(gas uint64) {
	if gas > in.gas {
		panic(vm.OutOfGas)
	}
	in.gas -= gas
}

func trapIf(condition bool) {
	if condition {
		panic(vm.Trapped)
	}
}

// label is an open block of a running function.
type label struct {
	to      int // target of a branch
	results int // number of operands that it takes there
	height  int
	loop    bool
}

// frame is a running function.
type frame struct {
	*interpreter
	*code
	locals []uint64
	stack  []uint64
	labels []label
	pc     int
	done   bool
}

func (in *interpreter) call(function uint32, args []uint64) []uint64 {
	if int(function) < in.imported {
		in.take(50)
		return [][]uint64{{7}, {in.gas}}[function]
	}
	c, t := in.bodies[int(function)-in.imported], in.types[in.functions[function]]
	in.frames++
	if in.slots += c.frame; in.frames > 1024 || in.slots > 65_536 {
		panic(vm.StackOverflow)
	}
	f := &frame{interpreter: in, code: c, locals: append(args, make([]uint64, c.locals)...)}
	f.labels = []label{{to: len(c.bytes), results: t.results}}
	for f.enter(0); !f.done; {
		f.step()
	}
	in.frames--
	in.slots -= c.frame
	return f.stack[len(f.stack)-t.results:]
}

// enter begins a metered block.
func (f *frame) enter(pc int) {
	if f.pc = pc; pc == len(f.bytes) {
		f.done = true
		return
	}
	f.take(f.costs[pc])
}

func (f *frame) pop() uint64 {
	v := f.stack[len(f.stack)-1]
	f.stack = f.stack[:len(f.stack)-1]
	return v
}

func (f *frame) push(v uint64) { f.stack = append(f.stack, v) }

// branch jumps to a label, counted from the innermost.
func (f *frame) branch(n uint64) {
	l := f.labels[len(f.labels)-1-int(n)]
	f.labels = f.labels[:len(f.labels)-1-int(n)]
	f.stack = append(f.stack[:l.height], f.stack[len(f.stack)-l.results:]...)
	if l.loop {
		f.labels = append(f.labels, l)
	}
	f.enter(l.to)
}

func (f *frame) open(pc, next int) {
	l := label{to: after(f.bytes, f.ends[pc]), height: len(f.stack)}
	if f.bytes[pc+1] != Empty {
		l.results = 1
	}
	if f.bytes[pc] == LoopOp {
		l.to, l.results, l.loop = next, 0, true
	}
	f.labels = append(f.labels, l)
}

func (f *frame) step() {
	pc := f.pc
	opcode, next := f.bytes[pc], after(f.bytes, pc)
	first, n := binary.Uvarint(f.bytes[pc+1:])
	f.pc = next
	switch opcode {
	case Nop:
	case Unreachable:
		panic(vm.Trapped)
	case BlockOp:
		f.open(pc, next)
	case LoopOp:
		f.open(pc, next)
		f.enter(next)
	case IfOp:
		condition := f.pop()
		f.open(pc, next)
		otherwise, has := f.otherwise[pc]
		switch {
		case uint32(condition) != 0:
			f.enter(next)
		case has:
			f.enter(after(f.bytes, otherwise))
		default:
			f.branch(0)
		}
	case Else:
		f.branch(0)
	case End:
		f.labels = f.labels[:len(f.labels)-1]
		f.enter(next)
	case BrOp:
		f.branch(first)
	case BrIfOp:
		if uint32(f.pop()) != 0 {
			f.branch(first)
		} else {
			f.enter(next)
		}
	case BrTableOp:
		index := min(uint64(uint32(f.pop())), first)
		at := pc + 1 + n
		for range index {
			_, size := binary.Uvarint(f.bytes[at:])
			at += size
		}
		to, _ := binary.Uvarint(f.bytes[at:])
		f.branch(to)
	case Return:
		f.branch(uint64(len(f.labels) - 1))
	case CallOp:
		f.invoke(uint32(first))
	case CallIndirect:
		index := uint32(f.pop())
		trapIf(int(index) >= len(f.table) || f.table[index] == 0)
		function := f.table[index] - 1
		trapIf(f.functions[function] != uint32(first))
		f.invoke(function)
	case Drop:
		f.pop()
	case Select:
		condition, second := f.pop(), f.pop()
		if uint32(condition) == 0 {
			f.pop()
			f.push(second)
		}
	case LocalGet:
		f.push(f.locals[first])
	case LocalSet:
		f.locals[first] = f.pop()
	case LocalTee:
		f.locals[first] = f.stack[len(f.stack)-1]
	case GlobalGet:
		f.push(f.globals[first])
	case GlobalSet:
		f.globals[first] = f.pop()
	case MemorySize:
		f.push(uint64(len(f.memory) >> 16))
	case MemoryGrow:
		f.growMemory(uint64(uint32(f.pop())))
	case I32Const:
		v, _ := signed(f.bytes[pc+1:])
		f.push(uint64(uint32(v)))
	case I64Const:
		v, _ := signed(f.bytes[pc+1:])
		f.push(uint64(v))
	default:
		if opcode >= I32Load && opcode <= 0x3E {
			offset, _ := binary.Uvarint(f.bytes[pc+1+n:])
			f.access(opcode, offset)
			return
		}
		f.compute(opcode)
	}
}

func (f *frame) invoke(function uint32) {
	n := len(f.stack) - f.types[f.functions[function]].params
	args := append([]uint64(nil), f.stack[n:]...)
	f.stack = append(f.stack[:n], f.call(function, args)...)
}

func (f *frame) growMemory(pages uint64) {
	before := uint64(len(f.memory) >> 16)
	f.take(12000 * pages)
	if before+pages > f.mostPages {
		f.push(1<<32 - 1)
		return
	}
	f.memory = append(f.memory, make([]byte, pages<<16)...)
	f.push(before)
}

// access is a load or store: its number of bytes, and how loaded bytes become a value.
func (f *frame) access(opcode byte, offset uint64) {
	size := map[byte]int{
		0x28: 4, 0x29: 8, 0x2C: 1, 0x2D: 1, 0x2E: 2, 0x2F: 2, 0x30: 1, 0x31: 1, 0x32: 2, 0x33: 2, 0x34: 4, 0x35: 4,
		0x36: 4, 0x37: 8, 0x3A: 1, 0x3B: 2, 0x3C: 1, 0x3D: 2, 0x3E: 4,
	}[opcode]
	var value uint64
	if opcode >= I32Store {
		value = f.pop()
	}
	at := uint64(uint32(f.pop())) + offset
	trapIf(at+uint64(size) > uint64(len(f.memory)))
	var word [8]byte
	if opcode >= I32Store {
		binary.LittleEndian.PutUint64(word[:], value)
		copy(f.memory[at:at+uint64(size)], word[:])
		return
	}
	copy(word[:], f.memory[at:at+uint64(size)])
	value = binary.LittleEndian.Uint64(word[:])
	switch opcode {
	case 0x2C:
		value = uint64(uint32(int8(value)))
	case 0x2E:
		value = uint64(uint32(int16(value)))
	case 0x30:
		value = uint64(int8(value))
	case 0x32:
		value = uint64(int16(value))
	case 0x34:
		value = uint64(int32(value))
	}
	f.push(value)
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// compute is an instruction without immediates.
func (f *frame) compute(opcode byte) {
	right := f.pop()
	switch {
	case opcode == I32Eqz, opcode == 0x50:
		f.push(truth(right == 0))
	case opcode >= 0x46 && opcode <= 0x4F:
		left := f.pop()
		f.push(compare(opcode-0x46, int64(int32(left)), int64(int32(right)), left, right))
	case opcode >= 0x51 && opcode <= 0x5A:
		left := f.pop()
		f.push(compare(opcode-0x51, int64(left), int64(right), left, right))
	case opcode >= 0x67 && opcode <= 0x69:
		v := uint32(right)
		f.push(uint64([]int{bits.LeadingZeros32(v), bits.TrailingZeros32(v), bits.OnesCount32(v)}[opcode-0x67]))
	case opcode >= 0x79 && opcode <= 0x7B:
		f.push(uint64([]int{bits.LeadingZeros64(right), bits.TrailingZeros64(right), bits.OnesCount64(right)}[opcode-0x79]))
	case opcode >= 0x6A && opcode <= 0x78:
		f.push(uint64(arithmetic32(opcode-0x6A, uint32(f.pop()), uint32(right))))
	case opcode >= 0x7C && opcode <= 0x8A:
		f.push(arithmetic64(opcode-0x7C, f.pop(), right))
	case opcode == I32WrapI64, opcode == 0xAD:
		f.push(uint64(uint32(right)))
	case opcode == 0xAC, opcode == 0xC4:
		f.push(uint64(int32(right)))
	case opcode == 0xC0:
		f.push(uint64(uint32(int8(right))))
	case opcode == 0xC1:
		f.push(uint64(uint32(int16(right))))
	case opcode == 0xC2:
		f.push(uint64(int8(right)))
	case opcode == 0xC3:
		f.push(uint64(int16(right)))
	}
}

// compare: eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u.
func compare(which byte, a, b int64, x, y uint64) uint64 {
	return truth([]bool{x == y, x != y, a < b, x < y, a > b, x > y, a <= b, x <= y, a >= b, x >= y}[which])
}

// Arithmetic: add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u rotl rotr.
func arithmetic32(which byte, a, b uint32) uint32 {
	switch which {
	case 3, 4, 5, 6:
		trapIf(b == 0 || which == 3 && int32(a) == -1<<31 && b == 1<<32-1)
		return uint32(division(which, int64(int32(a)), int64(int32(b)), uint64(a), uint64(b)))
	case 11:
		return uint32(int32(a) >> (b % 32))
	case 13:
		return bits.RotateLeft32(a, int(b%32))
	case 14:
		return bits.RotateLeft32(a, -int(b%32))
	}
	return uint32(plainArithmetic(which, uint64(a), uint64(b), uint64(b%32)))
}

func arithmetic64(which byte, a, b uint64) uint64 {
	switch which {
	case 3, 4, 5, 6:
		trapIf(b == 0 || which == 3 && int64(a) == -1<<63 && b == 1<<64-1)
		return division(which, int64(a), int64(b), a, b)
	case 11:
		return uint64(int64(a) >> (b % 64))
	case 13:
		return bits.RotateLeft64(a, int(b%64))
	case 14:
		return bits.RotateLeft64(a, -int(b%64))
	}
	return plainArithmetic(which, a, b, b%64)
}

func division(which byte, a, b int64, x, y uint64) uint64 {
	switch which {
	case 3:
		return uint64(a / b)
	case 4:
		return x / y
	case 5:
		if b == -1 {
			return 0
		}
		return uint64(a % b)
	}
	return x % y
}

func plainArithmetic(which byte, a, b, shift uint64) uint64 {
	switch which {
	case 0:
		return a + b
	case 1:
		return a - b
	case 2:
		return a * b
	case 7:
		return a & b
	case 8:
		return a | b
	case 9:
		return a ^ b
	case 10:
		return a << shift
	}
	return a >> shift
}
