package machine

import "testing"

// TestHeapGrowth checks that the growth of the heap stays within its bounds, whatever is in use.
func TestHeapGrowth(t *testing.T) {
	for live := uint64(0); live < 8<<30; live += live/16 + 1<<20 {
		growth := max(live, 4<<20) * uint64(growthPercent(live)) / 100
		switch {
		case growth > max(live, leastGrowth) || growth > mostGrowth:
			t.Errorf("with %d MiB in use: got a growth of %d MiB, want at most what is in use, within the bounds",
				live>>20, growth>>20)
		case growth < min(max(live, leastGrowth), mostGrowth)/2:
			t.Errorf("with %d MiB in use: got a growth of only %d MiB", live>>20, growth>>20)
		}
	}
}
