package field

import "slices"

// pair is a vector over F_p² = F_p[u]/(u² − 3), represented by the coordinates to 1 and u. E is F_p²[v]/(v³ − ξ) with ξ
// = u + 1, and a Planar is three pairs, to 1, v and v².
type pair [2]Vector

// pairs returns k pairs of n elements.
func pairs(k, n int) []pair {
	room, all := make(Vector, 2*k*n), make([]pair, k)
	for i := range all {
		all[i] = pair{room[2*i*n : (2*i+1)*n], room[(2*i+1)*n : (2*i+2)*n]}
	}
	return all
}

func (p *Planar) pairs() (a, b, c pair) {
	return pair{p[0], p[1]}, pair{p[2], p[3]}, pair{p[4], p[5]}
}

func (x pair) add(y, z pair) {
	x[0].Add(y[0], z[0])
	x[1].Add(y[1], z[1])
}

func (x pair) sub(y, z pair) {
	x[0].Sub(y[0], z[0])
	x[1].Sub(y[1], z[1])
}

// mul sets x to y·z. x must be neither y nor z; room is scratch for one vector.
func (x pair) mul(y, z pair, room Vector) {
	x[0].Mul(y[0], z[0])
	room.Mul(y[1], z[1])
	x[0].Add(x[0], room)
	x[0].Add(x[0], room)
	x[0].Add(x[0], room)
	x[1].Mul(y[0], z[1])
	room.Mul(y[1], z[0])
	x[1].Add(x[1], room)
}

// mulXi multiplies x by ξ: (a + b·u)·(1 + u) = (a + 3b) + (a + b)·u.
func (x pair) mulXi(room Vector) {
	room.Add(x[0], x[1])
	x[0].Add(room, x[1])
	x[0].Add(x[0], x[1])
	copy(x[1], room)
}

// MulPlanar sets dst to x·y, element by element. All must have the same length and may be the same. It saves three of
// the nine products of pairs (Karatsuba).
func MulPlanar(dst, x, y *Planar) {
	n := len(dst[0])
	t := pairs(9, n)
	v0, v1, v2, v01, v02, v12, s, r := t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7]
	room := t[8][0]
	x0, x1, x2 := x.pairs()
	y0, y1, y2 := y.pairs()
	v0.mul(x0, y0, room)
	v1.mul(x1, y1, room)
	v2.mul(x2, y2, room)
	cross := func(dst, a, b, c, d, ac, bd pair) { // a·d + b·c from (a + b)·(c + d)
		s.add(a, b)
		r.add(c, d)
		dst.mul(s, r, room)
		dst.sub(dst, ac)
		dst.sub(dst, bd)
	}
	cross(v01, x0, x1, y0, y1, v0, v1)
	cross(v02, x0, x2, y0, y2, v0, v2)
	cross(v12, x1, x2, y1, y2, v1, v2)
	c0, c1, c2 := dst.pairs()
	c2.add(v02, v1)
	v12.mulXi(room)
	c0.add(v0, v12)
	v2.mulXi(room)
	c1.add(v01, v2)
}

// InvertPlanar sets dst to the inverses of x, element by element, and to zero for zeros of x. dst and x must have the
// same length and may be the same.
func InvertPlanar(dst, x *Planar) {
	n := len(dst[0])
	t := pairs(6, n)
	s0, s1, s2, f, p, r := t[0], t[1], t[2], t[3], t[4], t[5]
	room := r[0]
	a, b, c := x.pairs()
	// For x = a + b·v + c·v², s0 + s1·v + s2·v² is the product of its conjugates over F_p². Multiplied by x it gives f.
	s0.mul(b, c, room)
	s0.mulXi(room)
	p.mul(a, a, room)
	s0.sub(p, s0)
	s1.mul(c, c, room)
	s1.mulXi(room)
	p.mul(a, b, room)
	s1.sub(s1, p)
	s2.mul(b, b, room)
	p.mul(a, c, room)
	s2.sub(s2, p)
	f.mul(c, s1, room)
	p.mul(b, s2, room)
	f.add(f, p)
	f.mulXi(room)
	p.mul(a, s0, room)
	f.add(f, p)
	// The inverse of f = f0 + f1·u is (f0 − f1·u)/(f0² − 3·f1²).
	norm := r[1]
	norm.Mul(f[0], f[0])
	room.Mul(f[1], f[1])
	for range 3 {
		norm.Sub(norm, room)
	}
	Invert(norm)
	f[0].Mul(f[0], norm)
	f[1].Mul(f[1], norm)
	clear(room)
	f[1].Sub(room, f[1])
	c0, c1, c2 := dst.pairs()
	for i, to := range []pair{c0, c1, c2} {
		p.mul(t[i], f, room)
		copy(to[0], p[0])
		copy(to[1], p[1])
	}
}

// minHalves is the number of elements from which Invert works on vectors.
const minHalves = 4 * lanes

// Invert replaces every element of v by its inverse, and zero by zero, with one inversion in total. It inverts the
// products of the elements of the two halves, from which the inverses of both halves follow.
func Invert(v Vector) {
	half := len(v) / 2
	if len(v) < minHalves || len(v) != 2*half || slices.Contains(v, Element{}) {
		invertOneByOne(v)
		return
	}
	low, high, inverse := v[:half], v[half:], make(Vector, half)
	inverse.Mul(low, high)
	Invert(inverse)
	low.Mul(low, inverse)
	inverse.Mul(high, inverse)
	copy(high, low)
	copy(low, inverse)
}
