//go:build !purego

package field

import "golang.org/x/sys/cpu"

// vector reports whether the kernels may run.
var vector = cpu.X86.HasAVX512F

// combineLanes is [Combine] on blocks·lanes rows. columns points to the first of count slices, weights to the first of
// 6·count words.
//
//go:noescape
func combineLanes(dst *Planar, columns *Vector, weights *uint64, count, blocks uintptr)

// innerProductLanes sets sums to the sums of the products of column with each coordinate of weights, over blocks·lanes
// rows.
//
//go:noescape
func innerProductLanes(sums *[2 * Degree][lanes / 2]uint64, column *Element, weights *Planar, blocks uintptr)

// addScalarLanes is [AddScalar] on blocks·lanes rows.
//
//go:noescape
func addScalarLanes(dst, a *Element, x uint32, blocks uintptr)
