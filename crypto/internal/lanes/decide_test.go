//go:build amd64 && !purego

package lanes

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
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

// even returns whichever of k and −k has a point with even y, and the point's x.
func even(k fr.Element) (fr.Element, [32]byte) {
	p := times(&k)
	if p.Y.Bits()[0]&1 == 1 {
		k.Neg(&k)
	}
	return k, p.X.Bytes()
}

// equation returns a true equation for given e, the discrete logarithm p of P, and the discrete logarithm r of R.
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

// TestDecideExceptions uses small and special logarithms of P, e and s, in all combinations: a lane may be unsettled,
// but a settled lane must be right, whatever is in the lanes beside it. R is computed from the equation, and right if
// its y is even.
func TestDecideExceptions(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	special := []fr.Element{lambda, *new(fr.Element).Neg(&lambda), scalar(words{3: 1 << 56}), scalar(words{2: 1})}
	for i := int64(-9); i <= 9; i++ {
		special = append(special, *new(fr.Element).SetInt64(i))
	}
	var all []Equation
	var want []bool
	for _, k := range special {
		if k.IsZero() {
			continue
		}
		k, x := even(k)
		for _, e := range special {
			for _, s := range special {
				q := Equation{P: x, S: s, E: e}
				var r fr.Element
				holds := false
				if r.Sub(&s, r.Mul(&e, &k)); !r.IsZero() {
					p := times(&r)
					q.R = p.X.Bytes()
					holds = p.Y.Bits()[0]&1 == 0
				} else {
					q.R = x
				}
				all, want = append(all, q), append(want, holds)
			}
		}
	}
	settled, unsettled := 0, 0
	for len(all) >= Count {
		v := Decide((*[Count]Equation)(all))
		for i := range Count {
			if v.Unsettled>>i&1 == 1 {
				unsettled++
				if v.Holds>>i&1 == 1 {
					t.Errorf("both settled and not: got %+v", all[i])
				}
				continue
			}
			settled++
			if v.Holds>>i&1 == 1 != want[i] {
				t.Errorf("%+v: got %v", all[i], !want[i])
			}
		}
		all, want = all[Count:], want[Count:]
	}
	if settled < 1000 || unsettled < 100 {
		t.Errorf("%d settled, %d not", settled, unsettled)
	}
}

// TestDecideUnsettled leaves unsettled exactly the required cases: e = 0 and infinite R.
func TestDecideUnsettled(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	good := equation(randomScalar(r), randomScalar(r), randomScalar(r))
	p, e := randomScalar(r), randomScalar(r)
	noE := equation(p, fr.Element{}, randomScalar(r))
	infinite := equation(p, e, randomScalar(r))
	p, _ = even(p)
	infinite.S.Mul(&e, &p)
	for at := range Count {
		for name, q := range map[string]Equation{"e = 0": noE, "R infinite": infinite} {
			var equations [Count]Equation
			for i := range equations {
				equations[i] = good
			}
			equations[at] = q
			if v := Decide(&equations); v != (Verdict{Holds: 0xff &^ (1 << at), Unsettled: 1 << at}) {
				t.Errorf("%s in lane %d: got %+v", name, at, v)
			}
		}
	}
}

// TestDecideRefuses uses keys and R that are not on the curve or not below the modulus, and R with odd y.
func TestDecideRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	good := equation(randomScalar(r), randomScalar(r), randomScalar(r))
	overflow := [32]byte(new(big.Int).Add(modulus, big.NewInt(1)).Bytes()) // 1 is on the curve
	for name, change := range map[string]func(*Equation){
		"P is 0":        func(q *Equation) { q.P = [32]byte{} },
		"P is 5":        func(q *Equation) { q.P = [32]byte{31: 5} },
		"P is p + 1":    func(q *Equation) { q.P = overflow },
		"R is 0":        func(q *Equation) { q.R = [32]byte{} },
		"R is p + 1":    func(q *Equation) { q.R = overflow },
		"R is no point": func(q *Equation) { q.R = [32]byte{31: 5} },
		"R is odd": func(q *Equation) { // (−s)·G − (−e)·P = −R
			q.S.Neg(&q.S)
			q.E.Neg(&q.E)
		},
		"all is 0": func(q *Equation) { *q = Equation{} },
	} {
		for at := range Count {
			var equations [Count]Equation
			for i := range equations {
				equations[i] = good
			}
			change(&equations[at])
			if v := Decide(&equations); v != (Verdict{Holds: 0xff &^ (1 << at)}) {
				t.Errorf("%s in lane %d: got %+v", name, at, v)
			}
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
