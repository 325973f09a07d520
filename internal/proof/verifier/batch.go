package verifier

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// batch returns, for each queried point x, the value of the function whose degree is tested: Σ c_k·(f_k(x) − f_k(z))/(x
// − z) over the functions opened at z, plus the same at z·w over the functions opened there. The weights are c_k = δ^k
// in the order of stark.Shape. columns, aux and chunks are the concatenated rows of the points.
func (a *argument) batch(indices []int, columns, aux, chunks field.Vector) []field.Ext {
	split := a.shape.AtPoint()
	atPoint := stark.InnerProduct(a.weights, a.values[:split])
	atNext := stark.InnerProduct(a.weights[split:], a.values[split:])
	var zw field.Ext
	w := field.RootOfUnity(a.logRows)
	zw.MulByElement(&a.z, &w)

	// The denominators x − z and x − z·w of all points are inverted at once. z is outside F_p, so none is zero.
	domain := a.parameters.Domain(a.logRows)
	denominators := make(field.ExtVector, 2*len(indices))
	for i, index := range indices {
		x := field.Lift(domain.At(index))
		denominators[2*i].Sub(&x, &a.z)
		denominators[2*i+1].Sub(&x, &zw)
	}
	field.InvertExt(denominators)

	here, next := a.rowWeights()
	var row field.Vector
	out := make([]field.Ext, len(indices))
	for i := range out {
		row = row[:0]
		for _, rows := range []field.Vector{columns, aux, chunks} {
			width := len(rows) / len(indices)
			row = append(row, rows[i*width:(i+1)*width]...)
		}
		f, g := field.InnerProducts(row, here), field.InnerProducts(row, next)
		f.Sub(&f, &atPoint)
		f.Mul(&f, &denominators[2*i])
		g.Sub(&g, &atNext)
		g.Mul(&g, &denominators[2*i+1])
		out[i].Add(&f, &g)
	}
	return out
}

// rowWeights returns the weights for the concatenated rows of columns, helper columns and chunks at x. The weighted
// sums are Σ c_k·f_k(x), over the functions opened at z and over those opened at z·w. A function over E takes one
// element of the row per coordinate, with the weights c_k times 1, u, v, uv, v² and uv².
func (a *argument) rowWeights() (here, next *field.Planar) {
	split, width := a.shape.AtPoint(), a.shape.Columns
	weights := make([]field.Ext, width+field.Degree*(a.shape.Aux+stark.Chunks))
	nextWeights := make([]field.Ext, len(weights))
	copy(weights, a.weights[:width])
	for k, weight := range a.weights[width:split] {
		spread(weights[width+field.Degree*k:], weight)
	}
	for k, column := range a.shape.Next {
		nextWeights[column] = a.weights[split+k]
	}
	for k, column := range a.shape.AuxNext {
		spread(nextWeights[width+field.Degree*column:], a.weights[split+len(a.shape.Next)+k])
	}
	return field.PlanarOf(weights), field.PlanarOf(nextWeights)
}

// spread sets the first elements of to to weight times each element of E's basis.
func spread(to []field.Ext, weight field.Ext) {
	for c := range field.Degree {
		var basis [field.Degree]field.Element
		basis[c].SetOne()
		to[c] = field.FromCoordinates(basis)
		to[c].Mul(&to[c], &weight)
	}
}
