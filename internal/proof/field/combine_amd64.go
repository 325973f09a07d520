//go:build !purego

package field

import "golang.org/x/sys/cpu"

// vector says whether the kernels may run.
var vector = cpu.X86.HasAVX512F

// combineLanes does for so many blocks of lanes rows what Combine does. columns is the first of count slices, weights
// the first of 6·count words.
//
//go:noescape
func combineLanes(dst *Planar, columns *Vector, weights *uint64, count, blocks uintptr)

// innerProductLanes sets sums to those of the products of column with each coordinate of weights, for so many blocks of
// lanes rows.
//
//go:noescape
func innerProductLanes(sums *[2 * Degree][lanes / 2]uint64, column *Element, weights *Planar, blocks uintptr)

// addScalarLanes does for so many blocks of lanes rows what AddScalar does.
//
//go:noescape
func addScalarLanes(dst, a *Element, x uint32, blocks uintptr)
