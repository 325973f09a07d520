package blockproof

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// linear is an arithmetic for the linear layers of the permutation.
type linear[T any] interface {
	add(x, y T) T
	sub(x, y T) T
	scale(x T, k field.Element) T
	offset(x T, k field.Element) T
}

// arithmetic is an arithmetic for the whole permutation: expressions of the circuit, or elements. The code that fills
// the table derives its linear forms from the same code (see forms).
type arithmetic[T any] interface {
	linear[T]
	mul(x, y T) T
	column(value T) T // adds value as the next column
}

const (
	width        = 16 // elements in a state
	digestSize   = 8  // elements in a digest
	firstPartial = 4  // index of the first partial round
	firstEnding  = 24 // index of the first full round after the partial ones
	rounds       = 28

	// permutationColumns counts the states after each full round but the last, lane 0 after the s-box of each partial
	// round, and the first eight lanes of the result.
	permutationColumns = 7*width + firstEnding - firstPartial + digestSize
)

// permute applies the permutation of package poseidon to the state x and returns the first eight lanes of the result,
// which are columns. Every column's value has degree 3 in the columns before it.
func permute[T any](a arithmetic[T], x [width]T) (out [digestSize]T) {
	for r := range firstPartial {
		x = fullRound(a, r, x)
		for i := range x {
			x[i] = a.column(x[i])
		}
	}
	x = partialRounds(a, x, func(lane T) T { return a.column(cube(a, lane)) })
	for r := firstEnding; r < rounds-1; r++ {
		x = fullRound(a, r, x)
		for i := range x {
			x[i] = a.column(x[i])
		}
	}
	x = fullRound(a, rounds-1, x)
	for i := range out {
		out[i] = a.column(x[i])
	}
	return out
}

func fullRound[T any](a arithmetic[T], round int, x [width]T) [width]T {
	for i := range x {
		x[i] = cube(a, a.offset(x[i], roundConstant(round, i)))
	}
	return matrix(a, x)
}

func roundConstant(round, lane int) field.Element {
	return field.New(uint64(poseidon.RoundConstants[round][lane]))
}

func matrix[T any](a linear[T], x [width]T) [width]T {
	x = toEigenbasis(a, x)
	for i := range x {
		x[i] = a.scale(x[i], eigen.scaled[i])
	}
	return fromEigenbasis(a, x)
}

func cube[T any](a arithmetic[T], x T) T { return a.mul(a.mul(x, x), x) }

// partialRounds applies the partial rounds in the basis in which the circulant matrix is diagonal. In it, a change of
// lane 0 is the same change of every coordinate, and lane 0 is a sixteenth of the coordinates' sum. The contributions
// of the constants are known beforehand and tracked separately.
func partialRounds[T any](a linear[T], x [width]T, sbox func(lane T) T) [width]T {
	y := toEigenbasis(a, x)
	var known [width]field.Element
	for r := firstPartial; r < firstEnding; r++ {
		var constants [width]field.Element
		for i := range constants {
			constants[i] = roundConstant(r, i)
		}
		constants = toEigenbasis(elements{}, constants)
		sum, knownSum := y[0], field.Element{}
		for i := range y {
			if i > 0 {
				sum = a.add(sum, y[i])
			}
			known[i].Add(&known[i], &constants[i])
			knownSum.Add(&knownSum, &known[i])
		}
		knownSum.Mul(&knownSum, &eigen.sixteenth)
		lane := a.offset(a.scale(sum, eigen.sixteenth), knownSum)
		change := a.sub(sbox(lane), lane)
		for i := range y {
			y[i] = a.scale(a.add(y[i], change), eigen.values[i])
			known[i].Mul(&known[i], &eigen.values[i])
		}
	}
	for i := range y {
		y[i] = a.scale(a.offset(y[i], known[i]), eigen.sixteenth)
	}
	return fromEigenbasis(a, y)
}

// eigen describes the matrix M[i][j] = r[(j − i) mod 16]: coordinate k of x is Σ x_j·w^(−jk), with w a 16th root of
// unity, and M multiplies it by Σ r_m·w^(mk). Coordinates are in bit-reversed order.
var eigen = func() (e struct {
	roots, inverse [width]field.Element // powers of w and of 1/w
	values, scaled [width]field.Element // eigenvalues, and a sixteenth of them
	sixteenth      field.Element
}) {
	w := field.RootOfUnity(4)
	field.Powers(e.roots[:], field.New(1), w)
	for i := range e.inverse {
		e.inverse[i] = e.roots[(width-i)%width]
	}
	e.sixteenth = field.New(width)
	e.sixteenth.Inverse(&e.sixteenth)
	for k := range e.values {
		for m, r := range poseidon.MatrixRow {
			term := field.New(uint64(r))
			term.Mul(&term, &e.roots[m*k%width])
			e.values[k].Add(&e.values[k], &term)
		}
	}
	field.BitReverse(e.values[:])
	for k := range e.scaled {
		e.scaled[k].Mul(&e.values[k], &e.sixteenth)
	}
	return e
}()

// toEigenbasis is a Fourier transform whose result is in bit-reversed order.
func toEigenbasis[T any](a linear[T], x [width]T) [width]T {
	for half := width / 2; half > 0; half /= 2 {
		for i := range x {
			if i&half != 0 {
				continue
			}
			low, high := x[i], x[i+half]
			x[i] = a.add(low, high)
			x[i+half] = a.scale(a.sub(low, high), eigen.inverse[i%half*(width/2/half)])
		}
	}
	return x
}

// fromEigenbasis is the inverse of toEigenbasis times 16.
func fromEigenbasis[T any](a linear[T], x [width]T) [width]T {
	for half := 1; half < width; half *= 2 {
		for i := range x {
			if i&half != 0 {
				continue
			}
			high := a.scale(x[i+half], eigen.roots[i%half*(width/2/half)])
			x[i], x[i+half] = a.add(x[i], high), a.sub(x[i], high)
		}
	}
	return x
}

// elements is the arithmetic of single elements, without columns.
type elements struct{}

func (elements) add(x, y field.Element) (z field.Element)  { z.Add(&x, &y); return z }
func (elements) sub(x, y field.Element) (z field.Element)  { z.Sub(&x, &y); return z }
func (elements) mul(x, y field.Element) (z field.Element)  { z.Mul(&x, &y); return z }
func (e elements) scale(x, k field.Element) field.Element  { return e.mul(x, k) }
func (e elements) offset(x, k field.Element) field.Element { return e.add(x, k) }
func (elements) column(value field.Element) field.Element  { return value }

// expressions is the arithmetic of a circuit: column adds a new column that is constrained to the value.
type expressions struct {
	b    *air.Builder
	made *int
}

func (expressions) add(x, y air.Expr) air.Expr                    { return x.Add(y) }
func (expressions) sub(x, y air.Expr) air.Expr                    { return x.Sub(y) }
func (expressions) mul(x, y air.Expr) air.Expr                    { return x.Mul(y) }
func (e expressions) scale(x air.Expr, k field.Element) air.Expr  { return x.Mul(e.b.Const(k)) }
func (e expressions) offset(x air.Expr, k field.Element) air.Expr { return x.Add(e.b.Const(k)) }

func (e expressions) column(value air.Expr) air.Expr {
	name := indexed("permutation", *e.made)
	*e.made++
	c := e.b.Column(name)
	e.b.Constrain(name, c.Sub(value))
	return c
}

func indexed(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }
