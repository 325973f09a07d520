package wasmgen

// access is a load or store.
type access struct{ opcode, value, align byte }

var (
	loads = []access{
		{0x28, I32, 2}, {0x2C, I32, 0}, {0x2D, I32, 0}, {0x2E, I32, 1}, {0x2F, I32, 1}, {0x29, I64, 3}, {0x30, I64, 0},
		{0x31, I64, 0}, {0x32, I64, 1}, {0x33, I64, 1}, {0x34, I64, 2}, {0x35, I64, 2},
	}
	stores = []access{
		{0x36, I32, 2}, {0x3A, I32, 0}, {0x3B, I32, 1}, {0x37, I64, 3}, {0x3C, I64, 0}, {0x3D, I64, 1}, {0x3E, I64, 2},
	}
)

// expression leaves a value of a type.
func (g *generator) expression(t byte) []byte {
	if g.spent() {
		return g.leaf(t)
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.IntN(14) {
	case 0, 1, 2:
		return g.leaf(t)
	case 3, 4, 5:
		return g.binary(t)
	case 6:
		return g.unary(t)
	case 7:
		return Concat(g.expression(t), g.expression(t), g.expression(I32), Op(Select))
	case 8:
		return g.inside(BlockOp, t)
	case 9:
		return Concat(g.expression(I32), g.inside(IfOp, t))
	case 10:
		return g.load(t)
	case 11:
		if i, ok := g.local(t); ok {
			return Concat(g.expression(t), Op(LocalTee, i))
		}
		if g.spared() {
			return g.inside(BlockOp, t)
		}
		return g.inside(LoopOp, t)
	case 12:
		return g.call(t)
	}
	if t == I32 && g.IntN(4) == 0 {
		return Concat(g.expression(I32), Const(I32, 3), []byte{0x71 /* i32.and */}, Op(MemoryGrow, 0))
	}
	return g.leaf(t)
}

func (g *generator) leaf(t byte) []byte {
	switch g.IntN(5) {
	case 0, 1:
		if i, ok := g.local(t); ok {
			return Op(LocalGet, i)
		}
	case 2:
		if t == I64 {
			return Op(GlobalGet, uint32(2+g.IntN(2)))
		}
		return Op(GlobalGet, uint32(g.IntN(2)))
	case 3:
		if t == I32 {
			return Op(MemorySize, 0)
		}
	}
	return g.constant(t)
}

// binary is arithmetic, which for divisions may trap, or a comparison.
func (g *generator) binary(t byte) []byte {
	if t == I64 {
		return g.arithmetic(I64, g.expression(I64), g.expression(I64))
	}
	switch g.IntN(4) {
	case 0:
		return Concat(g.expression(I32), g.expression(I32), []byte{byte(0x46 + g.IntN(10))})
	case 1:
		return Concat(g.expression(I64), g.expression(I64), []byte{byte(0x51 + g.IntN(10))})
	}
	return g.arithmetic(I32, g.expression(I32), g.expression(I32))
}

// Among the instructions of arithmetic in their order are div_s, div_u, rem_s and rem_u.
const (
	firstDivision = 3
	lastDivision  = 6
)

// arithmetic writes one of the instructions add to rotr.
func (g *generator) arithmetic(t byte, left, right []byte) []byte {
	return g.instruction(t, left, right, g.IntN(15))
}

// instruction writes the arithmetic instruction with a number. A divisor that must not trap is made odd.
func (g *generator) instruction(t byte, left, right []byte, number int) []byte {
	add, or := byte(I32Add), byte(I32Or)
	if t == I64 {
		add, or = I64Add, I64Or
	}
	if number >= firstDivision && number <= lastDivision && g.spared() {
		right = Concat(right, Const(t, 1), []byte{or})
	}
	return Concat(left, right, []byte{add + byte(number)})
}

func (g *generator) unary(t byte) []byte {
	if t == I64 {
		switch g.IntN(3) {
		case 0:
			return Concat(g.expression(I32), []byte{byte(0xAC + g.IntN(2))}) // i64.extend_i32
		case 1:
			return Concat(g.expression(I64), []byte{byte(0xC2 + g.IntN(3))}) // i64.extend8_s to extend32_s
		}
		return Concat(g.expression(I64), []byte{byte(0x79 + g.IntN(3))})
	}
	switch g.IntN(5) {
	case 0:
		return Concat(g.expression(I64), []byte{0x50}) // i64.eqz
	case 1:
		return Concat(g.expression(I64), []byte{I32WrapI64})
	case 2:
		return Concat(g.expression(I32), []byte{byte(0xC0 + g.IntN(2))}) // i32.extend8_s, extend16_s
	case 3:
		return Concat(g.expression(I32), []byte{I32Eqz})
	}
	return Concat(g.expression(I32), []byte{byte(0x67 + g.IntN(3))})
}

func (g *generator) load(t byte) []byte {
	for {
		if l := loads[g.IntN(len(loads))]; l.value == t {
			return Concat(g.address(), Op(l.opcode, uint32(g.IntN(int(l.align)+1)), uint32(g.IntN(300))))
		}
	}
}

// call calls a function with this result, a host function if there is no other.
func (g *generator) call(t byte) []byte {
	for {
		f := uint32(g.IntN(g.callable))
		if s := signatures[g.functions[f]]; s.result == t {
			return Concat(g.arguments(s.params), Call(f))
		}
	}
}
