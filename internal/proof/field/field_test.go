package field

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/field/koalabear/fft"
)

var p = big.NewInt(P)

func random(r *rand.Rand) Element { return New(r.Uint64()) }

func randomExt(r *rand.Rand) Ext {
	var c [Degree]Element
	for i := range c {
		c[i] = random(r)
	}
	return FromCoordinates(c)
}

func integer(e *Element) *big.Int { return e.BigInt(new(big.Int)) }

func TestVectorsAgreeWithIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 7, 16, 17, 64, 255, 256} {
		a, b := make(Vector, n), make(Vector, n)
		for i := range a {
			a[i], b[i] = random(r), random(r)
		}
		a[0], b[0] = New(P-1), New(P-1) // the largest carries
		sum, difference, product, scaled := make(Vector, n), make(Vector, n), make(Vector, n), make(Vector, n)
		canonical := make([]uint32, n)
		sum.Add(a, b)
		difference.Sub(a, b)
		product.Mul(a, b)
		scaled.ScalarMul(a, &b[n-1])
		Canonical(canonical, a)
		for i := range a {
			x, y := integer(&a[i]), integer(&b[i])
			for _, c := range []struct {
				name string
				got  Element
				want *big.Int
			}{
				{"sum", sum[i], new(big.Int).Add(x, y)},
				{"difference", difference[i], new(big.Int).Sub(x, y)},
				{"product", product[i], new(big.Int).Mul(x, y)},
				{"scaled", scaled[i], new(big.Int).Mul(x, integer(&b[n-1]))},
			} {
				if want := c.want.Mod(c.want, p); integer(&c.got).Cmp(want) != 0 {
					t.Fatalf("%s of %v and %v at %d of %d is %v, want %v", c.name, x, y, i, n, &c.got, want)
				}
			}
			if got := uint64(canonical[i]); got != x.Uint64() {
				t.Fatalf("canonical form of %v is %d, want %d", x, got, x.Uint64())
			}
		}
		if back := Integers(canonical); !slices.Equal(back, a) {
			t.Fatalf("%v comes back as %v", a, back)
		}
	}
}

// multiply is the product in E from its definition: polynomials in u and v, reduced by u² = 3 and v³ = u + 1.
func multiply(a, b *Ext) [Degree]*big.Int {
	x, y := Coordinates(a), Coordinates(b)
	var w [5][3]*big.Int // w[i][j] belongs to v^i·u^j
	for i := range w {
		for j := range w[i] {
			w[i][j] = new(big.Int)
		}
	}
	for i := range x {
		for j := range y {
			z := w[i/2+j/2][i%2+j%2]
			z.Add(z, new(big.Int).Mul(integer(&x[i]), integer(&y[j])))
		}
	}
	fold := func(i int) { // u² = 3
		w[i][0].Add(w[i][0], new(big.Int).Mul(big.NewInt(3), w[i][2]))
		w[i][2].SetInt64(0)
	}
	for i := 4; i >= 0; i-- {
		fold(i)
		if i >= 3 { // v^i = v^(i−3)·(u + 1)
			for j := range 2 {
				w[i-3][j].Add(w[i-3][j], w[i][j])
				w[i-3][j+1].Add(w[i-3][j+1], w[i][j])
			}
		}
	}
	var c [Degree]*big.Int
	for i := range c {
		c[i] = w[i/2][i%2].Mod(w[i/2][i%2], p)
	}
	return c
}

func TestExtensionAgreesWithItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	one := One()
	for range 500 {
		a, b := randomExt(r), randomExt(r)
		var product, inverse Ext
		product.Mul(&a, &b)
		got, want := Coordinates(&product), multiply(&a, &b)
		for i := range got {
			if integer(&got[i]).Cmp(want[i]) != 0 {
				t.Fatalf("coordinate %d of %v·%v is %v, want %v", i, &a, &b, &got[i], want[i])
			}
		}
		inverse.Inverse(&a)
		if product.Mul(&a, &inverse); !product.Equal(&one) {
			t.Fatalf("%v times its inverse is %v", &a, &product)
		}
		v := ExtVector{a, b, {}}
		InvertExt(v)
		if !v[0].Equal(&inverse) || !v[2].IsZero() {
			t.Fatalf("inverses together differ from one by one")
		}
		square := SquareTimes(&a, 3)
		if eighth := PowExt(&a, 8); !eighth.Equal(&square) {
			t.Fatalf("a^8 is %v, squared thrice %v", &eighth, &square)
		}
	}
}

func TestExtensionIsAField(t *testing.T) {
	// v³ − (u + 1) is irreducible over F_p² iff u + 1 is not a cube there; u² − 3 is irreducible over F_p iff 3 is not
	// a square.
	if s := Pow(New(3), (P-1)/2); s != New(P-1) {
		t.Errorf("3 is a square")
	}
	var c [Degree]Element
	c[0], c[1] = New(1), New(1)
	e := FromCoordinates(c)
	if r := PowExt(&e, (P*P-1)/3); r.IsOne() {
		t.Errorf("u + 1 is a cube")
	}
}

func TestCodec(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 100 {
		var x []Ext
		var b []byte
		for i := range n {
			x = append(x, randomExt(r))
			b = AppendExt(b, &x[i])
		}
		if y, err := DecodeExts(b); err != nil || !slices.Equal(x, y) {
			t.Fatalf("%v comes back as %v, error %v", x, y, err)
		}
	}
	for i := range Degree {
		b := make([]byte, ExtSize)
		copy(b[Size*i:], []byte{0, 0, 0, 0x7f})
		if _, err := DecodeExts(b); err != nil {
			t.Errorf("p − 1 at %d: error %v", i, err)
		}
		b[Size*i] = 1
		if _, err := DecodeExts(b); !errors.Is(err, ErrCanonical) {
			t.Errorf("p at %d: error %v, want %v", i, err, ErrCanonical)
		}
	}
}

func TestRootsOfUnity(t *testing.T) {
	for log := range TwoAdicity + 1 {
		w := RootOfUnity(log)
		if x := Pow(w, 1<<log); !x.IsOne() {
			t.Errorf("w^(2^%d) is %v", log, &x)
		}
		if log == 0 {
			continue
		}
		if x := Pow(w, 1<<(log-1)); x != New(P-1) {
			t.Errorf("w^(2^%d) is %v, want −1", log-1, &x)
		}
		if x := Pow(w, 2); x != RootOfUnity(log-1) {
			t.Errorf("root for %d is not the square of that for %d", log-1, log)
		}
	}
}

func TestTransforms(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for log := range 8 {
		n := 1 << log
		d, w := NewDomain(log), RootOfUnity(log)
		values, valuesExt := make(Vector, n), make(ExtVector, n)
		for i := range values {
			values[i], valuesExt[i] = random(r), randomExt(r)
		}
		coefficients, coefficientsExt := append(Vector{}, values...), append(ExtVector{}, valuesExt...)
		d.Interpolate(coefficients)
		d.InterpolateExt(coefficientsExt)
		back, backExt := append(Vector{}, coefficients...), append(ExtVector{}, coefficientsExt...)
		NewCoset(log, New(1)).Evaluate(back, back)
		d.fft.FFTExt6(backExt, fft.DIT, single)
		BitReverse(coefficients)
		BitReverse(coefficientsExt)
		x := New(1)
		for i := range values {
			var y Element
			var yExt Ext
			for j := n - 1; j >= 0; j-- {
				y.Mul(&y, &x).Add(&y, &coefficients[j])
				yExt.MulByElement(&yExt, &x)
				yExt.Add(&yExt, &coefficientsExt[j])
			}
			if y != values[i] || back[i] != values[i] || !yExt.Equal(&valuesExt[i]) || !backExt[i].Equal(&valuesExt[i]) {
				t.Fatalf("value %d of %d differs", i, n)
			}
			x.Mul(&x, &w)
		}
	}
}
