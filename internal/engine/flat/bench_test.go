package flat

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

// accountKey is the key of an account; the other parts of the key do not matter.
func accountKey(i int) []byte {
	return binary.LittleEndian.AppendUint64(make([]byte, 25, 33), uint64(i))
}

// BenchmarkGet reads at random in tables of a million keys and of 8.4 million, in processor time.
func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1_000_000, 8_400_000} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		table := newTable(b)
		writes := make([]types.Access, 4096)
		for first := 0; first < n; first += len(writes) {
			for i := range writes {
				writes[i] = types.Access{Key: accountKey(first + i), New: make([]byte, 16)}
			}
			table.Apply(writes)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		keys := make([][]byte, 1<<16)
		for _, first := range []int{0, 1 << 40} {
			r := rand.New(rand.NewPCG(1, 2))
			for i := range keys {
				keys[i] = accountKey(first + r.IntN(n))
			}
			b.Run(fmt.Sprintf("keys=%d/present=%t", n, first == 0), func(b *testing.B) {
				m := cputime.Start(b)
				for i := range b.N {
					if value, known := table.Get(keys[i%len(keys)]); !known || (value != nil) != (first == 0) {
						b.Fatal("it is not as it was written")
					}
				}
				m.Report(b.N, 1, "cpu-ns/op")
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(table.Len()), "B/key")
			})
		}
		b.Run(fmt.Sprintf("keys=%d/writes=10000", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			m := cputime.Start(b)
			for range b.N {
				m.Pause()
				writes := make([]types.Access, 10_000)
				for i, k := range r.Perm(n)[:len(writes)] {
					writes[i] = types.Access{Key: accountKey(k), New: make([]byte, 16)}
				}
				m.Resume()
				table.Apply(writes)
			}
			m.Report(b.N*10_000, 1, "cpu-ns/write")
		})
	}
}
