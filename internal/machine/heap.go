package machine

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Between two collections the heap grows by as much as is in use, as Go does by default, but within these bounds, in
// bytes. With less, a node under load that uses 10 MiB would collect 20 times a second; with more, a short peak of
// memory use would double the heap.
const (
	leastGrowth = 64 << 20
	mostGrowth  = 256 << 20
)

// BoundHeapGrowth keeps the growth of the heap between two collections within bounds. It changes nothing if GOGC is set.
func BoundHeapGrowth() {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	percent := 100
	type sentinel [64]byte // larger than the tiny objects that Go allocates in groups and frees late
	var adapt func(*sentinel)
	adapt = func(*sentinel) {
		metrics.Read(live)
		if wanted := growthPercent(live[0].Value.Uint64()); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
		runtime.SetFinalizer(new(sentinel), adapt) // runs after the next collection
	}
	adapt(nil)
}

// growthPercent returns the growth after which to collect, in percent of the live bytes. It is rounded down to two
// significant bits, because each change of it stops the program for a moment.
func growthPercent(live uint64) int {
	live = max(live, 4<<20) // Go's own minimum
	percent := min(max(live, leastGrowth), mostGrowth) * 100 / live
	step := uint64(1)
	for percent/step >= 4 {
		step *= 2
	}
	if percent == 100 {
		return 100
	}
	return int(percent / step * step)
}
