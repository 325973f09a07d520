package field

// Functional is a linear map from vectors over F_p to E: the sum of a vector's elements, each times a coefficient. It
// holds the coefficients' coordinates, by coordinate.
type Functional [Degree]Vector

// NewFunctional returns the functional with these coefficients.
func NewFunctional(coefficients []Ext) *Functional {
	var f Functional
	for c := range f {
		f[c] = make(Vector, len(coefficients))
	}
	for i := range coefficients {
		for c, x := range Coordinates(&coefficients[i]) {
			f[c][i] = x
		}
	}
	return &f
}

// At returns Σ coefficient_i·v_i. v must have as many elements as there are coefficients.
func (f *Functional) At(v Vector) Ext {
	var y [Degree]Element
	for c := range y {
		y[c] = f[c].InnerProduct(v)
	}
	return FromCoordinates(y)
}
