//go:build !purego

package lanes

import "golang.org/x/sys/cpu"

// element is eight field elements: limb i of that in lane j is element[i][j], of 52 bits; the value is Σ limb·2^(52i).
// Kernels take limbs below 2^52 and give reduced elements: also limb 4 at most 2^48 + 2^12. That is a value just above
// 2^256 at most, not always the least.
type element [5][Count]uint64

// point is eight points in Jacobian coordinates: x = X/Z², y = Y/Z³.
type point struct{ X, Y, Z element }

// row is an affine point as its two coordinates, four words of 64 bits each, the lowest first.
type row [8]uint64

// bucket is a point of one lane: its coordinates' limbs, and a word that is not used.
type bucket [16]uint64

// Available says whether the processor has what Decide and AllHold need, and the operating system saves its registers.
func Available() bool { return cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA }

// multiply sets dst to x·y; they may be the same.
//
//go:noescape
func multiply(dst, x, y *element)

// square sets count elements from dst on to those from x on to the power of 2^times, times > 0 and count > 0; they may
// be the same.
//
//go:noescape
func square(dst, x *element, times, count int)

// double sets p to 2^times·p, times > 0.
//
//go:noescape
func double(p *point, times int)

// add sets dst, in the lanes of active, to p + (x, y), or p − (x, y) in those of negative. In all lanes h gets the
// factor by which Z of the sum is a multiple of Z of p. dst and p may be the same. If p = ±(x, y), Z and h become 0 mod
// p.
//
//go:noescape
func add(dst, p *point, x, y, h *element, negative, active uint64)

// choose sets each lane of x and y to that of entry index (from 1) of the tables; index 0 gives the first.
//
//go:noescape
func choose(x, y *element, xs, ys *[8]element, index *[8]uint64)

// fetch sets lane i of x and y to the point rows[i].
//
//go:noescape
func fetch(x, y *element, rows *[8]*row)

// addPoints sets dst to p + q; dst may be one of them. Where p = ±q, or the Z of one of them is 0, Z becomes 0 mod p.
//
//go:noescape
func addPoints(dst, p, q *point)

// spread sets every lane of x and y to the numbers with the given limbs.
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
