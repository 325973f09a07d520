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
// With f(x) = e(x²) + x·o(x²), the values at x and −x follow from those of e and o at x², whose coefficients are the
// halves in bit-reversed order (Cooley and Tukey, 1965). The points are those of the coset, so the coefficients need not
// be multiplied by the powers of s before.
func (c *Coset) Evaluate(dst, coefficients Vector) {
	if n := len(dst); vector && n >= 4*leastBlock {
		c.evaluateLanes(dst, coefficients)
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

// leastBlock is the number of coefficients whose values are computed in registers.
const leastBlock = 256

// evaluateLanes is Evaluate on at least four times leastBlock coefficients. The values of a block stay in the first
// caches until they are combined with those of the next ones, so long vectors pass through memory only a few times.
func (c *Coset) evaluateLanes(dst, coefficients Vector) {
	n := len(dst)
	if n == leastBlock {
		evaluateBlock(&dst[0], &coefficients[0], &c.twiddles[0])
		return
	}
	parts := 8
	if n == 4*leastBlock || n == 16*leastBlock {
		parts = 4
	}
	h := n / parts
	for from := 0; from < n; from += h {
		c.evaluateLanes(dst[from:from+h], coefficients[from:from+h])
	}
	if parts == 4 {
		combineFour(&dst[0], &c.twiddles[h], uintptr(h))
	} else {
		combineEight(&dst[0], &c.twiddles[h], uintptr(h))
	}
}
