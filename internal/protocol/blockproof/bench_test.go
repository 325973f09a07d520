package blockproof

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
)

// large is a state of n accounts.
func large(tb testing.TB, n int) *state {
	tb.Helper()
	s := newState()
	b := newBatch(model{})
	for i := range n {
		value := []byte(key(i))
		s.values[key(i)] = value
		path := tree.Path([]byte(key(i)))
		s.hashes[path] = poseidon.Hash(poseidon.TagValue, value)
		b.before[path] = leafOf(path, s.hashes[path])
	}
	loaded, err := tree.Load(0, func(_ int, leaves []tree.Leaf) ([]tree.Leaf, error) {
		for _, path := range sortedPaths(b.before) {
			leaves = append(leaves, tree.Leaf{Path: path, Digest: b.before[path]})
		}
		return leaves, nil
	}, goroutines)
	if err != nil {
		tb.Fatal(err)
	}
	s.tree = loaded
	return s
}

// cores runs calls on all cores, as provers do.
func cores(n int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

// levelFor is the level of 128 bits that nodes choose for a segment.
func levelFor(s *Segment) int { return stark.LevelOf(stark.MaxBits, bits.Len(uint(s.Rows()-1))) }

// BenchmarkBlock proves and verifies blocks that write K of a million accounts, at 128 bits.
func BenchmarkBlock(b *testing.B) {
	s := large(b, 1_000_000)
	testProver().Reserve(stark.MaxLogRows, 1)
	var scratch Scratch
	for _, k := range []int{100, 1000, 10000} {
		changes := map[string][]byte{}
		for i := range k {
			changes[key(i*97)] = []byte(fmt.Sprint("written by block of ", k, i))
		}
		statement, accesses, w := s.apply(b, changes)
		segments, err := collect(Trace(statement, accesses, w, goroutines))
		if err != nil {
			b.Fatal(err)
		}
		rows := 0
		for i := range segments {
			rows += segments[i].Rows()
		}
		b.Run(fmt.Sprintf("trace/%d", k), func(b *testing.B) {
			for b.Loop() {
				segments, err := collect(Trace(statement, accesses, w, cores))
				if err != nil {
					b.Fatal(err)
				}
				for i := range segments {
					segments[i].Columns(&scratch, cores)
				}
			}
			b.ReportMetric(float64(rows), "rows")
		})
		b.Run(fmt.Sprintf("prove/%d", k), func(b *testing.B) {
			size := 0
			for b.Loop() {
				size = 0
				for i := range segments {
					s := &segments[i]
					argument, err := testProver().Prove(&s.Instance, levelFor(s), s.Columns(&scratch, cores), cores)
					if err != nil {
						b.Fatal(err)
					}
					size += len(argument)
				}
			}
			b.ReportMetric(float64(size), "bytes")
		})
		var proven []Proven
		for i := range segments {
			proven = append(proven, proveSegment(b, &segments[i], levelFor(&segments[i])))
		}
		proof := EncodeProof(proven)
		b.Run(fmt.Sprintf("verify/%d", k), func(b *testing.B) {
			for b.Loop() {
				if _, err := VerifyProof(statement, accesses, proof, 128, InOrder); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("list/%d", k), func(b *testing.B) {
			for b.Loop() {
				if _, err := newEntries(accesses, true, InOrder); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
