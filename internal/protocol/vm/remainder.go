package vm

import "slices"

// DivideRemainders gives a module that is [Module.Instrumented] for a compiler that has remainders wrong: a division, a
// multiplication and a subtraction stand for each. All that can be seen of a call stays the same. It takes time and
// memory linear in the module's length, and writes at most 25 bytes for one. What it returns must not be changed; it is
// the module itself if that has no remainder.
//
// It is not for every compiler. On amd64 a function of such remainders took 1.94 times the stack that its slots stand
// for: a quotient comes out of a fixed register, and took a slot. On arm64 it takes no more than without.
func DivideRemainders(module []byte) []byte {
	d := divider{reader: reader{code: module, at: 8, end: len(module)}}
	for d.at < d.end {
		from := d.at
		id := d.byte()
		size := d.u32()
		sectionEnd := d.at + int(size)
		switch id {
		case typeSection:
			for range d.u32() {
				d.byte() // the form
				n := d.u32()
				d.bytes(n)
				d.bytes(d.u32())
				d.params = append(d.params, n)
			}
		case functionSection:
			for range d.u32() {
				d.functions = append(d.functions, d.u32())
			}
		case codeSection:
			n, bodies := int(d.u32()), make([]byte, 0, int(size)+int(size)/4)
			for i := range n {
				size := d.u32()
				bodies = d.appendBody(bodies, d.params[d.functions[i]], d.at+int(size))
			}
			if !d.found {
				return module
			}
			out := appendSection(append(make([]byte, 0, len(module)+len(bodies)), module[:from]...), codeSection, n, bodies)
			return append(out, module[sectionEnd:]...)
		}
		d.at = sectionEnd
	}
	return module
}

// divider reads the module.
type divider struct {
	reader
	params    []uint32 // of each type, how many
	functions []uint32 // types
	found     bool     // whether there was a remainder

	body    []byte      // instructions of the function that is read, with those that are replaced
	locals  uint32      // that it has
	scratch []ValueType // types that it gets two more locals of, in this order
}

// appendBody writes the code entry that is next, which ends at an offset.
func (d *divider) appendBody(out []byte, params uint32, end int) []byte {
	d.body, d.locals, d.scratch = d.body[:0], params, d.scratch[:0]
	entry := d.at
	groups := d.u32()
	declared := d.at
	for range groups {
		d.locals += d.u32()
		d.byte()
	}
	code := d.at
	for copied := d.at; ; {
		from := d.at
		if from == end {
			d.body = append(d.body, d.code[copied:end]...)
			break
		}
		opcode := d.byte()
		if w := widthOf(opcode); w != nil {
			d.body = append(d.body, d.code[copied:from]...)
			d.divide(w, opcode == w.remainder)
			copied = d.at
		}
		d.immediates(opcode)
	}
	if len(d.scratch) == 0 {
		return appendBody(out, d.code[entry:end])
	}
	d.found = true
	b := appendU32(nil, groups+uint32(len(d.scratch)))
	b = append(b, d.code[declared:code]...)
	for _, t := range d.scratch {
		b = append(b, 2, t)
	}
	return appendBody(out, append(b, d.body...))
}

// width has the opcodes of a width of integers. That of the unsigned instruction follows the signed one's.
type width struct {
	value                                 ValueType
	constant, notEqual                    byte
	subtract, multiply, divide, remainder byte
}

var widths = [...]width{
	{I32, opI32Const, 0x47, 0x6B, 0x6C, 0x6D, 0x6F},
	{I64, opI64Const, 0x52, opI64Sub, 0x7E, 0x7F, 0x81},
}

// widthOf gives the width of a remainder, nil for other instructions.
func widthOf(opcode byte) *width {
	for i := range widths {
		if w := &widths[i]; opcode == w.remainder || opcode == w.remainder+1 {
			return w
		}
	}
	return nil
}

// divide writes what stands for a remainder. A signed division overflows where the remainder is 0: of the lowest number
// by −1. So −1 becomes 1, by which every remainder is 0 too.
func (d *divider) divide(w *width, signed bool) {
	at := slices.Index(d.scratch, w.value)
	if at < 0 {
		at = len(d.scratch)
		d.scratch = append(d.scratch, w.value)
	}
	dividend := d.locals + 2*uint32(at)
	divisor := dividend + 1
	local := func(opcode byte, index uint32) { d.body = appendU32(append(d.body, opcode), index) }
	write := func(b ...byte) { d.body = append(d.body, b...) }

	local(opLocalSet, divisor)
	local(opLocalTee, dividend)
	local(opLocalGet, dividend)
	local(opLocalGet, divisor)
	division := w.divide + 1
	if signed {
		division = w.divide
		const minusOne = 0x7F
		write(w.constant, 1)
		local(opLocalGet, divisor)
		write(w.constant, minusOne, w.notEqual, opSelect)
		local(opLocalTee, divisor)
	}
	write(division)
	local(opLocalGet, divisor)
	write(w.multiply, w.subtract)
}
