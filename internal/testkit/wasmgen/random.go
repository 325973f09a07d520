package wasmgen

import "math/rand/v2"

// signatures lists the types of a random contract by index.
var signatures = []struct {
	params []byte
	result byte
}{
	{nil, 0},
	{nil, I32},
	{nil, I64},
	{[]byte{I32}, I32},
	{[]byte{I32, I64}, I64},
	{[]byte{I64, I32, I32}, 0},
}

// globalTypes lists the mutable globals of a random contract. A constant i64 follows.
var globalTypes = []byte{I32, I32, I64}

const (
	tableSize    = 8 // the last element is empty
	globalsStart = 128
	mostNodes    = 300 // instructions per function, approximately
	mostDepth    = 6
)

// Random returns a contract generated from r: calls, recursion, loops, branches of each kind, dead code, memory, a
// table and globals. Its function `run` may trap, run out of gas or overflow the stack; otherwise it leaves the values
// of the globals in memory. It imports args_len and gas_left of module `cairn` as functions 0 and 1.
func Random(r *rand.Rand) *Module { return randomWith(r, (*generator).function) }

// randomWith returns a random contract. function returns the declared locals and the instructions of the function with
// an index.
func randomWith(r *rand.Rand, function func(g *generator, index uint32) (locals, instructions []byte)) *Module {
	m := Contract(1, 3)
	for _, t := range signatures {
		m.AddType(t.params, t.result)
	}
	m.Imports = [][]byte{ImportFunction("cairn", "args_len", 1), ImportFunction("cairn", "gas_left", 2)}
	m.Tables = [][]byte{Concat([]byte{0x70, 0}, U32(tableSize))}
	for _, t := range globalTypes {
		m.Globals = append(m.Globals, Global(t, true, int64(r.Uint64())))
	}
	m.Globals = append(m.Globals, Global(I64, false, int64(r.Uint64())))

	g := &generator{Rand: r, functions: []uint32{1, 2}}
	for range 1 + r.IntN(5) {
		g.functions = append(g.functions, uint32(r.IntN(len(signatures))))
	}
	for f := len(m.Imports); f < len(g.functions); f++ {
		g.callable = len(g.functions)
		locals, instructions := function(g, uint32(f))
		m.AddFunction(g.functions[f], locals, instructions...)
	}
	g.begin(nil, 0)
	var run []byte
	for f := range g.functions[len(m.Imports):] {
		run = append(run, g.callStatement(uint32(len(m.Imports)+f))...)
	}
	for i, t := range globalTypes {
		run = Concat(run, Const(I32, int64(globalsStart+8*i)), Op(GlobalGet, uint32(i)), storeOp(t))
	}
	m.Export("run", FunctionKind, m.AddFunction(0, nil, run...))
	for i := range tableSize - 1 {
		m.Elements = append(m.Elements, Element(int32(i), uint32(r.IntN(len(g.functions)))))
	}
	m.Data = [][]byte{Data(int32(r.IntN(1000)), "a few bytes of data, to be read back")}
	return m
}

func storeOp(t byte) []byte {
	if t == I32 {
		return Op(I32Store, 2, 0)
	}
	return Op(I64Store, 3, 0)
}

// unnamed is the label of a loop that must terminate: no branch targets it.
const unnamed = 1

// generator writes the instructions of one function.
type generator struct {
	*rand.Rand
	functions []uint32 // types by function index
	callable  int      // number of functions, from the first on, that are called directly
	locals    []byte   // including the params
	labels    []byte   // type of the operand of a branch to each label, innermost last; 0: none; or unnamed
	nodes     int
	depth     int
	calm      int // if above 1, constructs that mostly trap or never end are written once in this many times
}

// spared reports whether to omit a construct that mostly traps or never ends.
func (g *generator) spared() bool { return g.calm > 1 && g.IntN(g.calm) > 0 }

func (g *generator) begin(locals []byte, result byte) {
	g.locals, g.labels, g.nodes, g.depth = locals, []byte{result}, mostNodes, 0
}

// function returns the declared locals and instructions of a function.
func (g *generator) function(index uint32) (locals, instructions []byte) {
	t := signatures[g.functions[index]]
	for range g.IntN(4) {
		locals = append(locals, g.valueType())
	}
	g.begin(Concat(t.params, locals), t.result)
	return locals, g.body(t.result)
}

func (g *generator) valueType() byte { return []byte{I32, I64}[g.IntN(2)] }

// body writes some statements and, if there is a result, an expression.
func (g *generator) body(result byte) (b []byte) {
	for range 1 + g.IntN(4) {
		b = append(b, g.statement()...)
	}
	if result != 0 {
		b = append(b, g.expression(result)...)
	}
	return b
}

// inside writes a block with its label.
func (g *generator) inside(opcode, result byte) []byte {
	label := result
	if opcode == LoopOp {
		label = 0
	}
	g.labels = append(g.labels, label)
	b := Concat([]byte{opcode, blockType(result)}, g.body(result))
	if opcode == IfOp && (result != 0 || g.IntN(2) == 0) {
		b = Concat(b, []byte{Else}, g.body(result))
	}
	g.labels = g.labels[:len(g.labels)-1]
	return append(b, End)
}

func blockType(result byte) byte {
	if result == 0 {
		return Empty
	}
	return result
}

// spent reports whether the rest must be short.
func (g *generator) spent() bool {
	g.nodes--
	return g.nodes < 0 || g.depth > mostDepth
}

func (g *generator) statement() []byte {
	if g.spent() {
		return Op(Nop)
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.IntN(16) {
	case 0, 1:
		if i, ok := g.local(g.valueType()); ok {
			return Concat(g.expression(g.locals[i]), Op(LocalSet, uint32(i)))
		}
		return Op(Nop)
	case 2, 3:
		i := g.IntN(len(globalTypes))
		return Concat(g.expression(globalTypes[i]), Op(GlobalSet, uint32(i)))
	case 4, 5:
		s := stores[g.IntN(len(stores))]
		return Concat(g.address(), g.expression(s.value), Op(s.opcode, uint32(g.IntN(int(s.align)+1)), uint32(g.IntN(300))))
	case 6:
		return g.inside(BlockOp, 0)
	case 7:
		return g.loop()
	case 8, 9:
		return Concat(g.expression(I32), g.inside(IfOp, 0))
	case 10, 11:
		return g.branch()
	case 12, 13:
		return g.callStatement(uint32(g.IntN(g.callable)))
	case 14:
		return Concat(g.expression(g.valueType()), Op(Drop))
	}
	if g.spared() {
		return Op(Nop)
	}
	if g.IntN(20) == 0 {
		return Op(Unreachable)
	}
	i := g.IntN(len(signatures))
	b := g.arguments(signatures[i].params)
	b = Concat(b, g.index(), Op(CallIndirect, uint32(i), 0))
	if signatures[i].result != 0 {
		b = append(b, Drop)
	}
	return b
}

// loop writes a loop of a few turns, or one whose number of turns an expression determines.
func (g *generator) loop() []byte {
	label := byte(0)
	if g.spared() {
		label = unnamed
	}
	g.labels = append(g.labels, label)
	b := g.body(0)
	condition := g.expression(I32)
	if i, ok := g.local(I32); ok && (g.IntN(4) > 0 || g.spared()) {
		condition = Concat(
			Op(LocalGet, i), Const(I32, 3), []byte{0x71 /* i32.and */}, Op(LocalGet, i), Const(I32, 1), Op(I32Add),
			Op(LocalSet, i),
		)
	}
	g.labels = g.labels[:len(g.labels)-1]
	return Concat([]byte{LoopOp, Empty}, b, condition, Op(BrIfOp, 0), []byte{End})
}

// branch writes a branch of any kind. It pushes the label's operand, and drops it if execution continues.
func (g *generator) branch() []byte {
	label := g.IntN(len(g.labels))
	taken := g.labels[len(g.labels)-1-label]
	var value []byte
	switch taken {
	case 0:
	case unnamed:
		return Op(Nop)
	default:
		value = g.expression(taken)
	}
	switch g.IntN(8) {
	case 0:
		return Concat(value, Op(BrOp, uint32(label)))
	case 1:
		if result := g.labels[0]; result != 0 {
			return Concat(g.expression(result), Op(Return))
		}
		return Op(Return)
	case 2, 3:
		var same []uint32
		for i := range g.labels {
			if g.labels[len(g.labels)-1-i] == taken {
				same = append(same, uint32(i))
			}
		}
		targets := make([]uint32, g.IntN(4))
		for i := range targets {
			targets[i] = same[g.IntN(len(same))]
		}
		return Concat(value, g.index(), BrTable(uint32(label), targets...))
	}
	b := Concat(value, g.expression(I32), Op(BrIfOp, uint32(label)))
	if taken != 0 {
		b = append(b, Drop)
	}
	return b
}

func (g *generator) callStatement(function uint32) []byte {
	t := signatures[g.functions[function]]
	b := Concat(g.arguments(t.params), Call(function))
	if t.result != 0 {
		b = append(b, Drop)
	}
	return b
}

func (g *generator) arguments(params []byte) (b []byte) {
	for _, t := range params {
		b = append(b, g.expression(t)...)
	}
	return b
}

// address writes an address, mostly within the memory.
func (g *generator) address() []byte {
	if g.IntN(8) == 0 && !g.spared() {
		return g.expression(I32)
	}
	return Concat(g.expression(I32), Const(I32, 1023), []byte{0x71 /* i32.and */})
}

// index writes a small index.
func (g *generator) index() []byte {
	return Concat(g.expression(I32), Const(I32, tableSize-1), []byte{0x71 /* i32.and */})
}

// local selects a local of a type.
func (g *generator) local(t byte) (uint32, bool) {
	var fit []uint32
	for i, have := range g.locals {
		if have == t {
			fit = append(fit, uint32(i))
		}
	}
	if len(fit) == 0 {
		return 0, false
	}
	return fit[g.IntN(len(fit))], true
}

func (g *generator) constant(t byte) []byte {
	if g.IntN(2) == 0 {
		return Const(t, int64(g.IntN(40)-20))
	}
	return Const(t, int64(g.Uint64()>>g.IntN(64)))
}
