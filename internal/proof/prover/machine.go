package prover

import (
	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
)

// blockRows is the number of rows that a program works on at once: few enough for its vectors to stay in the
// second-level cache, and enough to make the cost of calls between operations small.
const blockRows = 512

// machine runs a program on one block after another. Concurrent calls use separate machines.
type machine struct {
	program   *program
	bound     *bound
	vectors   []field.Vector // by slot
	ones      field.Vector
	temporary field.Vector
	zeros     field.Vector
	total     field.Planar
	columns   []field.Vector         // columns of a combination, reused
	wrapped   map[int32]field.Vector // copies of next rows that wrap around to the first row
}

// newMachine returns a machine for blocks of the given number of rows, at most blockRows.
func newMachine(p *program, b *bound, rows int) *machine {
	m := &machine{
		program:   p,
		bound:     b,
		vectors:   make([]field.Vector, p.slots),
		ones:      make(field.Vector, rows),
		temporary: make(field.Vector, rows),
		zeros:     make(field.Vector, rows),
		wrapped:   make(map[int32]field.Vector),
	}
	for i := range m.ones {
		m.ones[i].SetOne()
	}
	for c := range m.total {
		m.total[c] = make(field.Vector, rows)
	}
	room := make(field.Vector, (p.slots-int(p.inputs.end))*rows)
	for i := int(p.inputs.end); i < p.slots; i++ {
		m.vectors[i], room = room[:rows:rows], room[rows:]
	}
	return m
}

// bound holds the values that are the same on every row, for given public inputs and challenges.
type bound struct {
	scalars      []field.Element
	combinations []boundCombination
}

// bind binds a program to the circuit's public inputs and challenges. weights are the weights of the constraints in the
// total.
func (p *program) bind(public []field.Element, challenges *air.Challenges, weights []field.Ext) *bound {
	values := make([]field.Ext, len(p.circuit.Nodes()))
	for i, n := range p.circuit.Nodes() {
		v := &values[i]
		switch n.Op { // nodes that differ from row to row get a value that is never read
		case air.OpConst:
			*v = field.Lift(n.Value)
		case air.OpPublic:
			*v = field.Lift(public[n.A])
		case air.OpAlpha:
			*v = challenges.Alpha
		case air.OpBeta:
			*v = challenges.Beta[n.A-1]
		case air.OpShift:
			*v = challenges.Shift
		case air.OpAdd:
			v.Add(&values[n.A], &values[n.B])
		case air.OpSub:
			v.Sub(&values[n.A], &values[n.B])
		case air.OpMul:
			v.Mul(&values[n.A], &values[n.B])
		}
	}
	b := &bound{make([]field.Element, len(p.scalars)), p.bindCombinations(values, weights)}
	for i, s := range p.scalars {
		b.scalars[i] = field.Coordinates(&values[s.node])[s.coordinate]
	}
	return b
}

// input sets an input to rows [from, from + rows) of a column. If next is not absent, it sets that input to the same
// rows shifted by one. The column's first row follows its last.
func (m *machine) input(slot, next int32, column field.Vector, from int) {
	rows := len(m.ones)
	m.vectors[slot] = column[from : from+rows]
	switch {
	case next == absent:
	case from+rows < len(column):
		m.vectors[next] = column[from+1 : from+rows+1]
	default:
		w, ok := m.wrapped[next]
		if !ok {
			w = make(field.Vector, rows)
			m.wrapped[next] = w
		}
		copy(w, column[from+1:])
		w[rows-1] = column[0]
		m.vectors[next] = w
	}
}

// run computes the total and the outputs of one block. The inputs must be set. It passes each output to yield as soon
// as it is ready: a vector for each coordinate, or nil if the coordinate is zero.
func (m *machine) run(yield func(output int, v [field.Degree]field.Vector)) {
	v := m.vectors
	for _, i := range m.program.instructions {
		switch i.op {
		case opAdd:
			v[i.dst].Add(v[i.a], v[i.b])
		case opSub:
			v[i.dst].Sub(v[i.a], v[i.b])
		case opMul:
			v[i.dst].Mul(v[i.a], v[i.b])
		case opMulScalar:
			v[i.dst].ScalarMul(v[i.a], &m.bound.scalars[i.b])
		case opAddScalar:
			field.AddScalar(v[i.dst], v[i.a], m.bound.scalars[i.b])
		case opSubScalar:
			negative := m.bound.scalars[i.b]
			field.AddScalar(v[i.dst], v[i.a], *negative.Neg(&negative))
		case opFromScalar:
			m.temporary.ScalarMul(m.ones, &m.bound.scalars[i.b])
			v[i.dst].Sub(m.temporary, v[i.a])
		case opFill:
			v[i.dst].ScalarMul(m.ones, &m.bound.scalars[i.b])
		case opCombine:
			m.combine(&m.program.combinations[i.a], &m.bound.combinations[i.a])
		case opInvert:
			m.invert(&m.program.inversions[i.a])
		case opYield:
			var out [field.Degree]field.Vector
			for c, slot := range m.program.outputs[i.a] {
				if slot != absent {
					out[c] = v[slot]
				}
			}
			yield(int(i.a), out)
		}
	}
}

func (m *machine) combine(c *combination, b *boundCombination) {
	dst := m.total
	for n, slot := range c.dst {
		switch {
		case c.total:
		case slot == absent:
			dst[n] = m.temporary // its weights are 0
		default:
			dst[n] = m.vectors[slot]
		}
		if !c.more {
			dst[n].ScalarMul(m.ones, &b.constants[n])
		}
	}
	m.columns = m.columns[:0]
	for _, s := range c.sources {
		m.columns = append(m.columns, m.vectors[s.slot])
	}
	field.Combine(&dst, m.columns, b.weights)
}

func (m *machine) invert(both *[2][field.Degree]int32) {
	var dst, src field.Planar
	for c := range src {
		if dst[c] = m.vectors[both[0][c]]; both[1][c] == absent {
			src[c] = m.zeros
		} else {
			src[c] = m.vectors[both[1][c]]
		}
	}
	field.InvertPlanar(&dst, &src)
}
