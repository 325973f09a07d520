package clustersim

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed to run")
	seeds     = flag.Int("seeds", 2, "how many seeds to run; with one, its log is shown")
	seconds   = flag.Int("seconds", 15, "for how many seconds of a run there are faults")
	bug       = flag.String("bug", "", "planted into the simulation")
	untilOne  = flag.Bool("until-one", false, "end at the first seed that breaks something")
	replays   = flag.Int("replays", 1, "how many seeds to run twice")
)

// run makes one run in its own bubble.
func run(t *testing.T, seed uint64) (report *Report) {
	synctest.Test(t, func(t *testing.T) {
		members := 3
		if seed%4 == 0 {
			members = 5
		}
		var err error
		report, err = Run(Setup{Seed: seed, Members: members, Faults: time.Duration(*seconds) * time.Second, Bug: *bug})
		if err != nil {
			t.Fatalf("seed %d: error %v", seed, err)
		}
	})
	return report
}

// TestSeeds runs seeds, none of which may break anything.
func TestSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	var sum Report
	for i := range *seeds {
		if *untilOne && t.Failed() {
			return
		}
		seed := *firstSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := run(t, seed)
			if *seeds == 1 {
				t.Logf("%s\ndigest %x", strings.Join(r.Log, "\n"), r.Digest)
			}
			for _, v := range r.Violations {
				t.Errorf("seed %d: %s: %s", seed, v.Invariant, v.Text)
			}
			if r.Heights < 20 || r.Acknowledged < 20 {
				t.Errorf("seed %d: only %d blocks and %d transactions", seed, r.Heights, r.Acknowledged)
			}
			sum.Heights += r.Heights
			sum.Acknowledged += r.Acknowledged
			sum.Elections += r.Elections
			sum.Crashes += r.Crashes
			sum.Cuts += r.Cuts
			sum.Lost += r.Lost
			sum.Caught += r.Caught
			sum.LogCuts += r.LogCuts
			sum.Changes += r.Changes
		})
	}
	t.Logf("%d seeds: %d blocks, %d acknowledged, %d elections, %d crashes, %d cuts, %d messages lost, %d snapshots, "+
		"%d logs cut, %d changes of members", *seeds, sum.Heights, sum.Acknowledged, sum.Elections, sum.Crashes, sum.Cuts,
		sum.Lost, sum.Caught, sum.LogCuts, sum.Changes)
}

// TestReplay runs seeds twice: both runs must be the same in every event.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for i := range *replays {
		seed := *firstSeed + uint64(i)
		first, again := run(t, seed), run(t, seed)
		if first.Digest == again.Digest {
			continue
		}
		for i := range min(len(first.Log), len(again.Log)) {
			if a, b := first.Log[i], again.Log[i]; a != b {
				t.Fatalf("seed %d: after %d events\n%s\nand again\n%s", seed, i, a, b)
			}
		}
		t.Errorf("seed %d: %d events, and again %d", seed, len(first.Log), len(again.Log))
	}
}
