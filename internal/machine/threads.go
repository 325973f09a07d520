package machine

import (
	"os"
	"runtime"
)

// SpareThread lets Go run goroutines on one more thread than there are cores. While all threads have goroutines to run,
// Go looks at the network only every 10 ms. An idle thread waits for the network instead, and the kernel wakes it as
// soon as something arrives. SpareThread changes nothing if GOMAXPROCS is set, or a quota allows fewer threads than
// cores: there the kernel would stop the whole process instead.
func SpareThread() {
	cores := runtime.NumCPU()
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == cores {
		runtime.GOMAXPROCS(cores + 1)
	}
}
