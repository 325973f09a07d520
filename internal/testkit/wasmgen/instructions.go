package wasmgen

// Opcodes (WebAssembly Core 1.0, section 5.4).
const (
	Unreachable  = 0x00
	Nop          = 0x01
	BlockOp      = 0x02
	LoopOp       = 0x03
	IfOp         = 0x04
	Else         = 0x05
	End          = 0x0B
	BrOp         = 0x0C
	BrIfOp       = 0x0D
	BrTableOp    = 0x0E
	Return       = 0x0F
	CallOp       = 0x10
	CallIndirect = 0x11
	Drop         = 0x1A
	Select       = 0x1B
	LocalGet     = 0x20
	LocalSet     = 0x21
	LocalTee     = 0x22
	GlobalGet    = 0x23
	GlobalSet    = 0x24
	I32Load      = 0x28
	I64Load      = 0x29
	I32Store     = 0x36
	I64Store     = 0x37
	MemorySize   = 0x3F
	MemoryGrow   = 0x40
	I32Const     = 0x41
	I64Const     = 0x42
	I32Eqz       = 0x45
	I32Eq        = 0x46
	I32Add       = 0x6A
	I32And       = 0x71
	I32Or        = 0x72
	I32Sub       = 0x6B
	I32DivU      = 0x6E
	I32LtU       = 0x49
	I32Shl       = 0x74
	I64Mul       = 0x7E
	I64DivU      = 0x80
	I64ShrU      = 0x88
	I64Add       = 0x7C
	I64Or        = 0x84
	I32WrapI64   = 0xA7

	I64ExtendI32U = 0xAD

	Empty = 0x40 // the type of a block without a result
)

// Const writes i32.const or i64.const.
func Const(valueType byte, value int64) []byte {
	if valueType == I32 {
		return append([]byte{I32Const}, S64(int64(int32(value)))...)
	}
	return append([]byte{I64Const}, S64(value)...)
}

// Op writes an instruction with unsigned immediates: local.get 3, br 0, i32.load 2 16.
func Op(opcode byte, immediates ...uint32) []byte {
	b := []byte{opcode}
	for _, v := range immediates {
		b = append(b, U32(v)...)
	}
	return b
}

// Call writes a call.
func Call(function uint32) []byte { return Op(CallOp, function) }

// BrTable writes a br_table.
func BrTable(otherwise uint32, targets ...uint32) []byte {
	b := Op(BrTableOp, uint32(len(targets)))
	return append(b, Op(0, append(targets, otherwise)...)[1:]...)
}
