package field

// Weights are elements of E, by which [Combine] multiplies vectors over F_p. An element is six words, each a coordinate
// in Montgomery form.
type Weights [][Degree]uint64

// NewWeights returns the weights v.
func NewWeights(v []Ext) Weights {
	w := make(Weights, len(v))
	for k := range v {
		for c, x := range Coordinates(&v[k]) {
			w[k][c] = uint64(x[0])
		}
	}
	return w
}

// Planar is a vector over E, represented by six vectors of coordinates of equal length.
type Planar [Degree]Vector

// Gap is the number of elements between vectors that are used together: a cache line. Their lengths are powers of two,
// so without the gap the same row of all vectors would map to the same cache set.
const Gap = 16

// NewPlanar returns a vector of n zeros.
func NewPlanar(n int) (p Planar) {
	room := make(Vector, Degree*(n+Gap))
	for c := range p {
		p[c] = room[c*(n+Gap):][:n:n]
	}
	return p
}

// PlanarOf returns the vector with the elements of v.
func PlanarOf(v []Ext) *Planar {
	p := NewPlanar(len(v))
	for i := range v {
		p.Set(i, &v[i])
	}
	return &p
}

// Slice returns elements low to high; they are shared with p.
func (p *Planar) Slice(low, high int) (part Planar) {
	for c := range p {
		part[c] = p[c][low:high]
	}
	return part
}

// At returns element i.
func (p *Planar) At(i int) Ext {
	var e [Degree]Element
	for c := range e {
		e[c] = p[c][i]
	}
	return FromCoordinates(e)
}

// Set sets element i.
func (p *Planar) Set(i int, x *Ext) {
	for c, e := range Coordinates(x) {
		p[c][i] = e
	}
}

// Clear sets all elements to 0.
func (p *Planar) Clear() {
	for c := range p {
		clear(p[c])
	}
}

const (
	// lanes is the number of elements in a vector register.
	lanes = 16
	// modulus is a multiple of p that exceeds all sums that are reduced: Montgomery's reduction accepts integers below
	// it.
	modulus = P << 32
)

// fold subtracts modulus from x unless x is below it. x must be below 2·modulus.
func fold(x uint64) uint64 { return min(x, x-modulus) }

// reduce returns x/2^32 mod p (Montgomery's reduction).
func reduce(x uint64) Element {
	e, one := Element{uint32(x % P)}, Element{1}
	return *e.Mul(&e, &one)
}

// Combine adds Σ weights[k]·columns[k] to dst. All vectors must have the same length. It reduces sums of products only
// at the end, which makes it several times as fast as adding one product after the other.
func Combine(dst *Planar, columns []Vector, weights Weights) {
	n, done := len(dst[0]), 0
	if len(columns) == 0 {
		return
	}
	if vector && n >= lanes {
		done = n / lanes * lanes
		combineLanes(dst, &columns[0], &weights[0][0], uintptr(len(columns)), uintptr(done/lanes))
	}
	for ; done < n; done += tile {
		combineTile(dst, columns, weights[:len(columns)], done, min(done+tile, n))
	}
}

// tile is the number of rows that are combined at once without a vector kernel. Their sums fit in the first-level
// cache.
const tile = 64

// combineTile combines rows low to high.
func combineTile(dst *Planar, columns []Vector, weights Weights, low, high int) {
	var sums [Degree][tile]uint64
	for c := range sums {
		for i, x := range dst[c][low:high] {
			sums[c][i] = uint64(x[0]) << 32
		}
	}
	k := 0
	for ; k+4 <= len(weights); k += 4 {
		addFour(&sums, columns[k:k+4], weights[k:k+4], low, high)
	}
	for ; k < len(weights); k++ {
		column := columns[k][low:high]
		for c := range sums {
			sum, w := sums[c][:len(column)], weights[k][c]
			for i := range column {
				sum[i] = fold(sum[i] + uint64(column[i][0])*w)
			}
		}
	}
	for c := range sums {
		to := dst[c][low:high]
		for i := range to {
			to[i] = reduce(sums[c][i])
		}
	}
}

// addFour adds four weighted columns to sums. The sum of two products is below modulus, so it needs only one fold.
func addFour(sums *[Degree][tile]uint64, columns []Vector, weights Weights, low, high int) {
	x0, x1, x2, x3 := columns[0][low:high], columns[1][low:high], columns[2][low:high], columns[3][low:high]
	for c := range sums {
		w0, w1, w2, w3 := weights[0][c], weights[1][c], weights[2][c], weights[3][c]
		sum := sums[c][:len(x0)]
		x1, x2, x3 := x1[:len(sum)], x2[:len(sum)], x3[:len(sum)]
		for i := range sum {
			s := fold(sum[i] + uint64(x0[i][0])*w0 + uint64(x1[i][0])*w1)
			sum[i] = fold(s + uint64(x2[i][0])*w2 + uint64(x3[i][0])*w3)
		}
	}
}

// InnerProducts returns Σ weights[i]·column[i] over all of column. weights may be longer.
func InnerProducts(column Vector, weights *Planar) Ext {
	var sums [Degree]uint64
	done := 0
	if blocks := len(column) / lanes; vector && blocks > 0 {
		var parts [2 * Degree][lanes / 2]uint64 // for each coordinate, sums of even rows and of odd rows
		innerProductLanes(&parts, &column[0], weights, uintptr(blocks))
		for k := range parts {
			for _, x := range parts[k] {
				sums[k/2] = fold(sums[k/2] + x)
			}
		}
		done = blocks * lanes
	}
	addProducts(&sums, column[done:], weights, done)
	var e [Degree]Element
	for c := range e {
		e[c] = reduce(sums[c])
	}
	return FromCoordinates(e)
}

// addProducts adds the products of column with each coordinate of the weights from first on. The sum of two products is
// below modulus, so it needs only one fold.
func addProducts(sums *[Degree]uint64, column Vector, weights *Planar, first int) {
	n := len(column)
	for c := 0; c < Degree; c += 2 {
		s, t := sums[c], sums[c+1]
		v, w := weights[c][first:first+n], weights[c+1][first:first+n]
		i := 0
		for ; i+1 < n; i += 2 {
			x, y := uint64(column[i][0]), uint64(column[i+1][0])
			s = fold(s + x*uint64(v[i][0]) + y*uint64(v[i+1][0]))
			t = fold(t + x*uint64(w[i][0]) + y*uint64(w[i+1][0]))
		}
		if i < n {
			x := uint64(column[i][0])
			s, t = fold(s+x*uint64(v[i][0])), fold(t+x*uint64(w[i][0]))
		}
		sums[c], sums[c+1] = s, t
	}
}

// AddScalar sets dst[i] = a[i] + x. dst and a must have the same length and may be the same.
func AddScalar(dst, a Vector, x Element) {
	n, done := min(len(dst), len(a)), 0
	if blocks := n / lanes; vector && blocks > 0 {
		addScalarLanes(&dst[0], &a[0], x[0], uintptr(blocks))
		done = blocks * lanes
	}
	for i := done; i < n; i++ {
		dst[i].Add(&a[i], &x)
	}
}
