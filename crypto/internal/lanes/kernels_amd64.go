//go:build !purego

package lanes

import "golang.org/x/sys/cpu"

// element is eight field elements: element[i][j] is limb i, of 52 bits, in lane j; the value is Σ limb·2^(52i). Kernels
// take limbs below 2^52 and return reduced elements, in which limb 4 is also at most 2^48 + 2^12. Such a value is at
// most slightly above 2^256, and not always the least representative.
type element [5][Count]uint64

// point is eight points in Jacobian coordinates: x = X/Z², y = Y/Z³.
type point struct{ X, Y, Z element }

// row is an affine point: two coordinates of four 64-bit words each, the lowest first.
type row [8]uint64

// bucket is a point of one lane: the limbs of its coordinates, and an unused word.
type bucket [16]uint64

// Available reports whether the processor has the instructions for Decide and AllHold, and the operating system saves
// the registers.
func Available() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA }

// multiply sets dst to x·y. They may be the same.
//
//go:noescape
func multiply(dst, x, y *element)

// square sets count elements from dst on to the elements from x on, each raised to the power 2^times. times and count
// must be above 0; dst and x may be the same.
//
//go:noescape
func square(dst, x *element, times, count int)

// double sets p to 2^times·p, times > 0.
//
//go:noescape
func double(p *point, times int)

// add sets the lanes of dst in active to p + (x, y), or to p − (x, y) if they are in negative. In all lanes it sets h
// to the quotient of the Z of the sum and the Z of p. dst and p may be the same. If p = ±(x, y), Z and h become 0 mod
// p.
//
//go:noescape
func add(dst, p *point, x, y, h *element, negative, active uint64)

// choose sets each lane of x and y to the same lane of table entry index, counted from 1. Index 0 selects the first.
//
//go:noescape
func choose(x, y *element, xs, ys *[8]element, index *[8]uint64)

// fetch sets lane i of x and y to the point rows[i].
//
//go:noescape
func fetch(x, y *element, rows *[8]*row)

// addPoints sets dst to p + q; dst may be p or q. If p = ±q, or if the Z of p or q is 0, Z becomes 0 mod p.
//
//go:noescape
func addPoints(dst, p, q *point)

// spread sets every lane of x and of y to the number with the limbs xs and ys.
//
//go:noescape
func spread(x, y *element, xs, ys *[5]uint64)

// take sets lane i of p to the point from[i].
//
//go:noescape
func take(p *point, from *[8]*bucket)

// put sets the point to[i] to lane i of p.
//
//go:noescape
func put(to *[8]*bucket, p *point)
