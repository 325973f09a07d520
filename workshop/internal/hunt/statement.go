package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// Opcodes without names in wasmgen.
const (
	i64Eqz      = 0x50
	i64Eq       = 0x51
	i64LtS      = 0x53
	i64And      = 0x83
	i64Or       = 0x84
	i64Xor      = 0x85
	i64ExtendI8 = 0xC2
)

const deepest = 126 // limit of nested constructs

// statement writes a statement, selected by the weights of the genes. depth is the number of constructs that may be
// nested in it.
func (g *generator) statement(depth int) []byte {
	g.left -= 6
	if len(g.labels) >= deepest-35 {
		depth = 0
	}
	switch kind := g.pick(); kind {
	case "block", "if", "ifelse", "loop":
		if depth > 0 {
			return g.construct(kind, depth-1)
		}
	case "br_if":
		return g.branch()
	case "br_table":
		return Concat([]byte{BlockOp, Empty}, g.table(), []byte{End})
	case "call":
		return Concat(g.arguments(), Call(g.callee()), g.assign())
	case "indirect":
		return g.indirect()
	case "store":
		return g.store()
	case "global":
		return Concat(g.expression(1), Op(GlobalSet, uint32(g.IntN(g.of("globals")))))
	case "rotate":
		from, n := g.some()
		return rotate(from, n)
	case "update":
		from, n := g.some()
		return update(from, n)
	case "held":
		return g.held(depth)
	case "nest":
		return g.nest()
	case "grow":
		return Concat(Const(I32, int64(g.IntN(2))), Op(MemoryGrow, 0), []byte{Drop})
	case "dead":
		return Concat([]byte{BlockOp, Empty}, Op(BrOp, 0), g.in(false, func() []byte { return g.list(0) }), []byte{End})
	case "constants":
		return g.constants()
	}
	return Concat(g.expression(3), g.assign())
}

// pick selects the name of a statement by the weights.
func (g *generator) pick() string {
	total := 0
	for _, s := range statements {
		total += g.of(s)
	}
	if total == 0 {
		return "assign"
	}
	x := g.IntN(total)
	for _, s := range statements {
		if x -= g.of(s); x < 0 {
			return s
		}
	}
	return "assign"
}

func (g *generator) construct(kind string, depth int) []byte {
	inside := func() []byte { return g.list(depth) }
	switch kind {
	case "block":
		return Concat([]byte{BlockOp, Empty}, g.in(false, inside), []byte{End})
	case "if":
		return Concat(g.condition(), []byte{IfOp, Empty}, g.in(false, inside), []byte{End})
	case "ifelse":
		return Concat(g.condition(), []byte{IfOp, Empty}, g.in(false, inside), []byte{Else}, g.in(false, inside), []byte{End})
	}
	return Concat([]byte{LoopOp, Empty}, g.in(true, inside), []byte{End})
}

// branch writes a br_if to a random label. A branch to a loop is mostly not taken; others may loop until the gas is
// used up.
func (g *generator) branch() []byte {
	label := g.IntN(len(g.labels))
	if g.labels[len(g.labels)-1-label] && g.IntN(4) > 0 {
		return Concat(g.zero(), []byte{I32WrapI64}, Op(BrIfOp, uint32(label)))
	}
	return Concat(g.condition(), Op(BrIfOp, uint32(label)))
}

// table writes a br_table in its own block, which it leaves by the first target.
func (g *generator) table() []byte {
	targets := make([]uint32, 1+g.IntN(1+g.IntN(200)))
	for i := 1; i < len(targets); i++ {
		targets[i] = uint32(g.IntN(len(g.labels) + 1))
	}
	g.left -= len(targets)
	index := g.zero()
	if g.IntN(3) == 0 {
		index = Concat(g.local(), Const(I64, int64(g.IntN(8))), []byte{i64And})
	}
	return Concat(index, []byte{I32WrapI64}, BrTable(0, targets...))
}

func (g *generator) arguments() (b []byte) {
	g.left -= 2 * len(g.params)
	for range g.params {
		b = append(b, g.local()...)
	}
	return b
}

// callee returns a function after the current one, so that calls terminate; after the last it is the leaf.
func (g *generator) callee() uint32 {
	if g.next > g.last {
		return leaf
	}
	return uint32(g.next + g.IntN(g.last-g.next+1))
}

func (g *generator) indirect() []byte {
	mask := int64(1)
	for 2*mask <= int64(g.of("elements")) {
		mask *= 2
	}
	index := Concat(g.local(), []byte{I32WrapI64}, Const(I32, mask-1), []byte{I32And})
	return Concat(g.arguments(), index, Op(CallIndirect, wide, 0), g.assign())
}

// address returns the address and offset of a memory access. Offsets cross the ends of cache lines and pages. The
// access stays within one page of 64 KiB.
func (g *generator) address() (address []byte, offset uint32) {
	offset = []uint32{0, uint32(g.IntN(64)), 61, 4_093, uint32(g.IntN(8_000))}[g.IntN(5)]
	return Concat(g.expression(1), []byte{I32WrapI64}, Const(I32, []int64{0, 0x7FF8, 0x7000, 0x7FFF}[g.IntN(4)]),
		[]byte{I32And}), offset
}

func (g *generator) store() []byte {
	address, offset := g.address()
	if g.IntN(4) == 0 {
		return Concat(address, g.expression(1), []byte{I32WrapI64}, Op([]byte{I32Store, 0x3A, 0x3B}[g.IntN(3)], 0, offset))
	}
	return Concat(address, g.expression(1), Op([]byte{I64Store, 0x3C, 0x3D, 0x3E}[g.IntN(4)], 0, offset))
}

// some selects a range of wide locals.
func (g *generator) some() (from, n int) {
	if g.wides == 0 {
		return 0, 0
	}
	n = 1 + g.IntN(min(g.of("width"), g.wides))
	g.left -= 5 * n
	return g.IntN(g.wides - n + 1), n
}

// held holds operands on the stack across statements.
func (g *generator) held(depth int) []byte {
	n := 1 + g.IntN(g.of("stack"))
	g.left -= 3 * n
	var b []byte
	for range n {
		b = append(b, g.expression(1)...)
	}
	// A branch out of here drops them, which is equally useful.
	return Concat(b, g.list(min(depth, 1)), bytes.Repeat([]byte{I64Add}, n-1), g.assign())
}

// nest writes nested blocks, left by a br_table that targets them all, around a rotation that is never executed.
func (g *generator) nest() []byte {
	depth := 2 + g.IntN(30)
	g.left -= 5 * depth
	from, n := g.some()
	return Concat(ladder(depth, g.zero(), from, n))
}

// constants writes 64-bit constants, each of which takes an instruction.
func (g *generator) constants() (b []byte) {
	b = g.local()
	for range 1 + g.IntN(20) {
		b = Concat(b, Const(I64, int64(g.Uint64())), []byte{[]byte{I64Add, i64Xor, I64Mul}[g.IntN(3)]})
	}
	g.left -= 100
	return Concat(b, g.assign())
}

// expression pushes an i64.
func (g *generator) expression(depth int) []byte {
	if depth == 0 || g.IntN(3) == 0 {
		switch g.IntN(8) {
		case 0:
			return Const(I64, int64(g.Uint32()))
		case 1:
			return Op(GlobalGet, uint32(g.IntN(g.of("globals"))))
		}
		return g.local()
	}
	one := func() []byte { return g.expression(depth - 1) }
	switch g.IntN(12) {
	case 0:
		address, offset := g.address()
		return Concat(address, Op([]byte{I64Load, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35}[g.IntN(7)], 0, offset))
	case 1:
		return Concat(one(), one(), g.condition(), []byte{Select})
	case 2:
		return Concat(one(), []byte{byte(0x79 + g.IntN(3))}) // clz, ctz, popcnt
	case 3:
		return Concat(one(), one(), Const(I64, 1), []byte{i64Or, []byte{I64DivU, 0x82}[g.IntN(2)]})
	case 4:
		return Concat(one(), one(), []byte{byte(0x86 + g.IntN(5))}) // shifts and rotations
	case 5:
		return Concat(one(), one(), []byte{byte(i64Eq + g.IntN(10)), I64ExtendI32U})
	case 6:
		return Concat(one(), []byte{I32WrapI64}, one(), []byte{I32WrapI64, byte(0x6A + g.IntN(3)), I64ExtendI32U})
	case 7:
		return Concat(one(), []byte{byte(i64ExtendI8 + g.IntN(3))})
	case 8:
		return Concat(one(), []byte{I32WrapI64, byte(0x67 + g.IntN(3)), I64ExtendI32U})
	}
	return Concat(one(), one(), []byte{[]byte{I64Add, 0x7D, I64Mul, i64Xor}[g.IntN(4)]})
}
