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
	weights := field.Planar(r.arena.vectors(field.Degree, g.rows))
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		from := block * rows
		for i := range rows {
			weights.Set(from+i, &inverses[from+i])
		}
		for c := range weights {
			part := weights[c][from : from+rows]
			part.Mul(part, g.powers[from:from+rows])
		}
	})
	values := r.sums(&weights)
	for i := range values {
		values[i].Mul(&values[i], &factor)
	}
	return values
}

// sums returns the sums of open.
func (r *run) sums(weights *field.Planar) []field.Ext {
	g, shape := r.grid, &r.shape
	last := weights.At(g.rows - 1)
	here := func(v field.Vector) field.Ext { return field.InnerProducts(g.coset(v, 0), weights) }
	next := func(v field.Vector) field.Ext {
		sum, wrapped := field.InnerProducts(g.coset(v, 0)[1:], weights), last
		wrapped.MulByElement(&wrapped, &v[0])
		return *sum.Add(&sum, &wrapped)
	}
	extension := func(at func(v field.Vector) field.Ext, columns []field.Vector, k int) (sum field.Ext) {
		for c, column := range columns[field.Degree*k : field.Degree*(k+1)] {
			e, b := at(column), field.Basis(c)
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

// weighted is columns with what they are multiplied by.
type weighted struct {
	columns []field.Vector
	weights []field.Ext
}

// add adds a column, or the six coordinates of a function over E, each weighted with its element of the basis too.
func (w *weighted) add(weight field.Ext, columns ...field.Vector) {
	for c, column := range columns {
		b := field.Basis(c)
		w.columns, w.weights = append(w.columns, column), append(w.weights, *b.Mul(&b, &weight))
	}
}

// combine sets dst to the sum on rows low to high.
func (w *weighted) combine(dst *field.Planar, weights field.Weights, low, high int) {
	columns := make([]field.Vector, len(w.columns))
	for k := range columns {
		columns[k] = w.columns[k][low:high]
	}
	dst.Clear()
	field.Combine(dst, columns, weights)
}

// batch returns on the domain the function whose degree is tested: with the powers c_k of delta in the order of
// stark.Shape, Σ c_k·(f_k(x) − f_k(z))/(x − z) and the same at z·w. Since x − z·w = w·(x/w − z), the inverses serve for
// both. The function has fewer than n coefficients: it is computed on the first coset and extended.
func (r *run) batch(values []field.Ext, inverses field.ExtVector, delta field.Ext) *field.Planar {
	g, split := r.grid, r.shape.AtPoint()
	powers := stark.Powers(delta, len(values))
	here, next := r.weigh(powers)
	atPoint := stark.InnerProduct(powers, values[:split])
	atNext := stark.InnerProduct(powers[split:], values[split:])
	inverse := field.RootOfUnity(g.Log)
	inverse.Inverse(&inverse)

	out := field.Planar(r.arena.vectors(field.Degree, g.points))
	sumsNext := field.Planar(r.arena.vectors(field.Degree, g.rows))
	weights, weightsNext := field.NewWeights(here.weights), field.NewWeights(next.weights)
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		low, high := block*rows, (block+1)*rows
		part, partNext := out.Slice(low, high), sumsNext.Slice(low, high)
		here.combine(&part, weights, low, high)
		next.combine(&partNext, weightsNext, low, high)
		for i := low; i < high; i++ {
			sum, sumNext := out.At(i), sumsNext.At(i)
			sum.Sub(&sum, &atPoint)
			sum.Mul(&sum, &inverses[i])
			sumNext.Sub(&sumNext, &atNext)
			sumNext.Mul(&sumNext, &inverses[(i+g.rows-1)%g.rows]) // of x/w
			sumNext.MulByElement(&sumNext, &inverse)
			out.Set(i, sum.Add(&sum, &sumNext))
		}
	})
	r.extendExt(&out)
	return &out
}

// extendExt computes on the domain the function over E, of fewer than n coefficients, that is given on the first coset.
func (r *run) extendExt(values *field.Planar) {
	g := r.grid
	r.parallel(len(values), func(c int) {
		coefficients := g.coset(values[c], len(g.cosets)-1)
		copy(coefficients, g.coset(values[c], 0))
		g.transform.Interpolate(coefficients)
		coefficients.Mul(coefficients, g.unshift)
		g.extend(values[c], coefficients)
	})
}

// weigh returns the columns opened at z and at z·w with their weights.
func (r *run) weigh(powers []field.Ext) (here, next weighted) {
	add := func(to *weighted, columns ...field.Vector) {
		to.add(powers[0], columns...)
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
