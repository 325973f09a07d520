package prover

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// inverses returns 1/(x − z) for each x of the domain's first coset, preceded by the value for the last x.
func (r *making) inverses(z field.Ext) *field.Planar {
	g := r.grid
	out, s := field.Planar(r.arena.vectors(field.Degree, 1+g.rows)), g.shift(0)
	z.Neg(&z)
	coordinates := field.Coordinates(&z)
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		from := block * rows
		part := out.Slice(1+from, 1+from+rows)
		part.Clear()
		part[0].ScalarMul(g.powers[from:from+rows], &s)
		for c := range part {
			field.AddScalar(part[c], part[c], coordinates[c])
		}
		field.InvertPlanar(&part, &part)
	})
	last := out.At(g.rows)
	out.Set(0, &last)
	return &out
}

// open returns the functions' values at z and z·w, in the order of stark.Shape. With x on the first coset s·⟨w⟩,
//
//	f(z) = (z^n − s^n)/(n·s^n) · Σ f(x)·x/(z − x)
//
// and f(z·w) is the same sum with the weight of the point before x.
func (r *making) open(z field.Ext, inverses *field.Planar) []field.Ext {
	g := r.grid
	s := g.shift(0)
	sn := field.Pow(s, uint64(g.rows))
	factor, lifted := field.SquareTimes(&z, g.Log), field.Lift(sn)
	factor.Sub(&lifted, &factor) // sign: weights have x − z instead of z − x
	scale := field.New(uint64(g.rows))
	scale.Mul(&scale, &sn).Inverse(&scale)
	scale.Mul(&scale, &s)
	factor.MulByElement(&factor, &scale)
	weights := field.Planar(r.arena.vectors(field.Degree, g.rows))
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		low, high := block*rows, (block+1)*rows
		for c := range weights {
			part := weights[c][low:high]
			part.Mul(inverses[c][1+low:1+high], g.powers[low:high])
		}
	})
	values := r.sums(&weights)
	for i := range values {
		values[i].Mul(&values[i], &factor)
	}
	return values
}

// sums returns the sums of open.
func (r *making) sums(weights *field.Planar) []field.Ext {
	g, shape := r.grid, &r.shape
	last := weights.At(g.rows - 1)
	here := func(v field.Vector) field.Ext { return field.InnerProducts(v, weights) }
	next := func(v field.Vector) field.Ext {
		sum, wrapped := field.InnerProducts(v[1:], weights), last
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
		work = append(work, func() { o.Columns[k] = here(r.columns.cosets[0][k]) })
	}
	for k := range o.Aux {
		work = append(work, func() { o.Aux[k] = extension(here, r.aux.cosets[0], k) })
	}
	for k := range o.Chunks {
		work = append(work, func() { o.Chunks[k] = extension(here, r.chunks.cosets[0], k) })
	}
	for k := range o.Next {
		work = append(work, func() { o.Next[k] = next(r.columns.cosets[0][shape.Next[k]]) })
	}
	for k := range o.AuxNext {
		work = append(work, func() { o.AuxNext[k] = extension(next, r.aux.cosets[0], shape.AuxNext[k]) })
	}
	r.parallel(len(work), func(i int) { work[i]() })
	return values
}

// weighted is a list of columns with their weights.
type weighted struct {
	columns []field.Vector
	weights []field.Ext
}

// add adds a column with a weight, or the six coordinate columns of a function over E. Each coordinate's weight is
// multiplied by its element of the basis of E.
func (w *weighted) add(weight field.Ext, columns ...field.Vector) {
	for c, column := range columns {
		b := field.Basis(c)
		w.columns, w.weights = append(w.columns, column), append(w.weights, *b.Mul(&b, &weight))
	}
}

// quotient sets dst to the weighted sum on the rows from low on, minus its value at the point, times inverses.
func (w *weighted) quotient(
	dst *field.Planar, weights field.Weights, low int, value *field.Ext, inverses *field.Planar,
) {
	columns, rows := make([]field.Vector, len(w.columns)), len(dst[0])
	for k := range columns {
		columns[k] = w.columns[k][low : low+rows]
	}
	var negative field.Ext
	negative.Neg(value)
	dst.Clear()
	for c, x := range field.Coordinates(&negative) {
		field.AddScalar(dst[c], dst[c], x)
	}
	field.Combine(dst, columns, weights)
	field.MulPlanar(dst, dst, inverses)
}

// batch returns on the domain the function whose degree is tested. It is Σ c_k·(f_k(x) − f_k(z))/(x − z) plus the same
// at z·w, with the powers c_k of delta in the order of stark.Shape. Since x − z·w = w·(x/w − z), the inverses serve for
// both. The function has fewer than n coefficients, so it is computed on the first coset and extended.
func (r *making) batch(values []field.Ext, inverses *field.Planar, delta field.Ext) *field.Planar {
	g, split := r.grid, r.shape.AtPoint()
	powers := stark.Powers(delta, len(values))
	inverse := field.RootOfUnity(g.Log)
	inverse.Inverse(&inverse)
	for i := range powers[split:] {
		powers[split+i].MulByElement(&powers[split+i], &inverse)
	}
	here, next := r.weigh(powers)
	out := field.Planar(r.arena.vectors(field.Degree, g.points))
	weights, weightsNext := field.NewWeights(here.weights), field.NewWeights(next.weights)
	atPoint := stark.InnerProduct(powers, values[:split])
	atNext := stark.InnerProduct(powers[split:], values[split:])
	rows := min(blockRows, g.rows)
	r.parallel(g.rows/rows, func(block int) {
		low, high := block*rows, (block+1)*rows
		part, partNext := out.Slice(low, high), field.NewPlanar(rows)
		of, ofNext := inverses.Slice(1+low, 1+high), inverses.Slice(low, high) // ofNext has the inverses for x/w
		here.quotient(&part, weights, low, &atPoint, &of)
		next.quotient(&partNext, weightsNext, low, &atNext, &ofNext)
		for c := range part {
			part[c].Add(part[c], partNext[c])
		}
	})
	r.extendExt(&out)
	return &out
}

// extendExt extends to the domain a function over E with fewer than n coefficients that is given on the first coset.
func (r *making) extendExt(values *field.Planar) {
	g := r.grid
	r.parallel(len(values), func(c int) {
		coset := func(j int) field.Vector { return values[c][j*g.rows : (j+1)*g.rows] }
		coefficients := coset(0)
		g.transform.Interpolate(coefficients)
		coefficients.Mul(coefficients, g.unshift)
		for j := len(g.cosets) - 1; j >= 0; j-- {
			g.cosets[j].Evaluate(coset(j), coefficients)
		}
	})
}

// weigh returns the columns opened at z and at z·w with their weights.
func (r *making) weigh(powers []field.Ext) (here, next weighted) {
	add := func(to *weighted, columns ...field.Vector) {
		to.add(powers[0], columns...)
		powers = powers[1:]
	}
	extension := func(columns []field.Vector, k int) []field.Vector {
		return columns[field.Degree*k : field.Degree*(k+1)]
	}
	for _, column := range r.columns.cosets[0] {
		add(&here, column)
	}
	for k := range r.shape.Aux {
		add(&here, extension(r.aux.cosets[0], k)...)
	}
	for k := range stark.Chunks {
		add(&here, extension(r.chunks.cosets[0], k)...)
	}
	for _, k := range r.shape.Next {
		add(&next, r.columns.cosets[0][k])
	}
	for _, k := range r.shape.AuxNext {
		add(&next, extension(r.aux.cosets[0], k)...)
	}
	return here, next
}
