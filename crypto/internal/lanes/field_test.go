//go:build amd64 && !purego

package lanes

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

var modulus = fp.Modulus()

// value is the number in a lane, not reduced mod p.
func value(e *element, lane int) *big.Int {
	v := new(big.Int)
	for i := 4; i >= 0; i-- {
		v.Lsh(v, 52).Add(v, new(big.Int).SetUint64(e[i][lane]))
	}
	return v
}

func (w words) big() *big.Int {
	v := new(big.Int)
	for i := 3; i >= 0; i-- {
		v.Lsh(v, 64).Add(v, new(big.Int).SetUint64(w[i]))
	}
	return v
}

func wordsOf(v *big.Int) (w words) {
	mask := new(big.Int).SetUint64(1<<64 - 1)
	for i := range w {
		w[i] = new(big.Int).And(new(big.Int).Rsh(v, uint(64*i)), mask).Uint64()
	}
	return w
}

// largestTop is the largest highest limb of reduced elements.
const largestTop = 1<<48 + 1<<12

// edgeElement has limbs that are often 0 or the largest; the highest is at most top. Some lanes are 0, 1, p − 1, p,
// p + 1 or 2^256 − 1.
func edgeElement(r *rand.Rand, top uint64) (e element) {
	one := big.NewInt(1)
	edges := []*big.Int{
		new(big.Int), one, new(big.Int).Sub(modulus, one), modulus, new(big.Int).Add(modulus, one),
		new(big.Int).Sub(new(big.Int).Lsh(one, 256), one),
	}
	for lane := range Count {
		if r.IntN(4) == 0 {
			e.setLane(lane, wordsOf(edges[r.IntN(len(edges))]))
			continue
		}
		for i := range e {
			largest := uint64(mask52)
			if i == len(e)-1 {
				largest = top
			}
			switch r.IntN(4) {
			case 0:
				e[i][lane] = largest
			case 1:
				e[i][lane] = 0
			default:
				e[i][lane] = r.Uint64N(largest + 1)
			}
		}
	}
	return e
}

// checkLane compares a reduced element with a number mod p.
func checkLane(t *testing.T, name string, got *element, lane int, want *big.Int) {
	t.Helper()
	for i := range got {
		if got[i][lane] > mask52 || i == 4 && got[i][lane] > largestTop {
			t.Fatalf("%s: limb %d is %#x", name, i, got[i][lane])
		}
	}
	if g := got.lane(lane).big(); g.Cmp(new(big.Int).Mod(want, modulus)) != 0 {
		t.Fatalf("%s in lane %d: %x, want %x", name, lane, g, want)
	}
}

// mul and sum are for numbers of any size and sign.
func mul(factors ...*big.Int) *big.Int {
	p := big.NewInt(1)
	for _, f := range factors {
		p.Mul(p, f)
		p.Mod(p, modulus)
	}
	return p
}

func sub(x *big.Int, ys ...*big.Int) *big.Int {
	d := new(big.Int).Set(x)
	for _, y := range ys {
		d.Sub(d, y)
	}
	return d
}

func TestMultiplyAndSquare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 800 {
		// All limbs are below 2^52, which is more than in reduced elements.
		x, y := edgeElement(r, mask52), edgeElement(r, mask52)
		var product, power element
		multiply(&product, &x, &y)
		square(&power, &x, 3, 1)
		for lane := range Count {
			a := value(&x, lane)
			checkLane(t, "multiply", &product, lane, mul(a, value(&y, lane)))
			checkLane(t, "square", &power, lane, mul(a, a, a, a, a, a, a, a))
		}
		multiply(&x, &x, &y)
		if x != product {
			t.Fatal("multiply in place gives something else")
		}
	}
}

// TestDoubleAndAdd compares the kernels with their formulas on numbers that are not points, with the largest limbs.
func TestDoubleAndAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 400 {
		p := point{edgeElement(r, largestTop), edgeElement(r, largestTop), edgeElement(r, largestTop)}
		x, y := edgeElement(r, largestTop), edgeElement(r, largestTop)
		doubled, sum := p, point{}
		double(&doubled, 1)
		negative, active := uint64(r.Uint32N(256)), uint64(r.Uint32N(256))
		var h element
		add(&sum, &p, &x, &y, &h, negative, active)
		inPlace := p
		add(&inPlace, &inPlace, &x, &y, &h, negative, active)
		for lane := range Count {
			X, Y, Z := value(&p.X, lane), value(&p.Y, lane), value(&p.Z, lane)
			m, s := mul(big.NewInt(3), X, X), mul(big.NewInt(4), X, Y, Y)
			x3 := sub(mul(m, m), s, s)
			checkLane(t, "X of the double", &doubled.X, lane, x3)
			checkLane(t, "Y of the double", &doubled.Y, lane, sub(mul(m, sub(s, x3)), mul(big.NewInt(8), Y, Y, Y, Y)))
			checkLane(t, "Z of the double", &doubled.Z, lane, mul(big.NewInt(2), Y, Z))

			y2 := value(&y, lane)
			if negative>>lane&1 == 1 {
				y2.Neg(y2)
			}
			hWant, rWant := sub(mul(value(&x, lane), Z, Z), X), sub(mul(y2, Z, Z, Z), Y)
			checkLane(t, "h", &h, lane, hWant)
			if active>>lane&1 == 0 {
				if sum.X.lane(lane) != (words{}) || inPlace.X.lane(lane) != p.X.lane(lane) ||
					inPlace.Z.lane(lane) != p.Z.lane(lane) {
					t.Fatal("a lane that is not active changed")
				}
				continue
			}
			v := mul(X, hWant, hWant)
			x3 = sub(mul(rWant, rWant), mul(hWant, hWant, hWant), v, v)
			y3 := sub(mul(rWant, sub(v, x3)), mul(Y, hWant, hWant, hWant))
			for _, got := range []*point{&sum, &inPlace} {
				checkLane(t, "X of the sum", &got.X, lane, x3)
				checkLane(t, "Y of the sum", &got.Y, lane, y3)
				checkLane(t, "Z of the sum", &got.Z, lane, mul(Z, hWant))
			}
		}
	}
}

func TestLane(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 800 {
		e := edgeElement(r, largestTop)
		for lane := range Count {
			w := e.lane(lane)
			checkLane(t, "lane", &e, lane, value(&e, lane))
			var back element
			back.setLane(lane, w)
			if value(&back, lane).Cmp(w.big()) != 0 {
				t.Fatalf("%x set is %x", w, value(&back, lane))
			}
			bytes := [32]byte(w.big().FillBytes(make([]byte, 32)))
			if got, ok := fromBytes(&bytes); got != w || !ok {
				t.Fatalf("from bytes %x: got %x, %v", bytes, got, ok)
			}
			if w != (words{}) && new(big.Int).Add(w.negated().big(), w.big()).Cmp(modulus) != 0 {
				t.Fatalf("%x negated is %x", w, w.negated())
			}
			if got := toField(w); got.BigInt(new(big.Int)).Cmp(w.big()) != 0 {
				t.Fatalf("%x in the field is %v", w, got)
			}
		}
	}
	for _, above := range []int64{0, 1, fold - 1} {
		bytes := [32]byte(new(big.Int).Add(modulus, big.NewInt(above)).Bytes())
		if _, ok := fromBytes(&bytes); ok {
			t.Errorf("p + %d is said to be below p", above)
		}
	}
}

func TestSquareRoots(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	exponent := new(big.Int).Rsh(new(big.Int).Add(modulus, big.NewInt(1)), 2)
	for count := 1; count <= 2; count++ {
		x := pair{edgeElement(r, largestTop), edgeElement(r, largestTop)}
		var roots pair
		squareRoots(&roots, &x, count)
		for k := range count {
			for lane := range Count {
				checkLane(t, "root", &roots[k], lane, new(big.Int).Exp(value(&x[k], lane), exponent, modulus))
			}
		}
		if count == 1 && roots[1] != (element{}) {
			t.Error("more than asked for is set")
		}
	}
}

func TestSplitAndRecode(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	bound := new(big.Int).Lsh(big.NewInt(1), 128)
	sumOf := func(ds []digits, lane, width int) *big.Int {
		sum := new(big.Int)
		for i := len(ds) - 1; i >= 0; i-- {
			d := new(big.Int).SetUint64(ds[i].index[lane])
			if d.Int64() > 1<<(width-1) {
				t.Fatalf("digit %v of width %d", d, width)
			}
			if ds[i].negative>>lane&1 == 1 {
				d.Neg(d)
			}
			sum.Lsh(sum, uint(width)).Add(sum, d)
		}
		return sum
	}
	edges := []fr.Element{{}, lambda, minusB1, minusB2}
	for i := range int64(300) {
		var k fr.Element
		edges = append(edges, *k.SetInt64(i - 150))
	}
	for i := range uint(256) {
		edges = append(edges, scalar(wordsOf(new(big.Int).Lsh(big.NewInt(1), i))))
	}
	for i := range 800 {
		k := randomScalar(r)
		if i < len(edges) {
			k = edges[i]
		}
		k1, k2 := split(&k)
		var back fr.Element
		if back.Mul(&k2, &lambda).Add(&back, &k1); back != k {
			t.Fatalf("%v splits into %v, %v", &k, &k1, &k2)
		}
		lane := i % Count
		for _, half := range []fr.Element{k1, k2} {
			if w, _ := magnitude(&half); w.big().Cmp(bound) >= 0 {
				t.Fatalf("half %v of %v", &half, &k)
			}
			var ds [keyPlaces]digits
			recode(ds[:], lane, &half, keyWidth)
			if got := back.SetBigInt(sumOf(ds[:], lane, keyWidth)); *got != half {
				t.Fatalf("half %v is recoded as %v", &half, got)
			}
		}
		var ds [basePlaces]digits
		recode(ds[:], lane, &k, baseWidth)
		if got := back.SetBigInt(sumOf(ds[:], lane, baseWidth)); *got != k {
			t.Fatalf("%v is recoded as %v", &k, got)
		}
	}
}

func TestEndomorphism(t *testing.T) {
	p, q := times(new(fr.Element).SetOne()), times(&lambda)
	b := toField(beta)
	if p.X.Mul(&p.X, &b); !p.Equal(&q) {
		t.Error("λ·G is not (β·x, y)")
	}
}

func TestBaseMultiples(t *testing.T) {
	for i := range basePlaces {
		for _, k := range []int64{1, 2, 77, baseTable} {
			var scalar fr.Element
			p := times(scalar.SetBigInt(new(big.Int).Lsh(big.NewInt(k), uint(baseWidth*i))))
			r := &baseMultiples()[i][k-1]
			if words(r[:4]) != p.X.Bits() || words(r[4:]) != p.Y.Bits() {
				t.Errorf("%d·2^%d·G is wrong", k, baseWidth*i)
			}
		}
	}
}

func BenchmarkSquareRoots(b *testing.B) {
	r := rand.New(rand.NewPCG(17, 18))
	x := pair{edgeElement(r, largestTop), edgeElement(r, largestTop)}
	var roots pair
	for count := 1; count <= 2; count++ {
		b.Run(fmt.Sprintf("elements=%d", count), func(b *testing.B) {
			for b.Loop() {
				squareRoots(&roots, &x, count)
			}
		})
	}
}
