package fuzz_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/kit/contracttest/fuzz"
)

var seeds = flag.Uint64("seeds", 1, "how many seeds the flawed contracts are searched with")

// TestFindsFlaws: the flaw of each contract is found with its ABI and one invariant.
func TestFindsFlaws(t *testing.T) {
	for _, flaw := range []struct {
		name  string
		setup func(*fuzz.World)
	}{
		{"market", market}, {"bank", bank}, {"router", router}, {"pool", pool},
		{"sealed bids in Rust", sealed("sealed")}, {"sealed bids in AssemblyScript", sealed("as-sealed")},
	} {
		t.Run(flaw.name, func(t *testing.T) {
			for seed := range *seeds {
				report, failure := fuzz.Search(t, fuzz.Config{Seed: seed + 1, Calls: 1_000_000}, flaw.setup)
				if failure == nil {
					t.Fatalf("seed %d finds nothing: got %s", seed+1, report)
				}
				if len(failure.Moves) > 5 || !failure.Minimal {
					t.Errorf("it is shrunk to %d moves", len(failure.Moves))
				}
				t.Logf("%v%d plays", failure, failure.Plays)
			}
		})
	}
}

// TestNeedsNoAdversary: a failure that an actor can cause alone is shown without the adversary, even if the adversary
// found it.
func TestNeedsNoAdversary(t *testing.T) {
	for seed := range uint64(8) {
		_, failure := fuzz.Search(t, fuzz.Config{Seed: seed + 1}, func(w *fuzz.World) {
			market(w)
			w.Adversary("stranger", abi.ABI{})
		})
		if failure == nil {
			t.Fatalf("seed %d finds nothing", seed+1)
		}
		for _, m := range failure.Moves {
			if m.To != "market" {
				t.Errorf("seed %d: got %+v, want To market", seed+1, m)
			}
		}
	}
}

// TestTheSameSeed: the seed determines everything that is tried.
func TestTheSameSeed(t *testing.T) {
	search := func(seed uint64) (fuzz.Report, *fuzz.Failure) {
		return fuzz.Search(t, fuzz.Config{Seed: seed, Calls: 2_000}, bank)
	}
	report, failure := search(3)
	again, failureAgain := search(3)
	if !reflect.DeepEqual(report, again) || !reflect.DeepEqual(failure, failureAgain) {
		t.Errorf("%s\n%v\nthen %s\n%v", report, failure, again, failureAgain)
	}
	if other, _ := search(4); reflect.DeepEqual(report, other) {
		t.Error("another seed makes the same calls")
	}
}

// TestWaitsForMoments: the search also lets time pass until a moment that it has seen, which may be years ahead.
func TestWaitsForMoments(t *testing.T) {
	deadline := uint64(contracttest.GenesisTime + 8*365*86_400)
	_, failure := fuzz.Search(t, fuzz.Config{}, func(w *fuzz.World) {
		alice := w.Actor("alice")
		k := w.Deploy(alice, "escrow", module(t, "escrow"), nil)
		w.Target(k, "open")
		w.Choose(k, "open", "deadline", deadline)
		w.Choose(k, "open", "seller", w.Chain.Account("seller").Account)
		w.Choose(k, "open", "arbiter", w.Chain.Account("arbiter").Account)
		w.Adversary("mallory", abi.ABI{})
		w.Invariant("it is not over", func(v *fuzz.View) error {
			if v.Time() >= deadline {
				return errors.New("it is")
			}
			return nil
		})
	})
	if failure == nil {
		t.Error("the deadline is never reached")
	}
}

// TestMakesDeadlines: without hints about the deadline, the search makes one that passes, and then tries the function
// that waits for it.
func TestMakesDeadlines(t *testing.T) {
	report, failure := fuzz.Search(t, fuzz.Config{}, func(w *fuzz.World) {
		k := w.Deploy(w.Actor("alice"), "escrow", module(t, "escrow"), nil)
		w.Target(k)
		w.Choose(k, "open", "seller", w.Chain.Account("seller").Account)
		w.Choose(k, "open", "arbiter", w.Chain.Account("arbiter").Account)
	})
	if refunds := report.Functions["escrow.refund"]; failure != nil || refunds.Succeeded == 0 {
		t.Errorf("got %+v refunds by the buyer, who must wait for the deadline, and %v; want some", refunds, failure)
	}
}

// TestTellsWhyByTheABI: calls that fail with a typed error are counted by the error's name.
func TestTellsWhyByTheABI(t *testing.T) {
	report, _ := fuzz.Search(t, fuzz.Config{Calls: 500}, func(w *fuzz.World) {
		w.Actor("alice")
		k := w.Deploy(w.Chain.Account("alice"), "types", module(t, "types"), nil)
		w.Target(k, "refuse")
	})
	reasons := report.Functions["types.refuse"].Reasons
	if len(reasons) == 0 || reasons["reverted TooLow"]+reasons["reverted Closed"]+reasons["reverted"] != report.Calls {
		t.Errorf("%v of %d calls", reasons, report.Calls)
	}
}

// TestKeepsFailures: a failure is in the corpus, and found at once with another seed, until the contract is repaired.
func TestKeepsFailures(t *testing.T) {
	dir := t.TempDir()
	_, first := fuzz.Search(t, fuzz.Config{Seed: 2, Corpus: dir}, market)
	if first == nil || first.File == "" {
		t.Fatalf("nothing was kept of %v", first)
	}
	for _, file := range []string{"unknown.json", "damaged.json"} {
		text := `{"seed":1,"moves":[{"from":"alice","to":"market","call":"gone"}]}`
		if file == "damaged.json" {
			text = `{`
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, second := fuzz.Search(t, fuzz.Config{Seed: 9, Corpus: dir}, market)
	if second == nil || report.Calls != 1 || !reflect.DeepEqual(first.Moves, second.Moves) || first.File != second.File {
		t.Errorf("%v\nthen %v after %d calls", first, second, report.Calls)
	}
}

// TestTellsWhatItCannotKeep: a failure is reported even if its file cannot be written.
func TestTellsWhatItCannotKeep(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "no", "such"), filepath.Join(dir, "failures")); err != nil {
		t.Fatal(err)
	}
	_, failure := fuzz.Search(t, fuzz.Config{Seed: 2, Corpus: dir}, market)
	if failure == nil || failure.File != "" {
		t.Errorf("error %v", failure)
	}
}

// recorder is a test whose failure does not end others.
type recorder struct {
	testing.TB
	failed string
}

type ended struct{}

func (r *recorder) Fatalf(format string, args ...any) { r.end(errors.New(format), args...) }
func (r *recorder) Fatal(args ...any)                 { r.end(errors.New("fatal"), args...) }

func (r *recorder) end(err error, args ...any) {
	r.failed = err.Error()
	for _, a := range args {
		if e, ok := a.(error); ok {
			r.failed += " " + e.Error()
		} else if s, ok := a.(string); ok {
			r.failed += " " + s
		}
	}
	panic(ended{})
}

// fatal is the message that ended a test, or empty.
func fatal(t *testing.T, run func(testing.TB)) (failed string) {
	r := &recorder{TB: t}
	defer func() {
		if e := recover(); e != nil {
			if _, ok := e.(ended); !ok {
				panic(e)
			}
			failed = r.failed
		}
	}()
	run(r)
	return ""
}

// TestReplay: the moves in a failure fail again, and fewer of them do not.
func TestReplay(t *testing.T) {
	_, failure := fuzz.Search(t, fuzz.Config{Calls: 100_000}, bank)
	if failure == nil {
		t.Fatal("nothing was found")
	}
	_, printed, _ := strings.Cut(failure.GoTest(), "`")
	printed, _, _ = strings.Cut(printed, "`")
	moves := slices.Collect(strings.Lines(strings.TrimSpace(printed)))
	replay := func(moves string) string {
		return fatal(t, func(t testing.TB) { fuzz.Replay(t, bank, moves) })
	}
	if got := replay(printed); !strings.Contains(got, "does not hold") {
		t.Errorf("%s\nended with %q", printed, got)
	}
	for i := range moves {
		less := strings.Join(slices.Delete(slices.Clone(moves), i, i+1), "")
		if got := replay(less); got != "" {
			t.Errorf("%s\nended with %q", less, got)
		}
	}
	for _, wrong := range []string{
		`{"from":"nobody","to":"bank","call":"withdraw"}`, `{"from":"bob","to":"bank","call":"close"}`,
		`{"from":"bob","to":"bank","call":"withdraw","args":{"all":true}}`, `{"form":"bob"}`, `[]`,
		`{"from":"bob","to":"mallory","call":"run","script":{"walk":{}}}`,
		`{"from":"bob","to":"bank","call":"withdraw","call":"withdraw"}`,
	} {
		if got := replay(wrong); got == "" {
			t.Errorf("%s was played", wrong)
		}
	}
}

// TestCountsWhatTheAdversaryDid: the adversary's calls are counted separately from those of actors, with their
// outcomes.
func TestCountsWhatTheAdversaryDid(t *testing.T) {
	report, _ := fuzz.Search(t, fuzz.Config{Calls: 500}, func(w *fuzz.World) {
		gold := token(w, w.Actor("alice"), "gold")
		w.Target(gold, "approve")
		w.Adversary("mallory", abi.ABI{})
	})
	approved, minted := report.Functions["mallory → gold.approve"], report.Functions["mallory → gold.mint"]
	if approved == nil || approved.Succeeded == 0 || minted == nil || minted.Called == 0 || minted.Succeeded > 0 {
		t.Errorf("got %+v and %+v of the calls that it makes, want some that succeed and some that fail", approved, minted)
	}
}

// TestReport: functions that never succeeded are reported, with the reasons.
func TestReport(t *testing.T) {
	report, failure := fuzz.Search(t, fuzz.Config{Calls: 500}, func(w *fuzz.World) {
		alice, eve := w.Chain.Account("alice"), w.Actor("eve")
		gold := token(w, alice, "gold")
		w.Target(gold, "mint", "approve")
		w.Invariant("eve makes no gold", func(v *fuzz.View) error {
			if v.Uint(gold, "totalSupply", nil) != 1_000_000 || v.Try(eve.Account, gold, "mint", nil).OK {
				return errors.New("there is more")
			}
			return nil
		})
	})
	if failure != nil {
		t.Fatal(failure)
	}
	if never := report.NeverSucceeded(); !slices.Equal(never, []string{"gold.mint"}) {
		t.Errorf("%q never succeeded", never)
	}
	if text := report.String(); report.Calls < 500 || report.Functions["gold.approve"].Succeeded < 100 ||
		!strings.Contains(text, "gold.mint: 0 of") || !strings.Contains(text, `reverted "only the owner may mint"`) {
		t.Error(text)
	}
}

// TestTraps: a call that traps is a failure if FailOnTrap is set.
func TestTraps(t *testing.T) {
	_, failure := fuzz.Search(t, fuzz.Config{FailOnTrap: true}, trapping)
	if failure == nil || failure.Invariant != "no call traps, panics or runs out of gas" || len(failure.Moves) != 1 {
		t.Fatalf("error %v", failure)
	}
	if again := failure.Again(t, trapping); again.Reason != "trap" || len(again.Stops) != 1 {
		t.Errorf("played again: got %+v", again)
	}
	if _, failure = fuzz.Search(t, fuzz.Config{Calls: 100}, trapping); failure != nil {
		t.Error(failure)
	}
}

// TestFindsPanicsWhateverTheyPass: each fault of the code is found, even within a call that succeeds. A refusal is not
// a fault.
func TestFindsPanicsWhateverTheyPass(t *testing.T) {
	_, failures := fuzz.SearchAll(t, fuzz.Config{FailOnTrap: true, Calls: 1_000}, careless)
	var got []string
	for _, f := range failures {
		got = append(got, f.Err.Error())
		if len(f.Moves) != 1 {
			t.Errorf("%v: got %d moves, want the shortest, 1", f.Err, len(f.Moves))
		}
	}
	slices.Sort(got)
	want := []string{`inner.panics ended by panic: "the contract panicked"`, "outer.stops ended by trap"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTriesTheNumbersOfTheCode: the search passes comparisons with a number in the code, or with the sum of two.
func TestTriesTheNumbersOfTheCode(t *testing.T) {
	for seed := range uint64(4) {
		_, failure := fuzz.Search(t, fuzz.Config{Seed: seed + 1, FailOnTrap: true}, func(w *fuzz.World) {
			w.Target(w.Deploy(w.Actor("alice"), "sealed", sealedBy(8_123_457_123_457, wasmgen.Unreachable), nil))
		})
		if failure == nil || len(failure.Moves) != 1 {
			t.Errorf("seed %d: got %v, want the call with the number", seed+1, failure)
		}
	}
}

// TestRun: a sound contract passes, without a corpus.
func TestRun(t *testing.T) {
	fuzz.Run(t, fuzz.Config{Calls: 300}, func(w *fuzz.World) {
		alice, bob := w.Actor("alice"), w.Actor("bob")
		gold := token(w, alice, "gold")
		w.Target(gold)
		w.Invariant("nobody has more than there is", func(v *fuzz.View) error {
			for _, a := range []any{alice, bob} {
				if v.Uint(gold, "balanceOf", args{"address": a}) > v.Uint(gold, "totalSupply", nil) {
					return errors.New("somebody does")
				}
			}
			return nil
		})
	})
}

// TestSetups: a fault in a setup ends the test.
func TestSetups(t *testing.T) {
	for want, setup := range map[string]func(*fuzz.World){
		"needs an actor": func(*fuzz.World) {},
		"after the setup": func(w *fuzz.World) {
			w.Target(token(w, w.Actor("alice"), "gold"))
			w.Invariant("never", func(*fuzz.View) error { return errors.New("no") })
		},
		"gold.balance": func(w *fuzz.World) {
			gold := token(w, w.Actor("alice"), "gold")
			w.Target(gold)
			w.Invariant("never", func(v *fuzz.View) error { v.Uint(gold, "balance", nil); return nil })
		},
		"has no function": func(w *fuzz.World) {
			w.Target(token(w, w.Actor("alice"), "gold"), "init")
		},
		"is taken": func(w *fuzz.World) { w.Actor("alice"); w.Actor("alice") },
	} {
		got := fatal(t, func(t testing.TB) {
			fuzz.Search(t, fuzz.Config{Calls: 10}, setup)
		})
		if !strings.Contains(got, want) {
			t.Errorf("ended with %q, want %q", got, want)
		}
	}
}
