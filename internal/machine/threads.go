package machine

import (
	"os"
	"runtime"
)

// Cores returns the number of cores that the process may use. Splitting work into more parts makes it no faster.
func Cores() int { return min(runtime.NumCPU(), runtime.GOMAXPROCS(0)) }

// SpareThreads lets Go run goroutines on two more threads than there are cores. While all threads have goroutines to
// run, Go looks at the network only every 10 ms. An idle thread waits for the network instead, and the kernel wakes it
// as soon as something arrives. The second one is for the collector, which marks on a thread for 10 ms at a time, and on
// all of them in turns if there are only three. SpareThreads changes nothing if GOMAXPROCS is set, or a quota allows
// fewer threads than cores: there the kernel would stop the whole process instead.
func SpareThreads() {
	cores := runtime.NumCPU()
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == cores {
		runtime.GOMAXPROCS(cores + 2)
	}
}
