//go:build exhaustive

package main

import (
	"math/bits"
	"testing"
)

// M is MDS: all its C(32,16) − 1 square submatrices are nonsingular. Shifting rows and columns by the same number
// leaves a circulant matrix as it is, so those with row 0 stand for all; every one of them is computed.
//
// A walk over the sets of rows keeps the minors of the current set for all sets of columns, and adds a row by
// Laplace's expansion along it: 2.4·10^9 products.
func TestMatrixIsMDS(t *testing.T) {
	columns := [width + 1][]uint16{} // sets of columns as bits, by their size
	for set := range 1 << width {
		columns[bits.OnesCount(uint(set))] = append(columns[bits.OnesCount(uint(set))], uint16(set))
	}
	minors := [width + 1][]int64{} // by number of rows and set of columns
	for size := range minors {
		minors[size] = make([]int64, 1<<width)
	}
	minors[0][0] = 1
	checked := 0
	var extend func(size, row int)
	extend = func(size, row int) { // adds row to the current set, which then has the given size
		for _, set := range columns[size] {
			sum, sign := int64(0), int64(1) // at most 16·101·p in size
			for rest := set; rest != 0; rest &= rest - 1 {
				column := bits.TrailingZeros16(rest)
				sum += sign * mdsColumn[(row-column+width)%width] * minors[size-1][set&^(1<<column)]
				sign = -sign
			}
			sum %= p
			if sum == 0 {
				t.Fatalf("a minor of %d rows, the last of them %d, with columns %016b is 0", size, row, set)
			}
			minors[size][set] = sum
			checked++
		}
		for next := row + 1; next < width; next++ {
			extend(size+1, next)
		}
	}
	extend(1, 0)
	if want := 300540195; checked != want { // C(31,15) pairs of sets of equal size, the first with row 0
		t.Errorf("%d minors checked, want %d", checked, want)
	}
}
