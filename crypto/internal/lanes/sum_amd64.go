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
	limbs    = len(element{})
	laneBits = 128 / Count // bits of a number that a lane handles
	maxRows  = 2 * 1 << 7  // of the buckets of any radix
)

// radix describes the digits of the numbers of a sum. A digit lies between −table and table − 1. Each lane handles
// laneBits bits of a number and adds each of their digits to another set of buckets.
type radix struct {
	width int // bits of a digit
	table int // buckets of a lane in a set, one for each absolute value
	sets  int
	// offset is added to each half of a number so that its bits are its digits plus table.
	offset uint64
	first  func() *first
}

var (
	// wide is for many points: an addition of a point goes to two sets, but 256 rows of buckets are added up.
	wide = newRadix(8, 0x8080808080808080)
	// narrow is for few: a point goes to four sets, and there are 32 rows.
	narrow = newRadix(4, 0x8888888888888888)
)

// narrowMost is the greatest number of equations for which narrow is the cheaper radix: for any with few keys, and nearly
// so with a key for each.
const narrowMost = 128

func newRadix(width int, offset uint64) *radix {
	r := &radix{width: width, table: 1 << (width - 1), sets: laneBits / width, offset: offset}
	r.first = sync.OnceValue(r.makeFirst)
	return r
}

// sum is a multi-exponentiation by buckets (Pippenger, SIAM J. Comput. 9, 1980). Scalars are split by the endomorphism
// into halves of 128 bits, and these into digits. A lane has its own bucket for each absolute value of a digit, so
// adding one point to eight buckets is one addition in lanes.
type sum struct {
	*radix
	*sumData
}

// sumData has no pointers and is large, so that its allocation is aligned for vectors.
type sumData struct {
	buckets [maxRows][Count]bucket // set i begins at row i·table

	xs, ys, bs          pair    // points that are added next, and β times their x
	x, y, h             element // one of these points, in every lane
	p                   point
	running, total, all point
}

var sums = sync.Pool{New: func() any { return new(sumData) }}

// begin returns an empty sum. free must be called after its use.
func (r *radix) begin() sum {
	s := sum{r, sums.Get().(*sumData)}
	copy(s.buckets[:], r.first().buckets)
	return s
}

func (s sum) free() { sums.Put(s.sumData) }

// first holds the initial contents of the buckets: points for which the formulas need no exceptions, unlike zero. They
// are known, so a sender can choose one as R. The sum is then inconclusive if R comes to the bucket of that point, and
// most buckets have a point of their own.
type first struct {
	buckets [][Count]bucket
	sum     secp256k1.G1Jac // their contribution to a sum
}

func (r *radix) makeFirst() *first {
	// The points are powers of an arbitrary number, times G.
	var factors [256]fr.Element
	var points [len(factors)]secp256k1.G1Affine
	var log big.Int
	k := minusB1
	for i := range factors {
		k.Mul(&k, &minusB1)
		factors[i] = k
		points[i].ScalarMultiplicationBase(k.BigInt(&log))
	}
	first := &first{buckets: make([][Count]bucket, r.sets*r.table)}
	var all, step fr.Element
	step.SetUint64(1 << r.width)
	unit := new(fr.Element).SetOne() // of the digits of a lane in a set
	for lane := range Count {
		for set := range r.sets {
			for b := range r.table {
				row := set*r.table + b
				i := (row*Count + lane) % len(factors)
				var e point
				e.X.setLane(lane, words(points[i].X.Bits()))
				e.Y.setLane(lane, words(points[i].Y.Bits()))
				e.Z.setLane(lane, words{1})
				first.buckets[row][lane] = e.bucket(lane)
				var part fr.Element
				part.SetUint64(uint64(b + 1))
				all.Add(&all, part.Mul(&part, &factors[i]).Mul(&part, unit))
			}
			unit.Mul(unit, &step)
		}
	}
	first.sum.ScalarMultiplicationBase(all.BigInt(&log))
	return first
}

// bucket returns the point of a lane.
func (p *point) bucket(lane int) (b bucket) {
	for i := range limbs {
		b[i], b[limbs+i], b[2*limbs+i] = p.X[i][lane], p.Y[i][lane], p.Z[i][lane]
	}
	return b
}

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
	r := wide
	if len(equations) <= narrowMost {
		r = narrow
	}
	s := r.begin()
	defer s.free()
	keys, base := s.gather(equations, coefficients)
	s.addBase(&base)
	n := len(equations)
	x := func(i int) *[32]byte {
		if i < n {
			return &equations[i].R
		}
		return &keys[i-n].x
	}
	for from := 0; from < n+len(keys); from += loaded {
		to := min(from+loaded, n+len(keys))
		if !s.load(to-from, func(i int) *[32]byte { return x(from + i) }) {
			return false
		}
		for i := from; i < to; i++ {
			if i < n {
				s.choose(i-from, &s.xs)
				s.add(coefficients[i].U, coefficients[i].V, false)
			} else {
				s.addMultiple(i-from, &keys[i-n].by)
			}
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
func (r *radix) gather(equations []Equation, coefficients []Coefficient) (keys []key, base fr.Element) {
	keys = make([]key, 0, len(equations))
	places := make(map[[32]byte]int, len(equations))
	for i := range equations {
		q := &equations[i]
		at, known := places[q.P]
		if !known {
			at = len(keys)
			places[q.P] = at
			keys = append(keys, key{x: q.P})
		}
		a := r.scalar(coefficients[i])
		var product fr.Element
		keys[at].by.Add(&keys[at].by, product.Mul(&a, &q.E))
		base.Sub(&base, product.Mul(&a, &q.S))
	}
	return keys, base
}

// scalar returns the number that a coefficient represents.
func (r *radix) scalar(c Coefficient) fr.Element {
	a, offset := scalar(words{c.U, c.V}), scalar(words{r.offset, r.offset})
	return *a.Sub(&a, &offset)
}

// loaded is the maximum number of points that are loaded at a time.
const loaded = len(pair{}) * Count

// load lifts n coordinates and reports whether all belong to points.
func (s sum) load(n int, x func(int) *[32]byte) bool {
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
	s.multiplyByBeta(groups)
	return true
}

// multiplyByBeta sets the first groups of bs.
func (s sum) multiplyByBeta(groups int) {
	var b element
	b.setAll(beta)
	for k := range groups {
		multiply(&s.bs[k], &b, &s.xs[k])
	}
}

// choose selects the i-th of the loaded points for [sum.add]. xs is s.xs for the point itself, or s.bs for λ times the
// point.
func (s sum) choose(i int, xs *pair) {
	var x, y [limbs]uint64
	group, lane := i/Count, i%Count
	for j := range x {
		x[j], y[j] = xs[group][j][lane], s.ys[group][j][lane]
	}
	spread(&s.x, &s.y, &x, &y)
}

// add adds the chosen point, multiplied by a number or its negative, to the buckets. low and high are the number's digits
// plus table.
func (s sum) add(low, high uint64, negate bool) {
	for set := range s.sets {
		s.addDigits(set, low, high, negate)
	}
}

// addDigits is add for the digits of one set.
func (s sum) addDigits(set int, low, high uint64, negate bool) {
	low, high = low>>(set*s.width), high>>(set*s.width)
	rows := s.buckets[set*s.table:][:s.table]
	var at [Count]*bucket
	var negative, active uint64
	for i := range at {
		word := low
		if i >= Count/2 {
			word = high
		}
		digit := int64(word>>(laneBits*(i%(Count/2)))&(1<<s.width-1)) - int64(s.table)
		sign := digit >> 63
		size := (digit ^ sign) - sign
		negative |= uint64(sign&1) << i
		if size != 0 {
			active |= 1 << i
		}
		at[i] = &rows[max(size, 1)-1][i]
	}
	if active == 0 {
		return
	}
	if negate {
		negative ^= 1<<Count - 1
	}
	take(&s.p, &at)
	add(&s.p, &s.p, &s.x, &s.y, &s.h, negative, active)
	put(&at, &s.p)
}

// addBase adds k times G.
func (s sum) addBase(k *fr.Element) {
	g := &baseMultiples()[0][0]
	s.xs[0].setLane(0, words(g[:4]))
	s.ys[0].setLane(0, words(g[4:]))
	s.multiplyByBeta(1)
	s.addMultiple(0, k)
}

// addMultiple adds k times the i-th of the loaded points.
func (s sum) addMultiple(i int, k *fr.Element) {
	k1, k2 := split(k)
	s.choose(i, &s.xs)
	s.addHalf(&k1)
	s.choose(i, &s.bs)
	s.addHalf(&k2)
}

// addHalf adds k times the chosen point; k is one of the halves from [split], at most 0.64·2^128.
func (s sum) addHalf(k *fr.Element) {
	w, negative := magnitude(k)
	low, carry := bits.Add64(w[0], s.offset, 0)
	high, carry := bits.Add64(w[1], s.offset, carry)
	if carry == 0 {
		s.add(low, high, negative)
		return
	}
	// The highest digit is its bits plus table, which is less than 2·table. It is split into these bits and table, where
	// table is −table of the opposite sign.
	s.add(low, high|1<<63, negative)
	s.addDigits(s.sets-1, s.offset, s.offset&(1<<63-1), !negative)
}

// result returns the sum of all additions, or false if a formula met points for which it does not hold.
func (s sum) result() (all secp256k1.G1Jac, ok bool) {
	for set := s.sets - 1; set >= 0; set-- {
		// Σ b·bucket[b] is the sum, over all b, of the sums of all buckets from b on.
		for b := s.table - 1; b >= 0; b-- {
			take(&s.p, addresses(&s.buckets[set*s.table+b]))
			if b == s.table-1 {
				s.running, s.total = s.p, s.p
				continue
			}
			addPoints(&s.running, &s.running, &s.p)
			addPoints(&s.total, &s.total, &s.running)
		}
		if set == s.sets-1 {
			s.all = s.total
			continue
		}
		double(&s.all, s.width)
		addPoints(&s.all, &s.all, &s.total)
	}
	for i := Count - 1; i >= 0; i-- {
		for range laneBits {
			all.DoubleAssign()
		}
		p := secp256k1.G1Jac{X: toField(s.all.X.lane(i)), Y: toField(s.all.Y.lane(i)), Z: toField(s.all.Z.lane(i))}
		if p.Z.IsZero() { // and has been 0 since an addition of a point to itself or to its negative
			return all, false
		}
		all.AddAssign(&p)
	}
	first := s.first().sum
	all.SubAssign(&first)
	return all, true
}
