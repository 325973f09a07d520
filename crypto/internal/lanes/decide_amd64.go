//go:build !purego

package lanes

import (
	"encoding/binary"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

const (
	keyWidth  = 4                   // bits of a digit of e's halves
	keyPlaces = 128/keyWidth + 1    // one extra for the carry
	keyTable  = 1 << (keyWidth - 1) // 1…8 times P

	baseWidth  = 8 // bits of a digit of s
	basePlaces = 256 / baseWidth
	baseTable  = 1 << (baseWidth - 1)
)

// baseMultiples returns the table with k·2^(8i)·G at [i][k−1], 256 KiB.
var baseMultiples = sync.OnceValue(func() *[basePlaces][baseTable]row {
	jacobian := make([]secp256k1.G1Jac, 0, basePlaces*baseTable)
	unit, _ := secp256k1.Generators()
	for range basePlaces {
		multiple := unit
		for range baseTable {
			jacobian = append(jacobian, multiple)
			multiple.AddAssign(&unit)
		}
		for range baseWidth {
			unit.DoubleAssign()
		}
	}
	table := new([basePlaces][baseTable]row)
	for i, p := range secp256k1.BatchJacobianToAffineG1(jacobian) {
		x, y := p.X.Bits(), p.Y.Bits()
		r := &table[i/baseTable][i%baseTable]
		copy(r[:4], x[:])
		copy(r[4:], y[:])
	}
	return table
})

// work holds the data for eight equations. It has no pointers and is large, so that its allocation is aligned for
// vectors.
type work struct {
	keyX, keyY element           // P
	xs, ys, bs [keyTable]element // X and Y of the multiples of P, on the isomorphic curve, and β·X
	zs         element           // the multiples' Z on the real curve
	sum        point
	none       uint8 // lanes whose sum is still zero

	halves [2][keyPlaces]digits
	base   [basePlaces]digits

	// Temporaries of one step.
	x, y, h  element
	multiple [keyTable]point
	ratio    [keyTable]element
}

var works = sync.Pool{New: func() any { return new(work) }}

// Decide decides the equations. If the lanes are not [Available], it leaves all unsettled.
func Decide(equations *[Count]Equation) (v Verdict) {
	if !Available() {
		return Verdict{Unsettled: 0xff}
	}
	w := works.Get().(*work)
	defer works.Put(w)
	valid := w.liftKeys(equations)
	w.tabulate()
	w.recode(equations)
	w.multiplyKeys()
	v.Unsettled = w.none
	w.addBase()
	w.compare(equations, &v)
	v.Holds &= valid &^ v.Unsettled
	v.Unsettled &= valid
	return v
}

// liftKeys sets the keys' points with even y. It returns the lanes in which there is such a point (lift_x of BIP-340)
// and R is below the modulus. The other lanes get G, so that the code below has no special cases.
func (w *work) liftKeys(equations *[Count]Equation) (valid uint8) {
	var x, y pair
	for i := range equations {
		key, ok := fromBytes(&equations[i].P)
		if _, rOK := fromBytes(&equations[i].R); ok && rOK {
			valid |= 1 << i
		}
		x[0].setLane(i, key)
	}
	lifted := lift(&x, &y, 1, [2]uint8{valid})
	w.keyX, w.keyY = x[0], y[0]
	return lifted[0]
}

// lift sets the first count elements of y to the even root of x³ + 7. It returns the lanes of valid in which there is
// one; the other lanes get G.
func lift(x, y *pair, count int, valid [2]uint8) [2]uint8 {
	var c, root, check pair
	for k := range count {
		square(&c[k], &x[k], 1, 1)
		multiply(&c[k], &c[k], &x[k])
		c[k].addSmall(7)
	}
	squareRoots(&root, &c, count)
	square(&check[0], &root[0], 1, count)
	for k := range count {
		for i := range Count {
			if check[k].lane(i) != c[k].lane(i) {
				valid[k] &^= 1 << i
			}
			even := root[k].lane(i)
			if valid[k]>>i&1 == 0 {
				g := &baseMultiples()[0][0]
				x[k].setLane(i, words(g[:4]))
				even = words(g[4:])
			}
			if even[0]&1 == 1 { // not zero: no point has y = 0, as the group's order is odd
				even = even.negated()
			}
			y[k].setLane(i, even)
		}
	}
	return valid
}

// tabulate computes the tables of multiples of the keys. A multiple is the previous one plus P, so its Z is the
// previous Z times h. All are brought to the last Z by products of those h.
func (w *work) tabulate() {
	m := &w.multiple
	m[0].X, m[0].Y = w.keyX, w.keyY
	m[0].Z.setAll(words{1})
	m[1] = m[0]
	double(&m[1], 1)
	w.ratio[1] = m[1].Z
	for i := 2; i < keyTable; i++ {
		add(&m[i], &m[i-1], &w.keyX, &w.keyY, &w.ratio[i], 0, 0xff)
	}
	w.zs = m[keyTable-1].Z
	var b, f, ff element
	b.setAll(beta)
	f.setAll(words{1})
	for i := keyTable - 1; i >= 0; i-- {
		square(&ff, &f, 1, 1)
		multiply(&w.xs[i], &m[i].X, &ff)
		multiply(&ff, &ff, &f)
		multiply(&w.ys[i], &m[i].Y, &ff)
		multiply(&w.bs[i], &w.xs[i], &b)
		if i > 0 {
			multiply(&f, &f, &w.ratio[i])
		}
	}
}

// recode sets the digits of −e, in two halves, and of s.
func (w *work) recode(equations *[Count]Equation) {
	w.halves = [2][keyPlaces]digits{}
	w.base = [basePlaces]digits{}
	for i := range equations {
		var k fr.Element
		k1, k2 := split(k.Neg(&equations[i].E))
		recode(w.halves[0][:], i, &k1, keyWidth)
		recode(w.halves[1][:], i, &k2, keyWidth)
		recode(w.base[:], i, &equations[i].S, baseWidth)
	}
}

// multiplyKeys sets sum to −e·P.
func (w *work) multiplyKeys() {
	w.none = 0xff
	w.sum = point{}
	for place := keyPlaces - 1; place >= 0; place-- {
		if place < keyPlaces-1 {
			double(&w.sum, keyWidth)
		}
		for half, xs := range [2]*[keyTable]element{&w.xs, &w.bs} {
			d := &w.halves[half][place]
			choose(&w.x, &w.y, xs, &w.ys, &d.index)
			active := d.active()
			add(&w.sum, &w.sum, &w.x, &w.y, &w.h, uint64(d.negative), uint64(active&^w.none))
			w.begin(active&w.none, d.negative)
		}
	}
	multiply(&w.sum.Z, &w.sum.Z, &w.zs)
}

// begin sets the sum to ±(x, y) in the given lanes, in which it was zero.
func (w *work) begin(lanes, negative uint8) {
	for i := range Count {
		if lanes>>i&1 == 0 {
			continue
		}
		y := w.y.lane(i)
		if negative>>i&1 == 1 {
			y = y.negated()
		}
		w.sum.X.setLane(i, w.x.lane(i))
		w.sum.Y.setLane(i, y)
		w.sum.Z.setLane(i, words{1})
	}
	w.none &^= lanes
}

// addBase adds s·G to the sum.
func (w *work) addBase() {
	table := baseMultiples()
	var rows [Count]*row
	for place := range basePlaces {
		d := &w.base[place]
		for i, v := range d.index {
			rows[i] = &table[place][max(v, 1)-1]
		}
		fetch(&w.x, &w.y, &rows)
		add(&w.sum, &w.sum, &w.x, &w.y, &w.h, uint64(d.negative), uint64(d.active()))
	}
}

// compare sets the lanes whose sum is R. Lanes with Z = 0 are not settled: an addition of a point to itself or to its
// negative has set Z to 0, and it has stayed 0 since.
func (w *work) compare(equations *[Count]Equation, v *Verdict) {
	var z [Count]fp.Element
	for i := range z {
		z[i] = toField(w.sum.Z.lane(i))
		if z[i].IsZero() {
			v.Unsettled |= 1 << i
		}
	}
	var inverse, inverse2 element
	for i, e := range fp.BatchInvert(z[:]) { // 0 for 0
		inverse.setLane(i, e.Bits())
	}
	square(&inverse2, &inverse, 1, 1)
	multiply(&w.x, &w.sum.X, &inverse2)
	multiply(&inverse2, &inverse2, &inverse)
	multiply(&w.y, &w.sum.Y, &inverse2)
	for i := range equations {
		r, _ := fromBytes(&equations[i].R)
		if w.x.lane(i) == r && w.y.lane(i)[0]&1 == 0 {
			v.Holds |= 1 << i
		}
	}
}

// toField converts a number below p.
func toField(w words) (e fp.Element) {
	var b [fp.Bytes]byte
	for i, word := range w {
		binary.BigEndian.PutUint64(b[24-8*i:], word)
	}
	e.SetBytes(b[:])
	return e
}
