//go:build amd64 && !purego

package lanes

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// times returns k·G.
func times(k *fr.Element) (p secp256k1.G1Affine) {
	p.ScalarMultiplicationBase(k.BigInt(new(big.Int)))
	return p
}

// randomScalar returns a scalar from r.
func randomScalar(r *rand.Rand) (k fr.Element) {
	var b [32]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	k.SetBytes(b[:])
	return k
}

// even returns k or −k, whichever has a point with even y, and the point's x.
func even(k fr.Element) (fr.Element, [32]byte) {
	p := times(&k)
	if p.Y.Bits()[0]&1 == 1 {
		k.Neg(&k)
	}
	return k, p.X.Bytes()
}

// equation returns a true equation for the discrete logarithm p of P and given e and r, that of R.
func equation(p, e, r fr.Element) (q Equation) {
	p, q.P = even(p)
	r, q.R = even(r)
	q.E = e
	q.S.Mul(&e, &p).Add(&q.S, &r)
	return q
}

func TestDecide(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var equations [Count]Equation
		want := uint8(r.Uint32())
		for i := range equations {
			equations[i] = equation(randomScalar(r), randomScalar(r), randomScalar(r))
			if want>>i&1 == 0 {
				var one fr.Element
				equations[i].S.Add(&equations[i].S, one.SetOne())
			}
		}
		if v := Decide(&equations); v != (Verdict{Holds: want}) {
			t.Fatalf("%+v, want %08b", v, want)
		}
	}
}

func TestFieldKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	p := fp.Modulus()
	value := func(e *element, lane int) *big.Int {
		v := new(big.Int)
		for i := 4; i >= 0; i-- {
			v.Lsh(v, 52).Add(v, new(big.Int).SetUint64(e[i][lane]))
		}
		return v
	}
	toBig := func(w words) *big.Int {
		v := new(big.Int)
		for i := 3; i >= 0; i-- {
			v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w[i]))
		}
		return v
	}
	limb := func() uint64 {
		switch r.IntN(4) {
		case 0:
			return mask52
		case 1:
			return 0
		case 2:
			return uint64(r.IntN(3))
		}
		return r.Uint64() & mask52
	}
	check := func(name string, got *element, lane int, want *big.Int) {
		t.Helper()
		for i := range got {
			if bound := uint64(1) << 52; got[i][lane] >= bound || i == 4 && got[i][lane] >= 1<<49 {
				t.Fatalf("%s: limb %d is %#x", name, i, got[i][lane])
			}
		}
		if g := toBig(got.lane(lane)); g.Cmp(want.Mod(want, p)) != 0 {
			t.Fatalf("%s in lane %d: %x, want %x", name, lane, g, want)
		}
	}
	for range 5000 {
		var x, y, product, power element
		for i := range x {
			for j := range x[i] {
				x[i][j], y[i][j] = limb(), limb()
			}
		}
		multiply(&product, &x, &y)
		square(&power, &x, 3)
		for lane := range Count {
			a := value(&x, lane)
			check("multiply", &product, lane, new(big.Int).Mul(a, value(&y, lane)))
			check("square", &power, lane, new(big.Int).Exp(a, big.NewInt(8), p))
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var equations [Count]Equation
	for i := range equations {
		equations[i] = equation(randomScalar(r), randomScalar(r), randomScalar(r))
	}
	for b.Loop() {
		Decide(&equations)
	}
}
