package vm

import "slices"

// DivideRemainders rewrites an instrumented module (see [Module.Instrumented]) for a compiler with a faulty remainder
// instruction: it replaces each by a division, a multiplication and a subtraction. The observable behaviour of calls
// stays the same. It takes time and memory linear in the module's length, and writes at most 25 bytes per remainder. If
// there is no remainder, it returns module itself. The caller must not modify the result.
//
// It is not suitable for every compiler. On amd64 a function full of such divisions took 1.94 times the stack that its
// slots account for, because a quotient comes out of a fixed register and took a slot. On arm64 it takes no more than
// without.
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
				d.byte() // form of the type
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

// divider is a pass over the module.
type divider struct {
	reader
	params    []uint32 // number of params by type
	functions []uint32 // type by function
	found     bool     // the module has a remainder

	body    []byte      // instructions of the current function, with replacements
	locals  uint32      // locals of the current function
	scratch []ValueType // types of which the current function needs two more locals, in this order
}

// appendBody rewrites the next code entry, which ends at offset end.
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

// width holds the opcodes for a width of integers. The opcode of an unsigned instruction follows the signed one.
type width struct {
	value                                 ValueType
	constant, notEqual                    byte
	subtract, multiply, divide, remainder byte
}

var widths = [...]width{
	{I32, opI32Const, 0x47, 0x6B, 0x6C, 0x6D, 0x6F},
	{I64, opI64Const, 0x52, opI64Sub, 0x7E, 0x7F, 0x81},
}

// widthOf returns the width of a remainder instruction, or nil for other instructions.
func widthOf(opcode byte) *width {
	for i := range widths {
		if w := &widths[i]; opcode == w.remainder || opcode == w.remainder+1 {
			return w
		}
	}
	return nil
}

// divide writes the replacement of a remainder. A signed division of the lowest number by −1 overflows, while the
// remainder is 0. Therefore the divisor −1 is replaced by 1, which also makes every remainder 0.
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
