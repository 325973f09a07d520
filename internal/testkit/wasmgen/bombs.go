package wasmgen

import (
	"bytes"
	"slices"
)

// Bomb is a contract that is expensive to compile or load, within the limits of modules. It exports run.
type Bomb struct {
	Name string
	Code []byte
}

// Bombs returns modules that take the most known work to compile for their size. Function bodies have at most body
// bytes. A module has as many bodies as its limit of code bytes allows, and at least one. The limits of the protocol
// are 32,768 and 262,144; body must be at least 2,048.
func Bombs(body, code int) []Bomb {
	b := bombs{body, code}
	return append(append(b.branching(), b.straight()...), moduleBombs()...)
}

// bombs builds bombs with limits on the bytes of bodies and modules.
type bombs struct{ body, code int }

// bodies returns a module of functions with the given locals and instructions. Type 0 is () → (), and global 0 a
// mutable i32.
func (b bombs) bodies(name string, locals int, instructions []byte) Bomb {
	m := bombModule()
	b.fill(m, locals, instructions)
	return Bomb{name, m.Encode()}
}

func (b bombs) fill(m *Module, locals int, instructions []byte) {
	body := Body(manyI32(locals), instructions...)
	const allLocals = 10_000
	for n := 0; n == 0 || (n+1)*(len(body)+1) < b.code-1_000 && (n+1)*locals <= allLocals; n++ {
		m.AddFunction(0, manyI32(locals), instructions...)
	}
	m.Export("run", FunctionKind, uint32(len(m.Functions)-1))
}

// upTo returns bombs with a smaller body limit, for instructions of which a frame holds fewer than a body does.
func (b bombs) upTo(body int) bombs { return bombs{min(b.body, body), b.code} }

// repeated repeats a part as often as it fits into a body with the given numbers of locals and other bytes.
func (b bombs) repeated(locals, others int, part ...byte) []byte {
	return bytes.Repeat(part, (b.body-2*locals-others-5)/len(part))
}

// branching returns bombs with many basic blocks, for which pairwise analyses of a compiler take quadratic time.
func (b bombs) branching() []Bomb {
	const most = 100 // locals
	condition := Op(LocalGet, 0)
	emptyIf := Concat(condition, []byte{IfOp, Empty, End})
	emptyLoop := []byte{LoopOp, Empty, End}
	shortBranch := Concat(condition, []byte{IfOp, Empty}, Op(LocalGet, 98), Op(LocalSet, 99), []byte{End})
	bothWays := Concat(
		condition, []byte{IfOp, Empty}, Op(LocalGet, 98), Op(LocalSet, 99), []byte{Else}, Op(LocalGet, 97),
		Op(LocalSet, 99), []byte{End},
	)
	branchOut := Concat(condition, Op(BrIfOp, 0))
	targets := make([]uint32, 256)
	for i := range targets {
		targets[i] = uint32(i % 2)
	}
	table := Concat([]byte{BlockOp, Empty}, condition, BrTable(0, targets...), []byte{End})
	loops := bytes.Repeat(Concat([]byte{LoopOp, Empty}, branchOut), most)
	ends := bytes.Repeat([]byte{End}, most)
	all := []Bomb{
		b.bodies("empty ifs", 1, b.upTo(27_000).repeated(1, 0, emptyIf...)),
		b.bodies("empty loops", 0, b.upTo(24_000).repeated(0, 0, emptyLoop...)),
		b.bodies(
			"empty loops in loops", 0, b.upTo(24_000).repeated(0, 0, Concat(bytes.Repeat([]byte{LoopOp, Empty}, most), ends)...),
		),
		b.bodies("br_ifs", 1, b.repeated(1, 0, branchOut...)),
		b.bodies(
			"br_ifs that set a local", most, b.repeated(most, 0, Concat(Op(GlobalGet, 0), Op(LocalSet, 7), branchOut)...),
		),
		b.bodies("br_tables", 1, b.repeated(1, 0, table...)),
		b.bodies("ifs over 100 locals", most, b.repeated(most, 0, shortBranch...)),
		b.bodies("ifs and elses over 100 locals", most, b.repeated(most, 0, bothWays...)),
		b.bodies("loops nested in loops", most, b.upTo(2_500).repeated(most, 0, Concat(loops, useAll(20), ends)...)),
		b.bodies("dead code", 0, b.upTo(26_000).repeated(0, 0, BlockOp, Empty, BrOp, 0, LoopOp, Empty, End, End)),
	}
	// Every br_if passes on all locals of a loop: a compiler looks for each along the whole way back to the loop.
	inside := b.repeated(60, 1_600, Concat(condition, Op(BrIfOp, 90))...)
	all = append(all, b.bodies("br_ifs out of nested loops", 60, Concat(useAll(60), loops, inside, ends, useAll(60))))
	inside = b.repeated(most, 1_000, Concat(condition, Op(BrIfOp, 0))...)
	all = append(all, b.bodies("br_ifs to a loop", most, Concat(useAll(most), []byte{LoopOp, Empty}, inside, []byte{End})))
	// Operands live across blocks.
	b = b.upTo(19_000)
	n := b.body / 6
	operands, sums := bytes.Repeat(Op(GlobalGet, 0), n), bytes.Repeat([]byte{I32Add}, n-1)
	across := func(part []byte) []byte {
		return Concat(operands, b.repeated(1, 3*n+2, part...), sums, Op(LocalSet, 0))
	}
	return append(all, b.bodies(
		"operands across ifs", 1, across(emptyIf),
	), b.bodies("operands across loops", 1, across(emptyLoop)))
}

// straight returns bombs without branches.
func (b bombs) straight() []Bomb {
	short := func(name string, body, locals int, instructions ...[]byte) Bomb {
		return b.bodies(name, locals, b.upTo(body).repeated(locals, 0, Concat(instructions...)...))
	}
	part := func(name string, locals int, instructions ...[]byte) Bomb {
		return short(name, b.body, locals, instructions...)
	}
	get, set := Op(LocalGet, 0), Op(LocalSet, 0)
	wide := bombModule()
	wide.AddFunction(wide.AddType(manyI32(100), 0), nil)
	many := make([]byte, 0, 200)
	for i := range 100 {
		many = append(many, Op(LocalGet, uint32(i))...)
	}
	b.fill(wide, 100, b.repeated(100, 0, Concat(many, Call(0))...))
	return []Bomb{
		part("additions", 2, get, Op(LocalGet, 1), []byte{I32Add}, set),
		part("loads", 1, get, Op(I32Load, 0, 0), set),
		part("stores", 1, get, get, Op(I32Store, 0, 0)),
		part("divisions", 2, get, Op(LocalGet, 1), []byte{I32DivU}, set),
		part("uses of 100 locals", 100, useAll(100)),
		short("calls", 10_800, 0, Call(0)),
		{"calls of 100 params", wide.Encode()},
		short("memory.grow", 32_000, 1, get, Op(MemoryGrow, 0), set),
		part("operands", 0, bytes.Repeat(Const(I32, 1), 500), bytes.Repeat([]byte{Drop}, 500)),
		part("live operands", 1, bytes.Repeat(get, 500), bytes.Repeat([]byte{I32Add}, 499), set),
		short(
			"operands across calls", 19_500, 1, bytes.Repeat(Concat(get, Op(I32Load, 2, 0), Call(0)), 200),
			bytes.Repeat([]byte{I32Add}, 199), set,
		),
	}
}

// moduleBombs returns modules at the limits of the parts besides bodies.
func moduleBombs() []Bomb {
	with := func(name string, change func(m *Module)) Bomb {
		m := bombModule()
		m.AddFunction(0, nil)
		m.Export("run", FunctionKind, 0)
		change(m)
		return Bomb{name, m.Encode()}
	}
	return []Bomb{
		with("nothing", func(*Module) {}),
		with("tiny functions", func(m *Module) {
			for range 4_999 {
				m.AddFunction(0, nil)
			}
		}),
		with("types", func(m *Module) {
			for i := range 255 {
				params := bytes.Repeat([]byte{I64}, 100)
				for j := range 8 {
					params[j] += byte(i >> j & 1)
				}
				m.AddType(params, 0)
			}
		}),
		with("globals", func(m *Module) {
			for len(m.Globals) < 1_024 {
				m.Globals = append(m.Globals, Global(I32, len(m.Globals) < 64, 0))
			}
		}),
		with("calls beside globals", func(m *Module) {
			for len(m.Globals) < 64 {
				m.Globals = append(m.Globals, Global(I64, true, 0))
			}
			for range 20 {
				m.AddFunction(0, nil, bytes.Repeat(Call(0), 5_000)...)
			}
		}),
		with("data segments", func(m *Module) {
			m.Data = slices.Repeat([][]byte{Data(0, "data")}, 1_024)
		}),
		with("elements", func(m *Module) {
			m.Tables = [][]byte{Concat([]byte{0x70, 0}, U32(2_500))}
			m.Elements = [][]byte{Element(0, make([]uint32, 2_500)...)}
		}),
		with("exports", func(m *Module) {
			for i := range 126 {
				m.Export(
					string([]byte{'a' + byte(i%26), 'a' + byte(i/26%26), 'a' + byte(i/676%26), 'a' + byte(i/17_576)}), FunctionKind, 0,
				)
			}
		}),
	}
}

func bombModule() *Module {
	m := Contract(1, 1)
	m.AddType(nil, 0)
	m.Globals = [][]byte{Global(I32, true, 0)}
	return m
}

func manyI32(n int) []byte { return bytes.Repeat([]byte{I32}, n) }

// useAll uses and changes n locals.
func useAll(n int) (b []byte) {
	for i := range uint32(n) {
		b = append(b, Concat(Op(LocalGet, i), Op(LocalGet, (i+1)%uint32(n)), []byte{I32Add}, Op(LocalSet, i))...)
	}
	return b
}
