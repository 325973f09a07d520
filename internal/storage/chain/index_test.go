package chain

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSorted compares with a sort by comparisons: names that are hashes, equal names, and names with a common
// beginning.
func TestSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 127, 128, 1000, 5000} {
		for _, names := range []int{1, 7, 10_000} {
			for _, alike := range []int{0, 1, 8, 31} { // number of equal bytes at the beginning
				list := make([]concern, n)
				for i := range list {
					name := sha256.Sum256(fmt.Append(nil, r.IntN(names)))
					clear(name[:alike])
					list[i] = newConcern(&name, uint32(r.IntN(2*n)))
				}
				want := slices.SortedFunc(slices.Values(list), concern.compare)
				if got := sorted(list); !slices.EqualFunc(got, want, func(a, b concern) bool { return a.compare(b) == 0 }) {
					t.Errorf("%d concerns of %d names with %d bytes alike are not in order", n, names, alike)
				}
			}
		}
	}
}
