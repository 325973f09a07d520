package wasmgen

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math/rand/v2"
)

// Sizes of a function under register pressure: it has more live values than any processor has registers, and statements
// that use them.
const (
	leastLive        = 24
	mostLive         = 60
	pressureAt       = 256 // memory address of the values, 8 bytes each
	pressureSegment  = 100 // in bytes
	pressureSegments = 2 * 8 * mostLive / pressureSegment
	pressureNodes    = 12 // per statement, approximately
)

// Pressure returns a random contract, as [Random] does, for a seed, and the gas to run it with. Its functions keep 24
// to 60 values of both widths live throughout. In between are all integer instructions, with trapping and other
// operands, branches, growth of memory, nested calls, and operands live across any of these. This is hard on register
// allocation. At the end, values from wrong registers are usually visible in memory.
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

// pressed returns the declared locals and instructions of a function under pressure. It calls only earlier functions,
// as otherwise nearly all calls would end in recursion.
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
	for range 1 + g.IntN(4) { // most branches out continue behind the block
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

// pressedStatement usually assigns to a local, and continues unless it traps or branches.
func (g *generator) pressedStatement() []byte {
	g.nodes, g.depth = pressureNodes, 0
	switch g.IntN(12) {
	case 0: // a branch, after which nothing may follow, has its own block
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

// overOperands holds operands on the stack across a statement.
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

// division writes arithmetic on two locals, in half of all cases a division or remainder, which may overflow.
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

// anyLocal reads a local of a type, if there is one.
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

// Outcomes accumulates the outcomes of the function run of contracts under pressure, by ascending seed from 0. The host
// function args_len must return 7 and gas_left the remaining gas, each for 50 gas.
type Outcomes struct{ hash hash.Hash }

// NewOutcomes returns an empty sum.
func NewOutcomes() *Outcomes { return &Outcomes{sha256.New()} }

// Add adds the outcome of a call: its exit, the remaining gas and the memory. After out of gas the memory is not
// observable, and must be nil.
func (o *Outcomes) Add(exit byte, left uint64, memory []byte) {
	sum := sha256.Sum256(memory)
	o.hash.Write(append(binary.LittleEndian.AppendUint64([]byte{exit}, left), sum[:]...))
}

// Digest returns the digest, which is the same on every platform.
func (o *Outcomes) Digest() string { return hex.EncodeToString(o.hash.Sum(nil)) }

// PressureDigests holds the expected digests by number of contracts.
var PressureDigests = map[int]string{
	40:    "ddba9c7a88efccf422555f5eb3c020ee4361400aaccb8bb9351a7abf78303e13",
	1_000: "ba097310282b54dc7b399c3bbf2c6e366fca41f27721055cebbccecfd945ffbe",
}
