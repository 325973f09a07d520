package contractbuild

import "encoding/binary"

// Opcodes with immediates (WebAssembly Core 1.0, section 5.4).
const (
	opBlock        = 0x02
	opIf           = 0x04
	opBr           = 0x0C
	opBrIf         = 0x0D
	opBrTable      = 0x0E
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opGlobalSet    = 0x24
	opFirstLoad    = 0x28
	opLastStore    = 0x3E
	opMemorySize   = 0x3F
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
)

// number copies an unsigned LEB128.
func (r *reader) number(out []byte) []byte { return binary.AppendUvarint(out, uint64(r.u32())) }

// signed copies a signed LEB128 of at most 64 bits.
func (r *reader) signed(out []byte) []byte {
	var v int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if r.failed || shift > 63 {
			r.failed = true
			return out
		}
		v |= int64(b&0x7F) << shift
		if b&0x80 == 0 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			break
		}
	}
	for {
		b := byte(v & 0x7F)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// locals copies the declarations of locals.
func (r *reader) locals(out []byte) []byte {
	groups := r.u32()
	out = binary.AppendUvarint(out, uint64(groups))
	for range groups {
		if r.failed {
			break
		}
		out = append(r.number(out), r.byte())
	}
	return out
}

// instruction copies one instruction.
func (r *reader) instruction(out []byte) []byte {
	op := r.byte()
	out = append(out, op)
	switch {
	case op >= opBlock && op <= opIf, op == opMemorySize, op == opMemoryGrow:
		return append(out, r.byte())
	case op == opBr, op == opBrIf, op == opCall, op >= opLocalGet && op <= opGlobalSet:
		return r.number(out)
	case op == opCallIndirect:
		return append(r.number(out), r.byte())
	case op == opBrTable:
		targets := r.u32()
		out = binary.AppendUvarint(out, uint64(targets))
		for range targets + 1 {
			if r.failed {
				break
			}
			out = r.number(out)
		}
		return out
	case op >= opFirstLoad && op <= opLastStore:
		return r.number(r.number(out))
	case op == opI32Const, op == opI64Const:
		return r.signed(out)
	case op == opF32Const:
		return append(out, r.bytes(4)...)
	case op == opF64Const:
		return append(out, r.bytes(8)...)
	}
	return out
}
