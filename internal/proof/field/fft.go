package field

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/field/koalabear/fft"
)

// Domain is a two-adic subgroup with the tables for interpolation over it. It is safe for concurrent use.
type Domain struct {
	fft *fft.Domain
}

// single keeps a transform on the caller's thread. Parallel code runs one transform per column.
var single = fft.WithNbTasks(1)

// NewDomain returns the subgroup of 2^log elements that RootOfUnity(log) generates. Its tables take 24 bytes per
// element.
func NewDomain(log int) *Domain {
	return &Domain{fft.NewDomain(1 << log)}
}

// Interpolate replaces the values at w^0, w^1, … by the coefficients of their polynomial in bit-reversed order. v must
// have the domain's length.
func (d *Domain) Interpolate(v Vector) { d.fft.FFTInverse(v, fft.DIF, single) }

// InterpolateExt is Interpolate over E.
func (d *Domain) InterpolateExt(v ExtVector) { d.fft.FFTInverseExt6(v, fft.DIF, single) }

// BitReverse moves each element to the index with reversed bits. The length of v must be a power of two.
func BitReverse[T any](v []T) {
	shift := 64 - (bits.Len(uint(len(v))) - 1)
	if shift == 64 {
		return
	}
	for i := range v {
		if j := int(bits.Reverse64(uint64(i)) >> shift); i < j {
			v[i], v[j] = v[j], v[i]
		}
	}
}

// Powers sets v[i] = first·x^i. Each step doubles the part that is set: v[n+i] = x^n·v[i].
func Powers(v Vector, first, x Element) {
	if len(v) == 0 {
		return
	}
	v[0] = first
	for n := 1; n < len(v); n *= 2 {
		next := v[n:min(2*n, len(v))]
		next.ScalarMul(v[:len(next)], &x)
		x.Square(&x)
	}
}
