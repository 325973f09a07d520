//go:build !purego

package field

// evaluateBlock sets 256 values to those of the polynomial with 256 coefficients, with the table of twiddles.
//
//go:noescape
func evaluateBlock(dst, coefficients, twiddles *Element)

// combineFour does two steps of [Coset.Evaluate] on four blocks of h values. twiddles are those from number h on, and h
// is a multiple of lanes.
//
//go:noescape
func combineFour(values, twiddles *Element, h uintptr)

// combineEight does three steps on eight blocks of h values.
//
//go:noescape
func combineEight(values, twiddles *Element, h uintptr)
