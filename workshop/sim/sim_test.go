package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
)

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed to run")
	replays   = flag.Int("replays", 4, "how many seeds to run twice")
	seeds     = flag.Int("seeds", 8, "how many seeds to run; with one, its log is shown")
)

// lanes may be switched off to repeat a seed as on a machine without lanes, where pools do not wait for more
// signatures.
var lanes = flag.Bool("lanes", true, "whether signatures are verified in lanes where the processor has them")

func TestMain(m *testing.M) {
	flag.Parse()
	if !*lanes {
		if err := bip340.UseLanes(false); err != nil {
			panic(err) // it is never refused
		}
	}
	os.Exit(m.Run())
}

// newEngine makes the engine for the contracts of a test's runs. It does not belong to a bubble.
func newEngine(t *testing.T) *wasm.Engine {
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// run makes one run in its own bubble.
func run(t *testing.T, engine *wasm.Engine, seed uint64, bug Bug) (report *Report) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if report, err = Run(Setup{Seed: seed, Bug: bug, Engine: engine, Dir: dir}); err != nil {
			t.Fatalf("seed %d: error %v", seed, err)
		}
	})
	return report
}

// TestSeeds runs seeds without a bug, none of which may break anything. `make sim` runs many, and repeats one.
func TestSeeds(t *testing.T) {
	var blocks, included, calls, forwarded, crashes, corrupted, lost, liars, halted atomic.Int64
	engine := newEngine(t)
	t.Run("group", func(t *testing.T) {
		for i := range *seeds {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				r := run(t, engine, seed, "")
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
				calls.Add(int64(r.Calls))
				forwarded.Add(int64(r.Forwarded))
				crashes.Add(int64(r.Crashes))
				corrupted.Add(int64(r.Corrupted))
				lost.Add(int64(r.Lost))
				if r.Lied {
					liars.Add(1)
				}
				halted.Add(int64(r.Halted))
			})
		}
	})
	t.Logf("%d seeds: %d blocks, %d transactions, %d calls, %d handed on by replicas, %d crashes, %d answers changed "+
		"and %d messages lost, %d lying producers, %d halts",
		*seeds, blocks.Load(), included.Load(), calls.Load(), forwarded.Load(), crashes.Load(), corrupted.Load(), lost.Load(),
		liars.Load(), halted.Load())
	if calls.Load() == 0 || forwarded.Load() == 0 {
		t.Error("no call succeeded in any run, or no replica handed a transaction on")
	}
	if crashes.Load() == 0 || corrupted.Load() == 0 || lost.Load() == 0 {
		t.Error("nothing went wrong in any run")
	}
}

// TestPlantedBugsAreFound has each bug break its invariant within a few seeds.
func TestPlantedBugsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	const within = 6
	engine := newEngine(t)
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
		{IgnoresForks, []Invariant{Evidence}},
	} {
		t.Run(string(c.bug), func(t *testing.T) {
			missing := make(map[Invariant]bool)
			for _, i := range c.breaks {
				missing[i], broken[i] = true, true
			}
			for seed := uint64(1); seed <= within && len(missing) > 0; seed++ {
				r := run(t, engine, seed, c.bug)
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

// TestReplay runs seeds twice: both runs must be the same in every event.
func TestReplay(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	engine := newEngine(t)
	t.Run("group", func(t *testing.T) {
		for i := range *replays {
			seed := *firstSeed + uint64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				first, again := run(t, engine, seed, ""), run(t, engine, seed, "")
				if first.Digest == again.Digest {
					return
				}
				for i := range min(len(first.Log), len(again.Log)) {
					if a, b := first.Log[i], again.Log[i]; a != b {
						t.Fatalf("seed %d: after %d events\n%s\nand again\n%s", seed, i, a, b)
					}
				}
				t.Errorf("seed %d: %d events, and again %d", seed, len(first.Log), len(again.Log))
			})
		}
	})
}
