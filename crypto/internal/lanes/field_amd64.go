//go:build !purego

package lanes

import (
	"encoding/binary"
	"math/bits"
)

// words is a 256-bit number, the lowest 64 bits first.
type words [4]uint64

// fold is 2^256 mod p, p = 2^256 − 2^32 − 977.
const fold = 1<<32 + 977

const mask52 = 1<<52 - 1

// fromBytes reads a big-endian number and reports whether it is below p.
func fromBytes(b *[32]byte) (w words, ok bool) {
	for i := range w {
		w[i] = binary.BigEndian.Uint64(b[24-8*i:])
	}
	_, carry := w.plusFold()
	return w, carry == 0
}

// plusFold returns w + 2^256 − p mod 2^256 and the carry, which is 1 if and only if w ≥ p.
func (w words) plusFold() (sum words, carry uint64) {
	sum[0], carry = bits.Add64(w[0], fold, 0)
	for i := 1; i < 4; i++ {
		sum[i], carry = bits.Add64(w[i], 0, carry)
	}
	return sum, carry
}

// negated returns p − w, for 0 < w < p.
func (w words) negated() (n words) {
	p := words{-fold & (1<<64 - 1), 1<<64 - 1, 1<<64 - 1, 1<<64 - 1}
	var borrow uint64
	for i := range n {
		n[i], borrow = bits.Sub64(p[i], w[i], borrow)
	}
	return n
}

// lane returns the least value of the element in lane i. The element must be reduced.
func (e *element) lane(i int) words {
	l := [5]uint64{e[0][i], e[1][i], e[2][i], e[3][i], e[4][i]}
	w := words{l[0] | l[1]<<52, l[1]>>12 | l[2]<<40, l[2]>>24 | l[3]<<28, l[3]>>36 | l[4]<<16}
	var carry uint64
	w[0], carry = bits.Add64(w[0], l[4]>>48*fold, 0)
	for i := 1; i < 4; i++ {
		w[i], carry = bits.Add64(w[i], 0, carry)
	}
	if carry == 1 {
		w, _ = w.plusFold() // w is small now: no carry
	}
	if least, carry := w.plusFold(); carry == 1 {
		return least
	}
	return w
}

// setLane sets lane i.
func (e *element) setLane(i int, w words) {
	e[0][i] = w[0] & mask52
	e[1][i] = (w[0]>>52 | w[1]<<12) & mask52
	e[2][i] = (w[1]>>40 | w[2]<<24) & mask52
	e[3][i] = (w[2]>>28 | w[3]<<36) & mask52
	e[4][i] = w[3] >> 16
}

// setAll sets every lane.
func (e *element) setAll(w words) {
	for i := range Count {
		e.setLane(i, w)
	}
}

// addSmall adds a small number to every lane of a reduced element.
func (e *element) addSmall(n uint64) {
	for i := range Count {
		carry := n
		for j := range e {
			sum := e[j][i] + carry
			e[j][i], carry = sum&mask52, sum>>52
		}
	}
}

// pair is two elements whose square roots are computed at once: a single one leaves the processor half idle, because
// each squaring depends on the previous one.
type pair [2]element

// squareRoots sets the first count elements of dst to x^((p+1)/4), which is a square root of x if there is one.
func squareRoots(dst, x *pair, count int) {
	// (p+1)/4 in binary is 223 ones, a zero, 22 ones, 4 zeros, 2 ones, 2 zeros. xn is x^(2^n − 1).
	var x2, x3, x6, x9, x11, x22, x44, x88, x176, x220, x223, t pair
	chain := func(dst, high, low *pair, n int) { // append low's n ones to high
		square(&t[0], &high[0], n, count)
		for i := range count {
			multiply(&dst[i], &t[i], &low[i])
		}
	}
	chain(&x2, x, x, 1)
	chain(&x3, &x2, x, 1)
	chain(&x6, &x3, &x3, 3)
	chain(&x9, &x6, &x3, 3)
	chain(&x11, &x9, &x2, 2)
	chain(&x22, &x11, &x11, 11)
	chain(&x44, &x22, &x22, 22)
	chain(&x88, &x44, &x44, 44)
	chain(&x176, &x88, &x88, 88)
	chain(&x220, &x176, &x44, 44)
	chain(&x223, &x220, &x3, 3)
	chain(dst, &x223, &x22, 23)
	chain(dst, dst, &x2, 6)
	square(&dst[0], &dst[0], 2, count)
}
