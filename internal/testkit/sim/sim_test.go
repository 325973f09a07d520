package sim

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed to run")
	seeds     = flag.Int("seeds", 8, "how many seeds to run; with one, its log is shown")
)

// run makes one run in a bubble of its own.
func run(t *testing.T, seed uint64, bug Bug) (report *Report) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		if report, err = Run(seed, bug); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	})
	return report
}

// TestSeeds runs seeds without a bug, none of which may break anything: `make sim` runs many, and one again.
func TestSeeds(t *testing.T) {
	var blocks, included, crashes, corrupted, lost, lies atomic.Int64
	t.Run("group", func(t *testing.T) {
		for i := range *seeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				r := run(t, seed, "")
				if *seeds == 1 {
					t.Logf("%s\ndigest %x", strings.Join(r.Log, "\n"), r.Digest)
				}
				for _, v := range r.Violations {
					t.Errorf("seed %d: %s: %s", seed, v.Invariant, v.Text)
				}
				if r.Heights < 20 || r.Included < 20 {
					t.Errorf("seed %d: only %d blocks and %d transactions", seed, r.Heights, r.Included)
				}
				blocks.Add(int64(r.Heights))
				included.Add(int64(r.Included))
				crashes.Add(int64(r.Crashes))
				corrupted.Add(int64(r.Corrupted))
				lost.Add(int64(r.Lost))
				if r.Lied {
					lies.Add(1)
				}
			})
		}
	})
	t.Logf("%d seeds: %d blocks, %d transactions, %d crashes, %d answers changed and %d messages lost, %d lying producers",
		*seeds, blocks.Load(), included.Load(), crashes.Load(), corrupted.Load(), lost.Load(), lies.Load())
	if crashes.Load() == 0 || corrupted.Load() == 0 || lost.Load() == 0 {
		t.Error("nothing went wrong in any run")
	}
}

// TestPlantedBugsAreFound has each bug break its invariant within a few seeds.
func TestPlantedBugsAreFound(t *testing.T) {
	const within = 6
	broken := make(map[Invariant]bool)
	for _, c := range []struct {
		bug    Bug
		breaks []Invariant
	}{
		{ForgetsSyncs, []Invariant{Durable, Acknowledged}},
		{SignsTwice, []Invariant{OneSignature}},
		{SkipsRootCheck, []Invariant{Verified}},
		{ServesUnverified, []Invariant{Verified}},
		{MisreadsReceipts, []Invariant{Agreement}},
		{Mints, []Invariant{Supply, HaltsOnlyOnLies}},
		{GivesUp, []Invariant{Convergence}},
		{LosesRow, []Invariant{Sound}},
		{Stumbles, []Invariant{Running}},
	} {
		t.Run(string(c.bug), func(t *testing.T) {
			missing := make(map[Invariant]bool)
			for _, i := range c.breaks {
				missing[i], broken[i] = true, true
			}
			for seed := uint64(1); seed <= within && len(missing) > 0; seed++ {
				r := run(t, seed, c.bug)
				for _, i := range c.breaks {
					if r.Broke(i) && missing[i] {
						delete(missing, i)
						t.Logf("seed %d: %s", seed, i)
					}
				}
			}
			for i := range missing {
				t.Errorf("not found within %d seeds: %s", within, i)
			}
		})
	}
	for _, i := range Invariants {
		if !broken[i] {
			t.Errorf("no bug breaks %q", i)
		}
	}
}
