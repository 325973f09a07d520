//go:build !purego

package field

// leastBlock is the number of coefficients whose values are computed in registers.
const leastBlock = 256

// evaluateLanes is Evaluate by the vector kernels. It returns false, and does nothing, if the processor lacks them or the
// polynomial is too short.
func (c *Coset) evaluateLanes(dst, coefficients Vector) bool {
	if !vector || len(dst) < 4*leastBlock {
		return false
	}
	c.evaluateParts(dst, coefficients)
	return true
}

// evaluateParts evaluates the parts of a polynomial one after the other and then combines their values. A part stays in
// the processor's first caches meanwhile, so a long vector passes through memory only a few times.
func (c *Coset) evaluateParts(dst, coefficients Vector) {
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
		c.evaluateParts(dst[from:from+h], coefficients[from:from+h])
	}
	if parts == 4 {
		combineFour(&dst[0], &c.twiddles[h], uintptr(h))
	} else {
		combineEight(&dst[0], &c.twiddles[h], uintptr(h))
	}
}

// evaluateBlock evaluates a polynomial of 256 coefficients at 256 points. It writes the values to dst.
//
//go:noescape
func evaluateBlock(dst, coefficients, twiddles *Element)

// combineFour does two steps of [Coset.Evaluate] on four blocks of h values. twiddles points to number h of the coset's
// table. h must be a multiple of lanes.
//
//go:noescape
func combineFour(values, twiddles *Element, h uintptr)

// combineEight does three steps on eight blocks of h values.
//
//go:noescape
func combineEight(values, twiddles *Element, h uintptr)
