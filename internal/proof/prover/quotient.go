package prover

import (
	"sync"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// blocks calls do with a machine for each block of n rows, in any order.
func (r *making) blocks(p *program, b *bound, n int, do func(m *machine, from int)) {
	rows := min(blockRows, n)
	machines := sync.Pool{New: func() any { return newMachine(p, b, rows) }}
	r.parallel(n/rows, func(block int) {
		m := machines.Get().(*machine)
		do(m, block*rows)
		machines.Put(m)
	})
}

// helpers returns the six coordinates of each helper column on the rows, as the circuit defines them.
func (r *making) helpers(columns []field.Vector) []field.Vector {
	n, in := r.grid.rows, &r.buses.inputs
	out := r.arena.vectors(field.Degree*r.shape.Aux, n)
	first := field.Vector(r.arena.elements.take(n))
	clear(first)
	first[0].SetOne()
	r.blocks(r.buses, r.buses.bind(r.statement.Public, r.challenges, nil), n, func(m *machine, from int) {
		for k := range columns {
			m.input(in.columns+int32(k), in.next+int32(k), columns[k], from)
		}
		m.input(in.first, in.last, first, from) // the last row is the one before the first
		m.run(func(group int, v [field.Degree]field.Vector) {
			for c := range v {
				to := out[field.Degree*group+c][from : from+len(m.ones)]
				if v[c] == nil {
					clear(to)
				} else {
					copy(to, v[c])
				}
			}
		})
	})
	r.accumulate(out)
	return out
}

// accumulate turns the last helper column, which holds the last group's sums, into the accumulator. The accumulator
// starts at 0 and grows by the sums of all groups minus the shift.
func (r *making) accumulate(helpers []field.Vector) {
	last := helpers[len(helpers)-field.Degree:]
	shift := field.Coordinates(&r.challenges.Shift)
	r.parallel(field.Degree, func(c int) {
		for k := c; k < len(helpers)-field.Degree; k += field.Degree {
			last[c].Add(last[c], helpers[k])
		}
		var total field.Element
		for row, sum := range last[c] {
			last[c][row] = total
			total.Add(&total, &sum).Sub(&total, &shift[c])
		}
	})
}

// quotient composes the constraints with the powers of a challenge, divides the result by x^n − 1 and commits to the
// chunks of the quotient, six coordinates each. The quotient has fewer than 2n coefficients, so it is computed on the
// domain's first and middle cosets, which together are 3·⟨w_2n⟩.
func (r *making) quotient(composition field.Ext) oracle {
	n := r.grid.rows
	weights := stark.Powers(composition, len(r.circuit.Constraints()))
	b := r.constraints.bind(r.statement.Public, r.challenges, weights)
	values := r.arena.vectors(field.Degree, stark.Chunks*n)
	for h := range stark.Chunks {
		r.composeOn(h, b, values)
	}
	return r.split(values)
}

// composeOn computes the quotient on coset h·B/2 and stores it in every second element of values, from h on.
func (r *making) composeOn(h int, b *bound, values []field.Vector) {
	g, in := r.grid, &r.constraints.inputs
	j := h * len(g.cosets) / stark.Chunks
	first, inverse := g.selector(j, r.arena.elements.take(g.rows), r.parallel)
	r.blocks(r.constraints, b, g.rows, func(m *machine, from int) {
		for k, column := range r.columns.cosets[j] {
			m.input(in.columns+int32(k), in.next+int32(k), column, from)
		}
		if r.shape.Aux > 0 {
			for k, column := range r.aux.cosets[j] {
				m.input(in.aux+int32(k), in.auxNext+int32(k), column, from)
			}
		}
		m.input(in.first, in.last, first, from) // the selector of the last row at x is the selector of the first at x·w
		m.run(nil)
		for c, total := range m.total {
			total.ScalarMul(total, &inverse)
			for i, x := range total {
				values[c][stark.Chunks*(from+i)+h] = x
			}
		}
	})
}

// selector sets first to the values on coset j of the polynomial that is 1 on the first row and 0 on the others, (x^n −
// 1)/(n·(x − 1)). It returns the inverse of x^n − 1, which is constant on a coset.
func (g *grid) selector(j int, first field.Vector, parallel func(n int, f func(i int))) (field.Vector, field.Element) {
	s, one := g.shift(j), field.New(1)
	vanishing := field.Pow(s, uint64(g.rows))
	vanishing.Sub(&vanishing, &one)
	scale, n := vanishing, field.New(uint64(g.rows))
	scale.Div(&scale, &n)
	rows := min(blockRows, g.rows)
	parallel(g.rows/rows, func(block int) {
		part := first[block*rows : (block+1)*rows]
		part.ScalarMul(g.powers[block*rows:(block+1)*rows], &s)
		for i := range part {
			part[i].Sub(&part[i], &one)
		}
		field.Invert(part)
		part.ScalarMul(part, &scale)
	})
	return first, *vanishing.Inverse(&vanishing)
}

// split interpolates the coordinates of the quotient q, given on 3·⟨w_2n⟩, and commits to q_0 and q_1 with q = q_0 +
// x^n·q_1.
func (r *making) split(values []field.Vector) oracle {
	g := r.grid
	high := field.Pow(g.Shift, uint64(g.rows))
	high.Inverse(&high)
	r.parallel(field.Degree, func(c int) { g.double.Interpolate(values[c]) })
	return r.commit(field.Degree*stark.Chunks, func(k int, to field.Vector) bool {
		chunk, v := k/field.Degree, values[k%field.Degree]
		for i := range to { // in bit-reversed order, even positions hold the coefficients below n
			to[i] = v[stark.Chunks*i+chunk]
		}
		to.Mul(to, g.unshift)
		if chunk > 0 {
			to.ScalarMul(to, &high)
		}
		return true
	})
}
