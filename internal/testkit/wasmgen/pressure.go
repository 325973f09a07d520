package wasmgen

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/rand/v2"
)

// What a function under pressure has: more live values than any processor has registers, and statements in which they
// are used.
const (
	leastLive        = 24
	mostLive         = 60
	pressureAt       = 256 // where in memory the values begin, 8 bytes each
	pressureSegment  = 100 // bytes
	pressureSegments = 2 * 8 * mostLive / pressureSegment
	pressureNodes    = 12 // of a statement, about
)

// Pressure makes a contract as [Random] does, by a seed, and gas to run it with. Its functions keep 24 to 60 values of
// both widths alive from beginning to end. Between them are all instructions of integers, with operands for which they
// trap and others. There are branches, growth of memory, nested calls, and values on the operand stack over any of
// these. It is hard on whoever gives values to registers. What was in the wrong one is in memory at the end, mostly.
func Pressure(seed uint64) (m *Module, gas uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	m = pressure(r)
	return m, r.Uint64N(1 << (19 + r.IntN(4)))
}

func pressure(r *rand.Rand) *Module {
	m := randomWith(r, (*generator).pressed)
	for i := range pressureSegments {
		bytes := make([]byte, pressureSegment)
		for j := range bytes {
			bytes[j] = byte(r.Uint64())
		}
		m.Data = append(m.Data, Data(int32(pressureAt+pressureSegment*i), string(bytes)))
	}
	return m
}

// pressed gives declared locals and instructions of a function under pressure. It calls those before it alone, or
// nearly all calls would end in recursion.
func (g *generator) pressed(index uint32) (locals, instructions []byte) {
	t := signatures[g.functions[index]]
	g.callable, g.calm = int(index), 40
	for range leastLive + g.IntN(mostLive-leastLive+1) - len(t.params) {
		locals = append(locals, g.valueType())
	}
	g.begin(Concat(t.params, locals), t.result)
	var b []byte
	for i := len(t.params); i < len(g.locals); i++ {
		b = Concat(b, Const(I32, int64(pressureAt+8*i)), g.loadLive(uint32(i)), Op(LocalSet, uint32(i)))
	}
	for range 1 + g.IntN(4) { // what branches out goes on behind the block, mostly
		g.labels = append(g.labels, 0)
		b = append(b, BlockOp, Empty)
		for range 4 + g.IntN(10) {
			b = append(b, g.pressedStatement()...)
		}
		b = append(b, End)
		g.labels = g.labels[:1]
	}
	for i, t := range g.locals {
		b = Concat(b, Const(I32, int64(pressureAt+8*i)), Op(LocalGet, uint32(i)), storeOp(t))
	}
	if t.result != 0 {
		g.nodes = pressureNodes
		b = append(b, g.expression(t.result)...)
	}
	return locals, b
}

func (g *generator) loadLive(local uint32) []byte {
	if g.locals[local] == I64 {
		return Op(I64Load, 3, 0)
	}
	return Op(I32Load, 2, 0)
}

// pressedStatement assigns to a local, mostly, and goes on unless it traps or takes a branch.
func (g *generator) pressedStatement() []byte {
	g.nodes, g.depth = pressureNodes, 0
	switch g.IntN(12) {
	case 0: // a branch, behind which nothing may come, is in a block of its own
		return Concat(g.anyLocal(I32), Const(I32, 3), []byte{I32And}, g.inside(IfOp, 0))
	case 1:
		return g.loop()
	case 2:
		return g.overOperands()
	case 3:
		return g.callStatement(uint32(g.IntN(g.callable)))
	case 4:
		t := g.valueType()
		return Concat(g.expression(t), g.setLocal(t))
	}
	t := g.valueType()
	return Concat(g.division(t), g.setLocal(t))
}

// overOperands holds values on the operand stack over a statement.
func (g *generator) overOperands() (b []byte) {
	t, n := g.valueType(), 1+g.IntN(20)
	for range n {
		if g.IntN(2) == 0 {
			b = append(b, g.division(t)...)
		} else {
			b = append(b, g.anyLocal(t)...)
		}
	}
	b = append(b, g.pressedStatement()...)
	for range n - 1 {
		b = append(b, I32Add)
		if t == I64 {
			b[len(b)-1] = I64Add
		}
	}
	return Concat(b, g.setLocal(t))
}

// division is arithmetic of two locals, and a division or remainder half the time, also of what overflows.
func (g *generator) division(t byte) []byte {
	left, right := g.anyLocal(t), g.anyLocal(t)
	if g.IntN(2) == 0 {
		return g.arithmetic(t, left, right)
	}
	lowest := int64(-1 << 31)
	if t == I64 {
		lowest = -1 << 63
	}
	number := firstDivision + g.IntN(lastDivision-firstDivision+1)
	switch minusOne := Const(t, -1); g.IntN(6) {
	case 0:
		right = minusOne
	case 1:
		left = Const(t, lowest)
	case 2:
		if number > firstDivision || !g.spared() {
			left, right = Const(t, lowest), minusOne
		}
	}
	return g.instruction(t, left, right, number)
}

// anyLocal reads a local of a type, of which there may be none.
func (g *generator) anyLocal(t byte) []byte {
	if i, ok := g.local(t); ok {
		return Op(LocalGet, i)
	}
	return g.constant(t)
}

func (g *generator) setLocal(t byte) []byte {
	if i, ok := g.local(t); ok {
		return Op(LocalSet, i)
	}
	return Op(Drop)
}

// Outcomes sums up what the function run of contracts under pressure came to, by their seeds from 0 on. A host function
// answers 7 to args_len, the gas that is left to gas_left, and takes 50 gas for either.
type Outcomes struct{ hash hash.Hash }

// NewOutcomes begins with none.
func NewOutcomes() *Outcomes { return &Outcomes{sha256.New()} }

// Add adds how a call ended, with what gas, and what was in the memory. Out of gas nobody sees the memory: it is nil.
func (o *Outcomes) Add(exit byte, left uint64, memory []byte) {
	sum := sha256.Sum256(memory)
	o.hash.Write(append(binary.LittleEndian.AppendUint64([]byte{exit}, left), sum[:]...))
}

// Digest is the same on every platform.
func (o *Outcomes) Digest() string { return hex.EncodeToString(o.hash.Sum(nil)) }

// PressureDigests has the digests for so many contracts.
var PressureDigests = map[int]string{
	40:    "ea8e08f1b36649b974c57a74bec6d1ad273929ad461847c20358ec39f2c48d20",
	1_000: "5653a2e4bd40c44f96ea7b83fb22fe2af558fc0451e0ba96cde9aedf43cc3b8a",
}
