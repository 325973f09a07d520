package prover

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// inverses returns 1/(x − z) for each x of the domain's first coset.
func (r *run) inverses(z field.Ext) field.ExtVector {
	g := r.grid
	out, s := field.ExtVector(r.arena.extensions.take(g.rows)), g.shift(0)
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		from := block * rows
		part := out[from : from+rows]
		for i := range part {
			var x field.Element
			x.Mul(&s, &g.powers[from+i])
			e := field.Lift(x)
			part[i].Sub(&e, &z)
		}
		field.InvertExt(part)
	})
	return out
}

// open returns the functions' values at z and z·w, in the order of stark.Shape. On the first coset s·⟨w⟩
//
//	f(z) = (z^n − s^n)/(n·s^n) · Σ f(x)·x/(z − x)
//
// and f(z·w) is the same sum with the weight of the point before x.
func (r *run) open(z field.Ext, inverses field.ExtVector) []field.Ext {
	g := r.grid
	s := g.shift(0)
	sn := field.Pow(s, uint64(g.rows))
	factor, lifted := field.SquareTimes(&z, g.Log), field.Lift(sn)
	factor.Sub(&lifted, &factor) // the sign of z − x against x − z
	scale := field.New(uint64(g.rows))
	scale.Mul(&scale, &sn).Inverse(&scale)
	scale.Mul(&scale, &s)
	factor.MulByElement(&factor, &scale)
	weights := r.arena.vectors(field.Degree, g.rows)
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		for i := block * rows; i < (block+1)*rows; i++ {
			e := factor
			e.MulByElement(&e, &g.powers[i])
			e.Mul(&e, &inverses[i])
			for c, x := range field.Coordinates(&e) {
				weights[c][i] = x
			}
		}
	})
	return r.sums(weights)
}

// sums returns the sums of open.
func (r *run) sums(weights []field.Vector) []field.Ext {
	g, shape := r.grid, &r.shape
	here := func(v field.Vector) field.Ext {
		var c [field.Degree]field.Element
		for k := range c {
			c[k] = weights[k].InnerProduct(g.coset(v, 0))
		}
		return field.FromCoordinates(c)
	}
	next := func(v field.Vector) field.Ext {
		var c [field.Degree]field.Element
		for k := range c {
			w := weights[k][:g.rows-1]
			c[k] = w.InnerProduct(g.coset(v, 0)[1:])
			var last field.Element
			last.Mul(&weights[k][g.rows-1], &v[0])
			c[k].Add(&c[k], &last)
		}
		return field.FromCoordinates(c)
	}
	extension := func(at func(v field.Vector) field.Ext, columns []field.Vector, k int) (sum field.Ext) {
		for c, column := range columns[field.Degree*k : field.Degree*(k+1)] {
			e, b := at(column), basis(c)
			e.Mul(&e, &b)
			sum.Add(&sum, &e)
		}
		return sum
	}
	values := make([]field.Ext, shape.AtPoint()+shape.AtNext())
	o := shape.Split(values)
	var work []func()
	for k := range o.Columns {
		work = append(work, func() { o.Columns[k] = here(r.columns.columns[k]) })
	}
	for k := range o.Aux {
		work = append(work, func() { o.Aux[k] = extension(here, r.aux.columns, k) })
	}
	for k := range o.Chunks {
		work = append(work, func() { o.Chunks[k] = extension(here, r.chunks.columns, k) })
	}
	for k := range o.Next {
		work = append(work, func() { o.Next[k] = next(r.columns.columns[shape.Next[k]]) })
	}
	for k := range o.AuxNext {
		work = append(work, func() { o.AuxNext[k] = extension(next, r.aux.columns, shape.AuxNext[k]) })
	}
	r.parallel(len(work), func(i int) { work[i]() })
	return values
}

// weighted is a column with what it is multiplied by.
type weighted struct {
	column field.Vector
	weight field.Ext
}

// batch returns on the domain the function whose degree is tested: with the powers c_k of delta in the order of
// stark.Shape, Σ c_k·(f_k(x) − f_k(z))/(x − z) and the same at z·w. Since x − z·w = w·(x/w − z), the inverses serve for
// both. The function has fewer than n coefficients: it is computed on the first coset and extended.
func (r *run) batch(values []field.Ext, inverses field.ExtVector, delta field.Ext) field.ExtVector {
	g, split := r.grid, r.shape.AtPoint()
	powers := stark.Powers(delta, len(values))
	here, next := r.weigh(powers)
	atPoint := stark.InnerProduct(powers, values[:split])
	atNext := stark.InnerProduct(powers[split:], values[split:])
	inverse := field.RootOfUnity(g.Log)
	inverse.Inverse(&inverse)

	coordinates := r.arena.vectors(field.Degree, g.points)
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		from := block * rows
		sum, sumNext := make(field.ExtVector, rows), make(field.ExtVector, rows)
		for _, w := range here {
			sum.ScalarMulAccByElement(w.column[from:from+rows], &w.weight)
		}
		for _, w := range next {
			sumNext.ScalarMulAccByElement(w.column[from:from+rows], &w.weight)
		}
		for i := range sum {
			sum[i].Sub(&sum[i], &atPoint)
			sum[i].Mul(&sum[i], &inverses[from+i])
			before := (from + i + g.rows - 1) % g.rows // where x/w is
			sumNext[i].Sub(&sumNext[i], &atNext)
			sumNext[i].Mul(&sumNext[i], &inverses[before])
			sumNext[i].MulByElement(&sumNext[i], &inverse)
			sum[i].Add(&sum[i], &sumNext[i])
			for c, x := range field.Coordinates(&sum[i]) {
				coordinates[c][from+i] = x
			}
		}
	})
	return r.extendExt(coordinates)
}

// extendExt returns the values on the domain of the function over E, of fewer than n coefficients, whose coordinates
// are given on the first coset. It overwrites them.
func (r *run) extendExt(coordinates []field.Vector) field.ExtVector {
	g := r.grid
	r.parallel(len(coordinates), func(c int) {
		coefficients := g.coset(coordinates[c], len(g.cosets)-1)
		copy(coefficients, g.coset(coordinates[c], 0))
		g.transform.Interpolate(coefficients)
		coefficients.Mul(coefficients, g.unshift)
		g.extend(coordinates[c], coefficients)
	})
	out := field.ExtVector(r.arena.extensions.take(g.points))
	rows := min(blockRows, g.rows)
	r.parallel(g.points/rows, func(block int) {
		for i := block * rows; i < (block+1)*rows; i++ {
			var e [field.Degree]field.Element
			for c := range e {
				e[c] = coordinates[c][i]
			}
			out[i] = field.FromCoordinates(e)
		}
	})
	return out
}

// weigh returns the columns opened at z and at z·w with their weights; a function over E is its six coordinates, each
// weighted with its element of the basis too.
func (r *run) weigh(powers []field.Ext) (here, next []weighted) {
	add := func(to *[]weighted, columns ...field.Vector) {
		for c, column := range columns {
			b := basis(c)
			b.Mul(&b, &powers[0])
			*to = append(*to, weighted{column, b})
		}
		powers = powers[1:]
	}
	extension := func(columns []field.Vector, k int) []field.Vector {
		return columns[field.Degree*k : field.Degree*(k+1)]
	}
	for _, column := range r.columns.columns {
		add(&here, column)
	}
	for k := range r.shape.Aux {
		add(&here, extension(r.aux.columns, k)...)
	}
	for k := range stark.Chunks {
		add(&here, extension(r.chunks.columns, k)...)
	}
	for _, k := range r.shape.Next {
		add(&next, r.columns.columns[k])
	}
	for _, k := range r.shape.AuxNext {
		add(&next, extension(r.aux.columns, k)...)
	}
	return here, next
}
