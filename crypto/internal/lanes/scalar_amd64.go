//go:build !purego

package lanes

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
)

// The endomorphism of the curve is λ·(x, y) = (β·x, y). The lattice, and the division by precomputed multiples, are
// from libsecp256k1 (scalar_impl.h, secp256k1_scalar_split_lambda, which proves that the halves stay below 2^128).
var (
	beta   = words{0xc1396c28719501ee, 0x9cf0497512f58995, 0x6e64479eac3434e9, 0x7ae96a2b657c0710}
	lambda = scalar(words{0xdf02967c1b23bd72, 0x122e22ea20816678, 0xa5261c028812645a, 0x5363ad4cc05c30e0})

	// minusB1 and minusB2 are −b1 and −b2 of the lattice's short vectors (a1, b1), (a2, b2); g1 and g2 are
	// round(2^384·b2/n) and round(−2^384·b1/n).
	minusB1 = scalar(words{0x6f547fa90abfe4c3, 0xe4437ed6010e8828, 0, 0})
	minusB2 = scalar(words{0xd765cda83db1562c, 0x8a280ac50774346d, 0xfffffffffffffffe, 0xffffffffffffffff})
	g1      = words{0xe893209a45dbb031, 0x3daa8a1471e8ca7f, 0xe86c90e49284eb15, 0x3086d221a7d46bcd}
	g2      = words{0x1571b4ae8ac47f71, 0x221208ac9df506c6, 0x6f547fa90abfe4c4, 0xe4437ed6010e8828}
)

// montgomery is 2^256 mod n, the order of the group.
var montgomery = func() (r fr.Element) {
	r.SetUint64(1 << 32)
	for range 3 {
		r.Square(&r)
	}
	return r
}()

// scalar returns the number w, which must be below n. A product in fr.Element is the product of the words over 2^256,
// and the words of montgomery are 2^512 mod n.
func scalar(w words) fr.Element {
	s := fr.Element(w)
	return *s.Mul(&s, &montgomery)
}

// split returns k1 and k2, of absolute values below 2^128, with k = k1 + k2·λ mod n.
func split(k *fr.Element) (k1, k2 fr.Element) {
	w := words(k.Bits())
	c1, c2 := roundedHigh(w, g1), roundedHigh(w, g2)
	c1.Mul(&c1, &minusB1)
	c2.Mul(&c2, &minusB2)
	k2.Add(&c1, &c2)
	k1.Mul(&k2, &lambda)
	k1.Sub(k, &k1)
	return k1, k2
}

// roundedHigh returns round(x·y / 2^384).
func roundedHigh(x, y words) (r fr.Element) {
	var product [8]uint64
	for i := range x {
		var carry uint64
		for j := range y {
			high, low := bits.Mul64(x[i], y[j])
			var c uint64
			low, c = bits.Add64(low, product[i+j], 0)
			high += c
			product[i+j], c = bits.Add64(low, carry, 0)
			carry = high + c
		}
		product[i+4] = carry
	}
	low, c := bits.Add64(product[6], product[5]>>63, 0)
	return scalar(words{low, product[7] + c})
}

// magnitude returns k or −k, whichever is the smaller number, and whether it is −k.
func magnitude(k *fr.Element) (w words, negative bool) {
	w = words(k.Bits())
	var minus fr.Element
	m := words(minus.Neg(k).Bits())
	for i := 3; i >= 0; i-- {
		if w[i] != m[i] {
			if m[i] < w[i] {
				return m, true
			}
			break
		}
	}
	return w, false
}

// digits holds one digit for each lane, as absolute value and sign.
type digits struct {
	index    [Count]uint64
	negative uint8
}

// active returns the lanes with a nonzero digit.
func (d *digits) active() (mask uint8) {
	for lane, v := range d.index {
		if v != 0 {
			mask |= 1 << lane
		}
	}
	return mask
}

// set sets the digit of a lane.
func (d *digits) set(lane int, digit int64, negative bool) {
	if digit < 0 {
		digit, negative = -digit, !negative
	}
	d.index[lane] = uint64(digit)
	if negative {
		d.negative |= 1 << lane
	}
}

// recode writes k, below 2^255 in absolute value, to a lane as Σ digit_i·2^(width·i) with digits from −2^(width−1) to
// 2^(width−1). It adds 2^(width−1) at all places except the last, so that the bits of a place are its digit plus
// 2^(width−1).
func recode(to []digits, lane int, k *fr.Element, width int) {
	w, negative := magnitude(k)
	half := uint64(1) << (width - 1)
	var bias uint64
	for i := 0; i < 64; i += width {
		bias |= half << i
	}
	var carry uint64
	last := len(to) - 1
	for i := range w {
		add := bias
		if first, end := last*width, 64*(i+1); first < end { // only the places below the last
			add &= 1<<max(first-64*i, 0) - 1
		}
		w[i], carry = bits.Add64(w[i], add, carry)
	}
	for i := range to {
		at := i * width
		place := int64(w[at/64] >> (at % 64) & (1<<width - 1))
		if i < last {
			place -= int64(half)
		}
		to[i].set(lane, place, negative)
	}
}
