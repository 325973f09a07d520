package vm

import "unicode/utf8"

// reader reads the binary format. It refuses invalid input by a panic with a *Refused, which [parse] recovers: the
// format has a rule for nearly every byte.
type reader struct {
	code []byte
	at   int // offset of the next byte
	end  int // end of the section or body being read
}

// refuse aborts the reading.
func (r *reader) refuse(reason Reason) { panic(&Refused{Reason: reason, Offset: r.at}) }

func (r *reader) byte() byte {
	if r.at >= r.end {
		r.refuse(reasonEnd)
	}
	b := r.code[r.at]
	r.at++
	return b
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() uint32 {
	if r.at < r.end && r.code[r.at] < 0x80 {
		r.at++
		return uint32(r.code[r.at-1])
	}
	var v uint32
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if shift == 28 && b >= 0x80 {
			r.refuse(reasonIntegerLong)
		}
		if shift == 28 && b > 0x0F {
			r.refuse(reasonIntegerLarge)
		}
		v |= uint32(b&0x7F) << shift
		if b < 0x80 {
			return v
		}
	}
}

// signed reads a signed LEB128 of the given width in bits, 32 or 64.
func (r *reader) signed(width int) int64 {
	var v int64
	for shift := 0; ; shift += 7 {
		b := r.byte()
		if last := width - shift; last < 7 {
			if b >= 0x80 {
				r.refuse(reasonIntegerLong)
			}
			// The bits above the type's highest bit must repeat it.
			if above := int8(b<<1) >> last; above != 0 && above != -1 {
				r.refuse(reasonIntegerLarge)
			}
		}
		v |= int64(b&0x7F) << shift
		if b < 0x80 {
			if shift += 7; shift < 64 {
				v = v << (64 - shift) >> (64 - shift)
			}
			return v
		}
	}
}

// bytes returns the next n bytes without copying them.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.end-r.at) {
		r.refuse(reasonEnd)
	}
	b := r.code[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

// name reads a name.
func (r *reader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.refuse(reasonName)
	}
	return string(b)
}

// count reads the length of a vector. Each element takes at least a byte, so the remaining input bounds the result and
// allocations of that length.
func (r *reader) count() int {
	n := r.u32()
	if uint64(n) > uint64(r.end-r.at) {
		r.refuse(reasonEnd)
	}
	return int(n)
}

// limits reads limits. Without a maximum in the input, most is unlimited.
func (r *reader) limits(unlimited uint32) limits {
	flag := r.byte()
	if flag > 1 {
		r.refuse(reasonLimitsFlag)
	}
	l := limits{least: r.u32(), most: unlimited, bounded: flag == 1}
	if l.bounded {
		if l.most = r.u32(); l.most < l.least {
			r.refuse(reasonLimits)
		}
	}
	return l
}

// appendU32 appends the shortest unsigned LEB128.
func appendU32(b []byte, v uint32) []byte {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// appendS64 appends the shortest signed LEB128.
func appendS64(b []byte, v int64) []byte {
	for v < -64 || v > 63 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7F)
}

// immediates skips the immediates of an opcode. Contracts have no floats.
func (r *reader) immediates(opcode byte) {
	var n uint32
	switch opcode {
	case opBlock, opLoop, opIf, opBr, opBrIf, opCall, opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet,
		opMemorySize, opMemoryGrow, opI32Const, opI64Const:
		n = 1
	case opCallIndirect:
		n = 2
	case opBrTable:
		n = r.u32() + 1
	default:
		if instructions[opcode].shape == memoryAccess {
			n = 2
		}
	}
	for range n {
		for r.byte() >= 0x80 {
		}
	}
}
