package hunt

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"
	"math/rand/v2"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// statements lists the statements of random code. Genes have a weight of the same name for each.
var statements = []string{
	"assign", "block", "if", "ifelse", "loop", "br_if", "br_table", "call", "indirect", "store", "global", "rotate",
	"update",
	"held", "nest", "grow", "dead", "constants",
}

// random is random code: nested constructs around statements, with weights from the genes.
var random = &shape{name: "random", kind: Code, numbers: randomNumbers(), build: buildRandom}

func randomNumbers() []number {
	all := []number{
		{"seed", 0, 1<<64 - 1},
		{"params", 1, 98}, {"locals", 1, 97}, {"narrow", 0, 100}, // percentage of i32 locals
		{"size", 60, 24_000}, {"depth", 1, 120}, {"list", 1, 12},
		{"never", 0, 100}, {"always", 0, 100}, // percentages of conditions
		{"width", 1, 98}, {"stack", 1, 60},
		{"functions", 0, 40}, {"globals", 1, 64}, {"elements", 1, 2_500}, {"data", 0, 1_024}, {"pages", 1, 16},
		{"turns", 0, 20}, // of the outer loop; 0: until the gas is used up
	}
	for _, s := range statements {
		all = append(all, number{s, 0, 20})
	}
	return all
}

// Functions of random code. The number of further functions is in the genes.
const (
	runFunction = 3 // after the imports args_len, return_data, gas_left
	idle        = 4 // () → (), does nothing
	leaf        = 5 // (params) → i64, adds its params
)

// Types of random code.
const (
	procedure = iota // () → ()
	wide             // (params) → i64
)

type generator struct {
	values
	*rand.Rand
	wides  int    // number of i64 locals
	locals int    // without the zero local
	params []byte // parameters of wide
	labels []bool // open constructs, innermost last: whether each is a loop
	left   int    // remaining bytes, approximately
	next   int    // first function that may be called
	last   int    // last function
}

// newContract returns a contract with a number of pages, whose type 0 is () → ().
func newContract(pages int) *Module {
	m := Contract(uint32(pages), uint32(pages))
	m.AddType(nil, 0)
	return m
}

func buildRandom(v values) Candidate {
	m := newContract(v.of("pages"))
	g := &generator{values: v, Rand: rand.New(rand.NewPCG(v["seed"], 1)),
		params: bytes.Repeat([]byte{I64}, v.of("params"))}
	m.AddType(g.params, I64)
	m.AddImport(HostImport{Name: "args_len", Result: I32})
	m.AddImport(HostImport{Name: "return_data", Params: manyI32(2)})
	m.AddImport(HostImport{Name: "gas_left", Result: I64})
	for i := range v.of("globals") {
		m.Globals = append(m.Globals, Global(I64, true, int64(i)))
	}
	functions := v.of("functions")
	g.last = leaf + functions
	m.Tables = [][]byte{Concat([]byte{0x70, 0}, U32(uint32(v.of("elements"))))}
	targets := make([]uint32, v.of("elements"))
	for i := range targets {
		targets[i] = uint32(leaf + i%(1+functions))
	}
	m.Elements = [][]byte{Element(0, targets...)}
	for i := range v.of("data") {
		m.Data = append(m.Data, Data(int32(i*61), "data"))
	}
	m.Export("run", FunctionKind, g.function(m, procedure, runFunction, v.of("size")))
	m.AddFunction(procedure, nil)
	sum := Op(LocalGet, 0)
	for i := 1; i < len(g.params); i++ {
		sum = Concat(sum, Op(LocalGet, uint32(i)), []byte{I64Add})
	}
	m.AddFunction(wide, nil, sum...)
	for i := range functions {
		g.function(m, wide, leaf+1+i, min(v.of("size"), 4_000))
	}
	return Candidate{Code: m.Encode(), Copies: 1}
}

// function adds a function of random statements. The exported one repeats them.
func (g *generator) function(m *Module, signature, index, size int) uint32 {
	declared := g.of("locals")
	params := 0
	if signature == wide {
		params, declared = len(g.params), min(declared, 98-len(g.params))
	}
	narrow := declared * g.of("narrow") / 100
	types := Concat(bytes.Repeat([]byte{I64}, declared-narrow+2), manyI32(narrow)) // with zero and turn counter
	g.wides, g.locals = params+declared-narrow, params+declared
	g.left, g.next, g.labels = size, index+1, nil
	if index < leaf {
		g.next = leaf
	}
	// Locals are, in order: wide ones, the zero, the turn counter, narrow ones.
	body := g.in(true, func() (b []byte) {
		for g.left > 0 {
			b = append(b, g.statement(g.of("depth"))...)
		}
		return b
	})
	if signature == wide {
		return m.AddFunction(wide, types, Concat([]byte{BlockOp, Empty}, body, []byte{End}, Op(LocalGet, 0))...)
	}
	start := []byte{}
	for i := range g.wides {
		start = Concat(start, Op(GlobalGet, uint32(i%g.of("globals"))), Const(I64, int64(i*77+1)), []byte{I64Mul},
			Op(LocalSet, uint32(i)))
	}
	return m.AddFunction(procedure, types, Concat(start, []byte{LoopOp, Empty}, body, g.turn(), Op(BrOp, 0),
		[]byte{End})...)
}

// turn ends the call after the given number of turns, with the values of the locals as result.
func (g *generator) turn() (b []byte) {
	if g.of("turns") == 0 {
		return nil
	}
	turns := uint32(g.wides + 1)
	b = Concat(Op(LocalGet, turns), Const(I64, 1), []byte{I64Add}, Op(LocalTee, turns), Const(I64, int64(g.of("turns"))),
		[]byte{i64Eq, IfOp, Empty})
	for i := range uint32(g.wides) {
		b = Concat(b, Const(I32, int64(8*i)), Op(LocalGet, i), Op(I64Store, 3, 0))
	}
	return Concat(b, Const(I32, 0), Const(I32, int64(8*g.wides)), Call(1), []byte{Return, End})
}

func (g *generator) zero() []byte { return Op(LocalGet, uint32(g.wides)) }

// condition pushes an i32: always false, always true, or from a local.
func (g *generator) condition() []byte {
	switch x := g.IntN(100); {
	case x < g.of("never"):
		return Concat(g.zero(), []byte{I32WrapI64})
	case x < g.of("never")+g.of("always"):
		return Concat(g.zero(), []byte{i64Eqz})
	}
	return Concat(g.local(), Const(I64, int64(g.IntN(8))), []byte{i64And, i64Eqz})
}

// local pushes a local as an i64.
func (g *generator) local() []byte {
	i := g.IntN(g.locals)
	if i < g.wides {
		return Op(LocalGet, uint32(i))
	}
	return Concat(Op(LocalGet, uint32(i+2)), []byte{I64ExtendI32U})
}

// assign sets a local to the i64 on the stack.
func (g *generator) assign() []byte {
	i := g.IntN(g.locals)
	if i < g.wides {
		return Op(LocalSet, uint32(i))
	}
	return Concat([]byte{I32WrapI64}, Op(LocalSet, uint32(i+2)))
}

// in writes the body of a construct with its label.
func (g *generator) in(loop bool, inside func() []byte) []byte {
	g.labels = append(g.labels, loop)
	defer func() { g.labels = g.labels[:len(g.labels)-1] }()
	return inside()
}

// list writes some statements, while there is room.
func (g *generator) list(depth int) (b []byte) {
	for range 1 + g.IntN(g.of("list")) {
		if g.left <= 0 {
			break
		}
		b = append(b, g.statement(depth)...)
	}
	return b
}
