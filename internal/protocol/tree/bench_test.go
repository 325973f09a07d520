package tree

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// accounts are the leaves of accounts 0 to n−1, ascending by path.
func accounts(n int) []Leaf {
	leaves := make([]Leaf, n)
	inPieces(n, 1024, workers, func(low, high int) {
		keys := make([][]byte, high-low)
		for i := range keys {
			keys[i] = accountKey(low + i)
		}
		for i, p := range Paths(keys) {
			leaves[low+i] = Leaf{Path: p, Digest: poseidon.Digest{uint32(low + i)}}
		}
	})
	slices.SortFunc(leaves, func(a, b Leaf) int { return comparePaths(&a.Path, &b.Path) })
	return leaves
}

const million = 1_000_000

// benchmarkSizes runs f with trees of a million leaves and of 8.4 million, each as its own benchmark.
func benchmarkSizes(b *testing.B, f func(b *testing.B, leaves []Leaf)) {
	for _, n := range []int{million, 84 * million / 10} {
		b.Run(fmt.Sprintf("leaves=%d", n), func(b *testing.B) { f(b, accounts(n)) })
	}
}

func BenchmarkLoad(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, leaves []Leaf) {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var tr *Tree
		for b.Loop() {
			tr = nil
			tr = mustLoad(b, leaves, workers)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(leaves)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(tr.Len()), "B/leaf")
	})
}

func BenchmarkBlock(b *testing.B) {
	benchmarkSizes(b, func(b *testing.B, leaves []Leaf) {
		tr := mustLoad(b, leaves, workers)
		n := len(leaves)
		leaves = nil
		for _, size := range []int{100, 1000, 10_000} {
			b.Run(fmt.Sprintf("updates=%d", size), func(b *testing.B) {
				r := newRand(1)
				for b.Loop() {
					b.StopTimer()
					accesses := make([]types.Access, size)
					drawn := map[int]bool{}
					for i := range accesses {
						k := r.IntN(n)
						for drawn[k] {
							k = r.IntN(n)
						}
						drawn[k] = true
						accesses[i] = types.Access{Key: accountKey(k), Old: make([]byte, 16), New: make([]byte, 16)}
						binary.LittleEndian.PutUint64(accesses[i].New, 1+r.Uint64N(1<<40))
					}
					b.StartTimer()
					c, err := tr.Prepare(accesses, workers)
					if err != nil {
						b.Fatal(err)
					}
					tr.Commit(c, workers)
				}
			})
		}
	})
}
