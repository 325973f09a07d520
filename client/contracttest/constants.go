package contracttest

import (
	"encoding/binary"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// Constants are the numbers in a contract's code, each once, in order: the operands of i32.const and i64.const. A search
// for faults tries what the code compares with.
type Constants struct {
	I32, I64 []uint64
}

// The section of code, and opcodes with immediates (WebAssembly Core 1.0, 5.4 and 5.5).
const (
	codeSection    = 10
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
)

// ConstantsOf reads the constants of a code. An error says that it is none that can be deployed.
func ConstantsOf(code []byte) (c Constants, err error) {
	if _, err := vm.Check(code); err != nil {
		return c, err
	}
	const header = 8
	for rest := operands(code[header:]); len(rest) > 0; {
		id := rest[0]
		rest = rest[1:]
		size := rest.unsigned()
		content := rest[:size]
		rest = rest[size:]
		if id != codeSection {
			continue
		}
		for range content.unsigned() {
			size := content.unsigned()
			body := content[:size]
			content = content[size:]
			for range body.unsigned() { // the groups of locals
				body.unsigned()
				body = body[1:]
			}
			for len(body) > 0 {
				body.instruction(&c)
			}
		}
	}
	for _, numbers := range []*[]uint64{&c.I32, &c.I64} {
		slices.Sort(*numbers)
		*numbers = slices.Compact(*numbers)
	}
	return c, nil
}

// operands are what is left of a code that was checked.
type operands []byte

func (o *operands) unsigned() uint64 {
	v, n := binary.Uvarint(*o)
	*o = (*o)[n:]
	return v
}

// signed reads a signed LEB128.
func (o *operands) signed() (v int64) {
	for shift := 0; ; shift += 7 {
		b := (*o)[0]
		*o = (*o)[1:]
		v |= int64(b&0x7F) << shift
		if b&0x80 == 0 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}

// instruction reads one, and notes the constant that it has.
func (o *operands) instruction(c *Constants) {
	op := (*o)[0]
	*o = (*o)[1:]
	switch {
	case op >= opBlock && op <= opIf, op == opMemorySize, op == opMemoryGrow:
		*o = (*o)[1:]
	case op == opBr, op == opBrIf, op == opCall, op >= opLocalGet && op <= opGlobalSet:
		o.unsigned()
	case op == opCallIndirect, op >= opFirstLoad && op <= opLastStore:
		o.unsigned()
		o.unsigned()
	case op == opBrTable:
		for range o.unsigned() + 1 {
			o.unsigned()
		}
	case op == opI32Const:
		c.I32 = append(c.I32, uint64(uint32(o.signed())))
	case op == opI64Const:
		c.I64 = append(c.I64, uint64(o.signed()))
	}
}
