//go:build !purego

package lanes

import (
	"math/big"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

const (
	sumWidth = 8                   // bits of a digit: one lane for each of the eight digits of 64 bits
	sumTable = 1 << (sumWidth - 1) // buckets of a lane
	limbs    = len(element{})

	// digitOffset is added to a number so that its bytes are its digits plus 128.
	digitOffset = 0x8080808080808080
)

// sum is a multi-exponentiation by buckets (Pippenger, SIAM J. Comput. 9, 1980). Scalars are split by the endomorphism
// into halves of 128 bits, and these into two words of eight digits from −128 to 127. Lane i has the i-th digits and
// its own bucket for each absolute value, so adding one point to eight buckets is one addition in lanes. A sum has no
// pointers and is large, so that its allocation is aligned for vectors.
type sum struct {
	buckets [2][sumTable][Count]bucket // for the low and the high words

	xs, ys, bs     pair    // points that are added next, and β times their x
	x, y, h        element // one of these points, in every lane
	p              point
	running, total point
}

var sums = sync.Pool{New: func() any { return new(sum) }}

// first holds the initial contents of a set of buckets: points for which the formulas need no exceptions, unlike zero.
type first struct {
	buckets [sumTable][Count]bucket
	sum     secp256k1.G1Jac // contribution of the initial buckets of both sets to a sum
}

var firstBuckets = sync.OnceValue(func() *first {
	first := new(first)
	// The initial bucket of digit d is the (d + 1)-th power of an arbitrary number, times G.
	k := minusB1
	var all fr.Element
	var log big.Int
	for b := range first.buckets {
		k.Mul(&k, &minusB1)
		var p secp256k1.G1Affine
		p.ScalarMultiplicationBase(k.BigInt(&log))
		var e point
		e.X.setAll(words(p.X.Bits()))
		e.Y.setAll(words(p.Y.Bits()))
		e.Z.setAll(words{1})
		put(addresses(&first.buckets[b]), &e)
		for range b + 1 {
			all.Add(&all, &k)
		}
	}
	var places, radix fr.Element
	radix.SetUint64(1 << sumWidth)
	for range 2 * Count {
		var one fr.Element
		places.Mul(&places, &radix).Add(&places, one.SetOne())
	}
	all.Mul(&all, &places)
	first.sum.ScalarMultiplicationBase(all.BigInt(&log))
	return first
})

// addresses returns the addresses of eight buckets.
func addresses(buckets *[Count]bucket) *[Count]*bucket {
	a := new([Count]*bucket)
	for i := range a {
		a[i] = &buckets[i]
	}
	return a
}

// AllHold reports whether all equations hold: it returns true if Σ a_i·(R_i + e_i·P_i − s_i·G) is zero, where a_i is
// the i-th coefficient. The coefficients must be random and chosen after the equations. Then, if an equation does not
// hold, the result is true with a probability of at most 2^-128: as the group's order is prime, at most one value of
// that equation's coefficient makes the sum zero, whatever the others are. The result may be false even if all
// equations hold, namely if equal or inverse points meet in a bucket. It is false if the lanes are not [Available].
func AllHold(equations []Equation, coefficients []Coefficient) bool {
	if !Available() {
		return false
	}
	s := sums.Get().(*sum)
	defer sums.Put(s)
	s.begin()
	keys, base := gather(equations, coefficients)
	_, generator := secp256k1.Generators()
	keys = append(keys, key{x: generator.X.Bytes(), by: base}) // the generator's y is even
	for n := 0; len(equations) > 0; equations, coefficients = equations[n:], coefficients[n:] {
		n = min(len(equations), loaded)
		if !s.load(n, func(i int) *[32]byte { return &equations[i].R }) {
			return false
		}
		for i, c := range coefficients[:n] {
			s.choose(i, &s.xs)
			s.add(0, c.U, false)
			s.choose(i, &s.bs)
			s.add(0, c.V, false)
		}
	}
	for n := 0; len(keys) > 0; keys = keys[n:] {
		n = min(len(keys), loaded)
		if !s.load(n, func(i int) *[32]byte { return &keys[i].x }) {
			return false
		}
		for i := range n {
			s.addMultiple(i, &keys[i].by)
		}
	}
	result, ok := s.result()
	return ok && result.Z.IsZero()
}

// key is a point with even y, and its factor.
type key struct {
	x  [32]byte
	by fr.Element
}

// gather returns Σ a_i·e_i for each key of the equations, and −Σ a_i·s_i, the factor of G.
func gather(equations []Equation, coefficients []Coefficient) (keys []key, base fr.Element) {
	keys = make([]key, 0, len(equations)+1)
	places := make(map[[32]byte]int, len(equations))
	for i := range equations {
		q := &equations[i]
		at, known := places[q.P]
		if !known {
			at = len(keys)
			places[q.P] = at
			keys = append(keys, key{x: q.P})
		}
		a := coefficients[i].scalar()
		var product fr.Element
		keys[at].by.Add(&keys[at].by, product.Mul(&a, &q.E))
		base.Sub(&base, product.Mul(&a, &q.S))
	}
	return keys, base
}

// offset is digitOffset as a scalar.
var offset = scalar(words{digitOffset})

// scalar returns the number that a coefficient represents.
func (c Coefficient) scalar() (a fr.Element) {
	u, v := scalar(words{c.U}), scalar(words{c.V})
	a.Sub(&v, &offset).Mul(&a, &lambda).Add(&a, &u)
	return *a.Sub(&a, &offset)
}

// begin resets the sum.
func (s *sum) begin() {
	for set := range s.buckets {
		s.buckets[set] = firstBuckets().buckets
	}
}

// loaded is the maximum number of points that are loaded at a time.
const loaded = len(pair{}) * Count

// load lifts n coordinates and reports whether all belong to points.
func (s *sum) load(n int, x func(int) *[32]byte) bool {
	var all [2]uint8
	for i := range n {
		w, ok := fromBytes(x(i))
		if !ok {
			return false
		}
		s.xs[i/Count].setLane(i%Count, w)
		all[i/Count] |= 1 << (i % Count)
	}
	groups := (n + Count - 1) / Count
	if lift(&s.xs, &s.ys, groups, all) != all {
		return false
	}
	var b element
	b.setAll(beta)
	for k := range groups {
		multiply(&s.bs[k], &b, &s.xs[k])
	}
	return true
}

// choose selects the i-th of the loaded points for [sum.add]. xs is s.xs for the point itself, or s.bs for λ times the
// point.
func (s *sum) choose(i int, xs *pair) {
	var x, y [limbs]uint64
	group, lane := i/Count, i%Count
	for j := range x {
		x[j], y[j] = xs[group][j][lane], s.ys[group][j][lane]
	}
	spread(&s.x, &s.y, &x, &y)
}

// add adds the chosen point, multiplied by a word of digits or its negative, to the buckets of a set. A digit is its
// byte minus 128.
func (s *sum) add(set int, digits uint64, negate bool) {
	var at [Count]*bucket
	var negative, active uint64
	for i := range at {
		digit := int64(digits>>(sumWidth*i)&(1<<sumWidth-1)) - sumTable
		sign := digit >> 63
		size := (digit ^ sign) - sign
		negative |= uint64(sign&1) << i
		if size != 0 {
			active |= 1 << i
		}
		at[i] = &s.buckets[set][max(size, 1)-1][i]
	}
	if negate {
		negative ^= 1<<Count - 1
	}
	take(&s.p, &at)
	add(&s.p, &s.p, &s.x, &s.y, &s.h, negative, active)
	put(&at, &s.p)
}

// addMultiple adds k times the i-th of the loaded points.
func (s *sum) addMultiple(i int, k *fr.Element) {
	k1, k2 := split(k)
	s.choose(i, &s.xs)
	s.addHalf(&k1)
	s.choose(i, &s.bs)
	s.addHalf(&k2)
}

// addHalf adds k times the chosen point; k is one of the halves from [split], at most 0.64·2^128.
func (s *sum) addHalf(k *fr.Element) {
	w, negative := magnitude(k)
	low, carry := bits.Add64(w[0], digitOffset, 0)
	high, carry := bits.Add64(w[1], digitOffset, carry)
	s.add(0, low, negative)
	if carry == 0 {
		s.add(1, high, negative)
		return
	}
	// The highest digit is its byte plus 128, which is less than 2·128. It is split into that byte and 128, where 128
	// is −128 of the opposite sign.
	s.add(1, high|1<<63, negative)
	s.add(1, digitOffset&(1<<56-1), !negative)
}

// result returns the sum of all additions, or false if a formula met points for which it does not hold.
func (s *sum) result() (all secp256k1.G1Jac, ok bool) {
	for set := len(s.buckets) - 1; set >= 0; set-- {
		// Σ b·bucket[b] is the sum, over all b, of the sums of all buckets from b on.
		var at [Count]*bucket
		for b := sumTable - 1; b >= 0; b-- {
			for i := range at {
				at[i] = &s.buckets[set][b][i]
			}
			take(&s.p, &at)
			if b == sumTable-1 {
				s.running, s.total = s.p, s.p
				continue
			}
			addPoints(&s.running, &s.running, &s.p)
			addPoints(&s.total, &s.total, &s.running)
		}
		for i := Count - 1; i >= 0; i-- {
			for range sumWidth {
				all.DoubleAssign()
			}
			p := secp256k1.G1Jac{X: toField(s.total.X.lane(i)), Y: toField(s.total.Y.lane(i)), Z: toField(s.total.Z.lane(i))}
			if p.Z.IsZero() { // and has been 0 since an addition of a point to itself or to its negative
				return all, false
			}
			all.AddAssign(&p)
		}
	}
	first := firstBuckets().sum
	all.SubAssign(&first)
	return all, true
}
