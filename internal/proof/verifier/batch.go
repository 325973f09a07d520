package verifier

import (
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/stark"
)

// batch returns at each queried point x the function whose degree is tested: with the weights c_k = δ^k in the order of
// stark.Shape, Σ c_k·(f_k(x) − f_k(z))/(x − z) over the functions opened at z, and the same at z·w over those opened
// there.
func (a *argument) batch(indices []int, columns, aux, chunks []field.Vector) []field.Ext {
	split := a.shape.AtPoint()
	atPoint := stark.InnerProduct(a.weights, a.values[:split])
	atNext := stark.InnerProduct(a.weights[split:], a.values[split:])
	var zw field.Ext
	w := field.RootOfUnity(a.logRows)
	zw.MulByElement(&a.z, &w)

	// The denominators x − z and x − z·w of all points, inverted at once; z is outside F_p, so none is zero.
	domain := a.parameters.Domain(a.logRows)
	denominators := make(field.ExtVector, 2*len(indices))
	for i, index := range indices {
		x := field.Lift(domain.At(index))
		denominators[2*i].Sub(&x, &a.z)
		denominators[2*i+1].Sub(&x, &zw)
	}
	field.InvertExt(denominators)

	out := make([]field.Ext, len(indices))
	for i := range out {
		auxRow, chunkRow := extensions(aux[i]), extensions(chunks[i])
		var here, next sum
		here.elements(a.weights, columns[i])
		here.extensions(a.weights[a.shape.Columns:], auxRow)
		here.extensions(a.weights[a.shape.Columns+a.shape.Aux:], chunkRow)
		for k, column := range a.shape.Next {
			next.elements(a.weights[split+k:], columns[i][column:column+1])
		}
		for k, column := range a.shape.AuxNext {
			next.extensions(a.weights[split+len(a.shape.Next)+k:], auxRow[column:column+1])
		}
		here.Sub(&here.Ext, &atPoint)
		here.Mul(&here.Ext, &denominators[2*i])
		next.Sub(&next.Ext, &atNext)
		next.Mul(&next.Ext, &denominators[2*i+1])
		out[i].Add(&here.Ext, &next.Ext)
	}
	return out
}

// sum adds up products.
type sum struct{ field.Ext }

func (s *sum) elements(weights []field.Ext, values field.Vector) {
	var product field.Ext
	for i := range values {
		product.MulByElement(&weights[i], &values[i])
		s.Add(&s.Ext, &product)
	}
}

func (s *sum) extensions(weights, values []field.Ext) {
	product := stark.InnerProduct(weights, values)
	s.Add(&s.Ext, &product)
}

// extensions returns the elements of E whose coordinates row has one after the other.
func extensions(row field.Vector) []field.Ext {
	v := make([]field.Ext, len(row)/field.Degree)
	for i := range v {
		v[i] = field.FromCoordinates([field.Degree]field.Element(row[field.Degree*i:]))
	}
	return v
}
