// Package parallel shares work out over the cores.
package parallel

import (
	"sync"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/machine"
)

// Run calls f(0) … f(n − 1) on all cores and returns when all have returned; the deterministic core takes it and starts
// no goroutine of its own.
func Run(n int, f func(i int)) {
	workers := min(n, machine.Cores())
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	done.Wait()
}
