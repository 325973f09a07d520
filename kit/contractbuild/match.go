package contractbuild

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

var errOtherCode = errors.New("compiled with debug information, the source gives other code")

// code is the code section of a module, function by function.
type code struct {
	offset    int // offset of the section's content in the module
	imported  int
	functions []codeFunction
}

// codeFunction is a defined function.
type codeFunction struct {
	at     []int  // offsets of its instructions in the section's content
	shape  []byte // instructions in shortest form, without call targets
	masked []byte // shape without the operands of i32.const, which may be addresses
	calls  []int  // functions that it calls, in order
}

// codeOf reads the code section of a module.
func codeOf(module []byte) (c code, err error) {
	list, err := sections(module)
	if err != nil {
		return c, err
	}
	for _, s := range list {
		r := reader{code: s.content}
		switch s.id {
		case importSection:
			c.imported = countImported(&r)
		case codeSection:
			c.offset = s.offset
			for n := r.u32(); n > 0 && !r.failed; n-- {
				c.functions = append(c.functions, r.function())
			}
			r.failed = r.failed || r.at != len(s.content)
		}
		if r.failed {
			return c, errModule
		}
	}
	return c, nil
}

// function reads a code entry.
func (r *reader) function() (f codeFunction) {
	size := r.u32()
	end := r.at + size
	if r.failed || end > len(r.code) {
		r.failed = true
		return f
	}
	locals := r.locals(nil)
	f.shape, f.masked = locals, bytes.Clone(locals)
	for r.at < end && !r.failed {
		f.at = append(f.at, r.at)
		instruction := r.instruction(nil)
		kept := instruction
		switch {
		case r.failed:
			return f
		case instruction[0] == opCall:
			callee, _ := binary.Uvarint(instruction[1:])
			f.calls = append(f.calls, int(callee))
			instruction, kept = instruction[:1], instruction[:1]
		case instruction[0] == opI32Const:
			kept = instruction[:1]
		}
		f.shape, f.masked = append(f.shape, instruction...), append(f.masked, kept...)
	}
	r.failed = r.failed || r.at != end
	return f
}

// color identifies equivalent functions: functions of one color behave the same.
type color [sha256.Size]byte

// colors colors functions by their instructions and, iteratively, by the colors of their callees.
func (c code) colors(masked bool) []color {
	colors := make([]color, len(c.functions))
	for i, f := range c.functions {
		if colors[i] = sha256.Sum256(f.shape); masked {
			colors[i] = sha256.Sum256(f.masked)
		}
	}
	for known := 0; ; {
		classes := map[color]bool{}
		for _, color := range colors {
			classes[color] = true
		}
		if len(classes) == known {
			return colors
		}
		known = len(classes)
		next := make([]color, len(colors))
		for i, f := range c.functions {
			text := append([]byte(nil), colors[i][:]...)
			for _, callee := range f.calls {
				if own := callee - c.imported; own >= 0 && own < len(colors) {
					text = append(append(text, 1), colors[own][:]...)
				} else {
					text = binary.AppendUvarint(append(text, 0), uint64(callee))
				}
			}
			next[i] = sha256.Sum256(text)
		}
		colors = next
	}
}

// match maps each function of c to its counterpart in other, a build of the same source with the functions possibly in
// another order. Functions of one color are interchangeable.
func (c code) match(other code) ([]int, error) {
	for _, masked := range []bool{false, true} {
		places := map[color][]int{}
		for i, color := range other.colors(masked) {
			places[color] = append(places[color], i)
		}
		matched := make([]int, len(c.functions))
		all := len(c.functions) == len(other.functions) && c.imported == other.imported
		for i, color := range c.colors(masked) {
			if len(places[color]) == 0 {
				all = false
				break
			}
			matched[i], places[color] = places[color][0], places[color][1:]
		}
		if all {
			return matched, nil
		}
	}
	return nil, errOtherCode
}
