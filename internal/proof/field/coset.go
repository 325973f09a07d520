package field

// Coset is a coset s·⟨w⟩ of the subgroup of 2^log elements that w = RootOfUnity(log) generates, with the table for
// evaluating polynomials on it. It is safe for concurrent use.
type Coset struct {
	twiddles Vector // at h + k, for each power of two h < 2^log and k < h: the point number k of a coset of 2h points
}

// NewCoset returns the coset of 2^log points s·w^i. Its table has 2^log elements.
func NewCoset(log int, s Element) *Coset {
	c := &Coset{make(Vector, 1<<log)}
	for level := log; level > 0; level-- {
		h := 1 << (level - 1)
		Powers(c.twiddles[h:2*h], s, RootOfUnity(level))
		s.Square(&s)
	}
	return c
}

// Evaluate sets dst to the values at s·w^0, s·w^1, … of the polynomial with the given coefficients in bit-reversed
// order. Both have the coset's length and may be the same.
//
// The method is that of Cooley and Tukey (1965). With f(x) = e(x²) + x·o(x²), e(x²) and o(x²) give both f(x) and f(−x).
// In bit-reversed order, the first half of the coefficients belongs to e and the second half to o. Because the twiddles
// are points of the coset itself, Evaluate never multiplies the coefficients by powers of s.
func (c *Coset) Evaluate(dst, coefficients Vector) {
	if c.evaluateLanes(dst, coefficients) {
		return
	}
	copy(dst, coefficients)
	for h := 1; h < len(dst); h *= 2 {
		points := c.twiddles[h : 2*h]
		for from := 0; from < len(dst); from += 2 * h {
			even, odd := dst[from:from+h], dst[from+h:from+2*h]
			for k := range points {
				var x Element
				x.Mul(&odd[k], &points[k])
				odd[k].Sub(&even[k], &x)
				even[k].Add(&even[k], &x)
			}
		}
	}
}
