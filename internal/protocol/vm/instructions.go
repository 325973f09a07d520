package vm

// Opcodes that this package refers to by name (WebAssembly Core 1.0, section 5.4).
const (
	opUnreachable  = 0x00
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0B
	opBr           = 0x0C
	opBrIf         = 0x0D
	opBrTable      = 0x0E
	opReturn       = 0x0F
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1A
	opSelect       = 0x1B
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opMemorySize   = 0x3F
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI64LtS       = 0x53
	opI64GeS       = 0x59
	opI64Add       = 0x7C
	opI64Sub       = 0x7D
	opI64Or        = 0x84
	opI64Shl       = 0x86

	emptyBlock = 0x40 // the type of a block without a result
)

// shape is the way in which an instruction is decoded and typed.
type shape uint8

const (
	unknownInstruction shape = iota
	plain                    // no immediates; fixed operands and result
	memoryAccess             // like plain, with an alignment and an offset
	other                    // handled by its own case in body.step
)

// instruction is the table's entry for an opcode.
type instruction struct {
	shape    shape
	operands uint8        // number of operands
	in       [2]ValueType // types of the operands, the deepest first
	out      ValueType    // 0 for no result
	price    uint8
	values   uint8 // frame slots for values that it produces (docs/protocol.md, "Metering")
	ends     bool  // it ends a metered block
	traps    bool  // it may trap by itself; not set for instructions that contracts must not contain
	calls    bool  // it runs other code
	jumps    bool  // it jumps in the machine code, which costs more if the target is far
	float    bool  // it has float operands or a float result
	align    uint8 // largest alignment allowed for a memory access, as a power of two
}

// stops reports whether a call may end in the instruction. It excludes memory accesses, as notes in front of each would
// be too many.
func (i *instruction) stops() bool { return i.calls || i.traps && i.shape != memoryAccess }

// instructions is the table by opcode: WebAssembly 1.0 and the sign-extension operators.
var instructions = instructionTable()

func instructionTable() (table [256]instruction) {
	one := uint8(schedule.Instruction)
	for _, op := range []byte{
		opUnreachable, opNop, opBlock, opLoop, opIf, opElse, opEnd, opBr, opBrIf, opBrTable, opReturn, opCall,
		opCallIndirect, opDrop, opSelect, opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet, opMemorySize,
		opMemoryGrow, opI32Const, opI64Const, opF32Const, opF64Const,
	} {
		table[op] = instruction{shape: other, price: one, values: 1, float: op == opF32Const || op == opF64Const}
	}
	for _, op := range []byte{opBlock, opElse, opEnd} {
		table[op].price = uint8(schedule.Structure)
	}
	table[opCall].price, table[opCallIndirect].price = uint8(schedule.Call), uint8(schedule.CallIndirect)
	table[opMemoryGrow].price = uint8(schedule.Call) // it becomes a call
	table[opLoop].price = uint8(schedule.Loop)
	for _, op := range []byte{opIf, opBr, opBrIf} {
		table[op].price = uint8(schedule.Branch)
	}
	table[opBrTable].price = uint8(schedule.BrTable)
	for _, op := range []byte{opLoop, opIf, opElse, opEnd, opBr, opBrIf, opBrTable, opReturn, opUnreachable} {
		table[op].ends = true
	}
	for _, op := range []byte{opIf, opBr, opBrIf, opBrTable, opReturn, opCall, opCallIndirect} {
		table[op].jumps = true
	}
	table[opUnreachable].traps = true
	for _, op := range []byte{opBlock, opNop, opDrop, opLocalGet, opLocalSet, opLocalTee, opGlobalSet} {
		table[op].values = 0
	}
	for _, op := range []byte{opCall, opCallIndirect, opMemoryGrow} {
		table[op].values = 3 // a result, and the start and end of the memory, which are read again
		table[op].calls = true
	}
	for _, run := range numeric {
		for op := int(run.first); op <= int(run.last); op++ {
			table[op] = instruction{shape: plain, operands: uint8(len(run.in)), out: run.out, price: one, values: 1}
			copy(table[op].in[:], run.in)
		}
	}
	for i := range 4 { // div_s, div_u, rem_s, rem_u
		table[0x6D+i].price, table[0x6D+i].traps = uint8(schedule.DivRem32), true
		table[0x7F+i].price, table[0x7F+i].traps = uint8(schedule.DivRem64), true
	}
	for _, op := range []byte{0x45, 0x50, 0x67, 0x68, 0x69, 0x79, 0x7A, 0x7B} { // eqz, clz, ctz, popcnt
		table[op].price = uint8(schedule.Unary)
	}
	for i, access := range accesses {
		t := instruction{
			shape: memoryAccess, operands: 1, in: [2]ValueType{I32}, out: access.value, price: uint8(schedule.Load),
		}
		switch op := 0x28 + i; {
		case op == 0x3A || op == 0x3C: // store8
			t = instruction{shape: memoryAccess, operands: 2, in: [2]ValueType{I32, access.value}, price: uint8(schedule.Store8)}
		case op >= 0x36:
			t = instruction{shape: memoryAccess, operands: 2, in: [2]ValueType{I32, access.value}, price: uint8(schedule.Store)}
		}
		t.align, t.traps, t.values = access.align, true, 2 // the value and the address
		table[0x28+i] = t
	}
	for op := range table {
		t := &table[op]
		t.float = t.float || isFloat(t.in[0]) || isFloat(t.in[1]) || isFloat(t.out)
	}
	return table
}

func isFloat(t ValueType) bool { return t == f32 || t == f64 }

// numeric lists the instructions without immediates, as ranges of opcodes of the same type.
var numeric = []struct {
	first, last byte
	in          []ValueType
	out         ValueType
}{
	{0x45, 0x45, []ValueType{I32}, I32},      // i32.eqz
	{0x46, 0x4F, []ValueType{I32, I32}, I32}, // i32.eq to ge_u
	{0x50, 0x50, []ValueType{I64}, I32},      // i64.eqz
	{0x51, 0x5A, []ValueType{I64, I64}, I32}, // i64.eq to ge_u
	{0x5B, 0x60, []ValueType{f32, f32}, I32}, // f32.eq to ge
	{0x61, 0x66, []ValueType{f64, f64}, I32}, // f64.eq to ge
	{0x67, 0x69, []ValueType{I32}, I32},      // i32.clz, ctz, popcnt
	{0x6A, 0x78, []ValueType{I32, I32}, I32}, // i32.add to rotr
	{0x79, 0x7B, []ValueType{I64}, I64},      // i64.clz, ctz, popcnt
	{0x7C, 0x8A, []ValueType{I64, I64}, I64}, // i64.add to rotr
	{0x8B, 0x91, []ValueType{f32}, f32},      // f32.abs to sqrt
	{0x92, 0x98, []ValueType{f32, f32}, f32}, // f32.add to copysign
	{0x99, 0x9F, []ValueType{f64}, f64},      // f64.abs to sqrt
	{0xA0, 0xA6, []ValueType{f64, f64}, f64}, // f64.add to copysign
	{0xA7, 0xA7, []ValueType{I64}, I32},      // i32.wrap_i64
	{0xA8, 0xA9, []ValueType{f32}, I32},      // i32.trunc_f32
	{0xAA, 0xAB, []ValueType{f64}, I32},      // i32.trunc_f64
	{0xAC, 0xAD, []ValueType{I32}, I64},      // i64.extend_i32
	{0xAE, 0xAF, []ValueType{f32}, I64},      // i64.trunc_f32
	{0xB0, 0xB1, []ValueType{f64}, I64},      // i64.trunc_f64
	{0xB2, 0xB3, []ValueType{I32}, f32},      // f32.convert_i32
	{0xB4, 0xB5, []ValueType{I64}, f32},      // f32.convert_i64
	{0xB6, 0xB6, []ValueType{f64}, f32},      // f32.demote_f64
	{0xB7, 0xB8, []ValueType{I32}, f64},      // f64.convert_i32
	{0xB9, 0xBA, []ValueType{I64}, f64},      // f64.convert_i64
	{0xBB, 0xBB, []ValueType{f32}, f64},      // f64.promote_f32
	{0xBC, 0xBC, []ValueType{f32}, I32},      // i32.reinterpret_f32
	{0xBD, 0xBD, []ValueType{f64}, I64},      // i64.reinterpret_f64
	{0xBE, 0xBE, []ValueType{I32}, f32},      // f32.reinterpret_i32
	{0xBF, 0xBF, []ValueType{I64}, f64},      // f64.reinterpret_i64
	{0xC0, 0xC1, []ValueType{I32}, I32},      // i32.extend8_s, extend16_s
	{0xC2, 0xC4, []ValueType{I64}, I64},      // i64.extend8_s to extend32_s
}

// accesses lists the loads, from opcode 0x28, and the stores, from 0x36, with the value's type and natural alignment.
var accesses = []struct {
	value ValueType
	align uint8
}{
	{I32, 2}, {I64, 3}, {f32, 2}, {f64, 3}, // load
	{I32, 0}, {I32, 0}, {I32, 1}, {I32, 1}, // i32.load8, load16
	{I64, 0}, {I64, 0}, {I64, 1}, {I64, 1}, {I64, 2}, {I64, 2}, // i64.load8, load16, load32
	{I32, 2}, {I64, 3}, {f32, 2}, {f64, 3}, // store
	{I32, 0}, {I32, 1}, {I64, 0}, {I64, 1}, {I64, 2}, // i32.store8, store16, i64.store8, store16, store32
}
