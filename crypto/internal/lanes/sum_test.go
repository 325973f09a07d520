//go:build amd64 && !purego

package lanes

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// TestAddPoints compares the kernel with its formula on numbers that are not points, with the largest limbs, also in
// place.
func TestAddPoints(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	edge := func() element { return edgeElement(r, largestTop) }
	for range 300 {
		p, q := point{edge(), edge(), edge()}, point{edge(), edge(), edge()}
		onP, onQ := p, q
		var sum point
		addPoints(&sum, &p, &q)
		addPoints(&onP, &onP, &q)
		addPoints(&onQ, &p, &onQ)
		if onP != sum || onQ != sum {
			t.Fatal("in place it gives something else")
		}
		for lane := range Count {
			X1, Y1, Z1 := value(&p.X, lane), value(&p.Y, lane), value(&p.Z, lane)
			X2, Y2, Z2 := value(&q.X, lane), value(&q.Y, lane), value(&q.Z, lane)
			u, s := mul(X1, Z2, Z2), mul(Y1, Z2, Z2, Z2)
			h, d := sub(mul(X2, Z1, Z1), u), sub(mul(Y2, Z1, Z1, Z1), s)
			x := sub(mul(d, d), mul(h, h, h), mul(u, h, h), mul(u, h, h))
			checkLane(t, "X of the sum", &sum.X, lane, x)
			checkLane(t, "Y of the sum", &sum.Y, lane, sub(mul(d, sub(mul(u, h, h), x)), mul(s, h, h, h)))
			checkLane(t, "Z of the sum", &sum.Z, lane, mul(Z1, Z2, h))
		}
	}
}

func TestTakeAndPut(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	var table [3][Count]bucket
	var at [Count]*bucket
	for i := range at {
		at[i] = &table[r.IntN(3)][i]
	}
	p := point{edgeElement(r, mask52), edgeElement(r, mask52), edgeElement(r, mask52)}
	put(&at, &p)
	for lane, b := range at {
		for i := range limbs {
			if b[i] != p.X[i][lane] || b[limbs+i] != p.Y[i][lane] || b[2*limbs+i] != p.Z[i][lane] {
				t.Fatalf("limb %d of lane %d is not where it should be", i, lane)
			}
		}
	}
	var back point
	if take(&back, &at); back != p {
		t.Error("what was put is not taken")
	}
}

func TestSpread(t *testing.T) {
	xs, ys := [limbs]uint64{1, 2, 3, 4, 5}, [limbs]uint64{6, 7, 8, 9, 10}
	var x, y element
	spread(&x, &y, &xs, &ys)
	for lane := range Count {
		for i := range limbs {
			if x[i][lane] != xs[i] || y[i][lane] != ys[i] {
				t.Fatalf("limb %d of lane %d", i, lane)
			}
		}
	}
}

// TestSum compares sums of multiples with gnark-crypto's: for random scalars, small ones, powers of two, and scalars
// whose halves have the largest digits.
func TestSum(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := rand.New(rand.NewPCG(25, 26))
	scalars := []fr.Element{{}, lambda, minusB1, minusB2}
	for i := range uint(256) {
		k := scalar(wordsOf(new(big.Int).Lsh(big.NewInt(1), i)))
		scalars = append(scalars, k, *new(fr.Element).Neg(&k))
	}
	carried := 0
	for range 300 {
		k := randomScalar(r)
		k1, k2 := split(&k)
		for _, half := range []fr.Element{k1, k2} {
			if w, _ := magnitude(&half); w[1] > 1<<64-1-narrow.offset {
				carried++
			}
		}
		scalars = append(scalars, k)
	}
	if carried < 10 {
		t.Fatalf("only %d halves have a digit of table", carried)
	}
	for len(scalars) > 0 {
		n := min(1+r.IntN(2*Count), len(scalars))
		var want secp256k1.G1Jac
		s := []*radix{wide, narrow}[r.IntN(2)].begin()
		for i := range n {
			d, x := even(randomScalar(r))
			if !s.load(1, func(int) *[32]byte { return &x }) {
				t.Fatal("a point is not lifted")
			}
			s.addMultiple(0, &scalars[i])
			d.Mul(&d, &scalars[i])
			p := times(&d)
			want.AddMixed(&p)
		}
		if got, ok := s.result(); !ok || !got.Equal(&want) {
			t.Fatalf("the sum of multiples by %v with digits of %d bits is wrong", scalars[:n], s.width)
		}
		s.free()
		scalars = scalars[n:]
	}
}

func TestCoefficients(t *testing.T) {
	rnd := rand.New(rand.NewPCG(27, 28))
	for _, r := range []*radix{wide, narrow} {
		for _, c := range []Coefficient{
			{}, {1<<64 - 1, 1<<64 - 1}, {0, 1<<64 - 1}, {r.offset, r.offset}, {r.offset + 1, r.offset},
			{rnd.Uint64(), rnd.Uint64()},
		} {
			d, x := even(randomScalar(rnd))
			s := r.begin()
			s.load(1, func(int) *[32]byte { return &x })
			s.choose(0, &s.xs)
			s.add(c.U, c.V, false)
			a := r.scalar(c)
			p := times(d.Mul(&d, &a))
			var want secp256k1.G1Jac
			want.FromAffine(&p)
			if got, ok := s.result(); !ok || !got.Equal(&want) {
				t.Errorf("%x with digits of %d bits: not the point times %v", c, r.width, &a)
			}
			s.free()
		}
	}
}

func randomCoefficients(r *rand.Rand, n int) (cs []Coefficient) {
	for range n {
		cs = append(cs, Coefficient{r.Uint64(), r.Uint64()})
	}
	return cs
}

// equations returns true equations of a number of keys.
func equations(r *rand.Rand, n, keys int) (qs []Equation) {
	var secrets []fr.Element
	for range keys {
		secrets = append(secrets, randomScalar(r))
	}
	for i := range n {
		qs = append(qs, equation(secrets[i%keys], randomScalar(r), randomScalar(r)))
	}
	return qs
}

func TestAllHold(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := rand.New(rand.NewPCG(29, 30))
	one := new(fr.Element).SetOne()
	for _, n := range []int{1, 2, 7, 8, 9, 64, 100, narrowMost + 1} {
		for _, keys := range []int{1, 3, n} {
			qs := equations(r, n, min(keys, n))
			if !AllHold(qs, randomCoefficients(r, n)) {
				t.Errorf("%d equations of %d keys are said not to hold", n, keys)
			}
			for name, spoil := range map[string]func(*Equation){
				"s":             func(q *Equation) { q.S.Add(&q.S, one) },
				"e":             func(q *Equation) { q.E.Add(&q.E, one) },
				"sign of R":     func(q *Equation) { q.S.Neg(&q.S); q.E.Neg(&q.E) },
				"another R":     func(q *Equation) { _, q.R = even(randomScalar(r)) },
				"another P":     func(q *Equation) { _, q.P = even(randomScalar(r)) },
				"R is no point": func(q *Equation) { q.R = [32]byte{31: 5} },
				"P is no point": func(q *Equation) { q.P = [32]byte{31: 5} },
				"R too large":   func(q *Equation) { q.R = [32]byte(new(big.Int).Add(modulus, big.NewInt(1)).Bytes()) },
				"P too large":   func(q *Equation) { q.P = [32]byte(new(big.Int).Add(modulus, big.NewInt(1)).Bytes()) },
			} {
				i := r.IntN(n)
				was := qs[i]
				spoil(&qs[i])
				if AllHold(qs, randomCoefficients(r, n)) {
					t.Errorf("%d equations of %d keys are said to hold: %s", n, keys, name)
				}
				qs[i] = was
			}
		}
	}
}

// TestErrorsDoNotCancel uses two false equations with opposite errors.
func TestErrorsDoNotCancel(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	one := new(fr.Element).SetOne()
	qs := equations(r, 20, 20)
	qs[3].S.Add(&qs[3].S, one)
	qs[11].S.Sub(&qs[11].S, one)
	if AllHold(qs, randomCoefficients(r, len(qs))) {
		t.Error("they are said to hold")
	}
}

// TestPointsThatMeet adds a point to the bucket that contains the same point, a case that the formulas do not cover,
// and then to the next bucket.
func TestPointsThatMeet(t *testing.T) {
	nonce := minusB1
	for b := range narrow.table - 1 {
		for lane := range Count { // of the first set
			nonce.Mul(&nonce, &minusB1)
			_, x := even(nonce)
			added := func(digit int) (ok bool) {
				s := narrow.begin()
				defer s.free()
				s.load(1, func(int) *[32]byte { return &x })
				s.choose(0, &s.xs)
				halves := [2]uint64{narrow.offset, narrow.offset}
				halves[lane/4] -= uint64(digit) << (lane % 4 * laneBits)
				s.add(halves[0], halves[1], false)
				_, ok = s.result()
				return ok
			}
			if added(b + 1) {
				t.Errorf("a point meets bucket %d of lane %d, and nobody notices", b+1, lane)
			}
			if !added(b + 2) {
				t.Errorf("a point that belongs to bucket %d of lane %d is not covered elsewhere", b+1, lane)
			}
		}
	}
}

func BenchmarkAllHold(b *testing.B) {
	r := rand.New(rand.NewPCG(35, 36))
	for _, n := range []int{1, 8, 16, 64, 128, 192, 256, 512, 2048} {
		for _, keys := range []int{min(n, 8), n} {
			qs, cs := equations(r, n, keys), randomCoefficients(r, n)
			b.Run(fmt.Sprintf("equations=%d/keys=%d", n, keys), func(b *testing.B) {
				for b.Loop() {
					if !AllHold(qs, cs) {
						b.Fatal("they do not hold")
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/equation")
			})
		}
	}
}
