// Package field implements the arithmetic of proofs: the KoalaBear prime field F_p, p = 2^31 − 2^24 + 1, and its
// extension E of degree 6 (186 bits), vectors over both, and transforms over the two-adic subgroups of F_p.
//
// E is F_p[u]/(u² − 3), and over that [v]/(v³ − (u + 1)). The six coordinates of an element belong to 1, u, v, uv, v²,
// uv². Elements are kept in Montgomery form; their encoding outside the process is the canonical integer below p.
package field

import (
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
	"unsafe"

	"github.com/consensys/gnark-crypto/field/koalabear"
	"github.com/consensys/gnark-crypto/field/koalabear/extensions"
)

const (
	// P is the prime 2^31 − 2^24 + 1.
	P = 0x7f000001
	// Degree is the degree of E over F_p.
	Degree = 6
	// Size is the length in bytes of an encoded element of F_p. ExtSize is the length for an element of E.
	Size, ExtSize = 4, 4 * Degree
	// TwoAdicity is the largest k such that 2^k divides p − 1.
	TwoAdicity = 24
)

// Element is an element of F_p. The zero value is 0.
type Element = koalabear.Element

// Vector is a vector over F_p. Its operations are vectorised if the processor supports it.
type Vector = koalabear.Vector

// Ext is an element of E. The zero value is 0.
type Ext = extensions.E6

// ExtVector is a vector over E.
type ExtVector = extensions.VectorE6

// ErrCanonical is returned for an encoded integer that is p or more.
var ErrCanonical = errors.New("field element is not canonical")

// New returns v mod p.
func New(v uint64) (e Element) {
	e.SetUint64(v)
	return e
}

// One returns 1 in E.
func One() (e Ext) {
	e.SetOne()
	return e
}

// Lift returns x as an element of E.
func Lift(x Element) (e Ext) {
	e.B0.A0 = x
	return e
}

// Basis returns the element of E whose coordinate c is 1 and whose others are 0.
func Basis(c int) Ext {
	var coordinates [Degree]Element
	coordinates[c].SetOne()
	return FromCoordinates(coordinates)
}

// FromCoordinates returns the element of E with the given coordinates to 1, u, v, uv, v², uv².
func FromCoordinates(c [Degree]Element) (e Ext) {
	e.B0.A0, e.B0.A1, e.B1.A0, e.B1.A1, e.B2.A0, e.B2.A1 = c[0], c[1], c[2], c[3], c[4], c[5]
	return e
}

// Coordinates returns the coordinates of e to 1, u, v, uv, v², uv².
func Coordinates(e *Ext) [Degree]Element {
	return [Degree]Element{e.B0.A0, e.B0.A1, e.B1.A0, e.B1.A1, e.B2.A0, e.B2.A1}
}

// Append appends the canonical integer of x, four bytes little-endian.
func Append(b []byte, x *Element) []byte {
	return binary.LittleEndian.AppendUint32(b, x.Bits()[0])
}

// AppendExt appends the six coordinates of x, each as Append does.
func AppendExt(b []byte, x *Ext) []byte {
	c := Coordinates(x)
	for i := range c {
		b = Append(b, &c[i])
	}
	return b
}

// DecodeVector decodes len(b)/4 elements, each four bytes as written by Append. It returns ErrCanonical if an integer
// is not below p.
func DecodeVector(b []byte) (Vector, error) {
	words := make([]uint32, len(b)/Size)
	for i := range words {
		if words[i] = binary.LittleEndian.Uint32(b[Size*i:]); words[i] >= P {
			return nil, ErrCanonical
		}
	}
	return Integers(words), nil
}

// DecodeExts decodes len(b)/24 elements of E as written by AppendExt. It returns ErrCanonical if a coordinate is not
// below p.
func DecodeExts(b []byte) ([]Ext, error) {
	coordinates, err := DecodeVector(b)
	if err != nil {
		return nil, err
	}
	v := make([]Ext, len(b)/ExtSize)
	for i := range v {
		v[i] = FromCoordinates([Degree]Element(coordinates[Degree*i:]))
	}
	return v, nil
}

// Integers returns the elements of the given integers, which must be below p. It reuses words as the vector. It is one
// vector multiplication, and the inverse of Canonical.
func Integers(words []uint32) Vector {
	v := Vector(unsafe.Slice((*Element)(unsafe.Pointer(unsafe.SliceData(words))), len(words))) // an Element is one word
	v.ScalarMul(v, &toMontgomery)
	return v
}

// toMontgomery converts an integer, stored in place of a Montgomery form, to its Montgomery form: it is the Montgomery
// form of 2^32, so multiplying by it multiplies by 2^32.
var toMontgomery = New(1 << 32)

// Canonical sets words to the canonical integers of v, by one vector multiplication. words must be as long as v.
func Canonical(words []uint32, v Vector) {
	// The integer 1 taken as a Montgomery form: multiplying by it divides by 2^32.
	one := Element{1}
	as := Vector(unsafe.Slice((*Element)(unsafe.Pointer(unsafe.SliceData(words))), len(words))) // an Element is one word
	as.ScalarMul(v, &one)
}

// Pow returns x^k.
func Pow(x Element, k uint64) (z Element) {
	z.SetOne()
	for i := bits.Len64(k) - 1; i >= 0; i-- {
		z.Square(&z)
		if k>>i&1 == 1 {
			z.Mul(&z, &x)
		}
	}
	return z
}

// PowExt returns x^k in E.
func PowExt(x *Ext, k uint64) (z Ext) {
	z.Exp(*x, new(big.Int).SetUint64(k))
	return z
}

// SquareTimes returns x^(2^k) in E.
func SquareTimes(x *Ext, k int) Ext {
	z := *x
	for range k {
		z.Square(&z)
	}
	return z
}

// invertOneByOne replaces every element of v by its inverse, and zero by zero, with one inversion in total
// (Montgomery's trick).
func invertOneByOne(v Vector) { copy(v, koalabear.BatchInvert(v)) }

// InvertExt is Invert over E.
func InvertExt(v ExtVector) { copy(v, extensions.BatchInvertE6(v)) }

// Shift returns the multiplicative generator 3 of F_p, by which cosets are shifted off the two-adic subgroups.
func Shift() Element { return New(3) }

// RootOfUnity returns a generator of the subgroup of 2^log elements. The generator for log − 1 is its square. log must
// be at most TwoAdicity.
func RootOfUnity(log int) Element {
	return Pow(Shift(), (P-1)>>log)
}
