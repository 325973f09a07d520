package fuzz

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

var (
	seedFlag = flag.Uint64("fuzz.seed", 0, "seed of the contract fuzzer, instead of the test's own")
	timeFlag = flag.Duration("fuzz.time", 0, "duration of the contract fuzzer, instead of a number of calls")
)

// Run searches for a failure. If it finds one, it shrinks it, saves it to the corpus, and fails the test with a Go test
// that reproduces it. The flags -fuzz.seed and -fuzz.time of go test override the Config.
func Run(t *testing.T, c Config, setup func(*World)) {
	t.Helper()
	if *seedFlag != 0 {
		c.Seed = *seedFlag
	}
	if *timeFlag != 0 {
		c.Time = *timeFlag
	}
	if c.Corpus == "" {
		c.Corpus = filepath.Join("testdata", "fuzz", filepath.FromSlash(t.Name()))
	}
	report, failure := Search(t, c, setup)
	t.Log(report)
	if failure != nil {
		t.Fatal(failure)
	}
}

// Replay plays moves, in the form that a failure prints, and fails the test if they violate an invariant.
func Replay(t testing.TB, setup func(*World), moves string) {
	t.Helper()
	w := newWorld(t, setup)
	parsed, err := w.parse(moves)
	if err != nil {
		t.Fatal(err)
	}
	var calls int
	failure, err := w.replay(parsed, &calls, nil)
	if err != nil {
		t.Fatal(err)
	}
	if failure != nil {
		t.Fatalf("the invariant %q does not hold after move %d: %v", failure.Invariant, len(failure.Moves)-1, failure.Err)
	}
}

// Again replays the moves on a chain with coverage ([contracttest.Chain.Cover]), and returns the result of the last
// call, with the position of a failure. It ends the test if the setup or the moves are invalid.
func (f *Failure) Again(t testing.TB, setup func(*World)) (last contracttest.Result) {
	t.Helper()
	w := newWorld(t, func(w *World) {
		w.Chain.Cover()
		setup(w)
	})
	var calls int
	p := w.begin(&calls)
	for i, m := range f.Moves {
		var err error
		if last, err = p.move(m); err != nil {
			t.Fatalf("move %d: %v", i, err)
		}
	}
	return last
}

// Error describes the violated invariant, how it was found, and the moves as a Go test.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the invariant %q does not hold: %v\n", f.Invariant, f.Err)
	fmt.Fprintf(&b, "found with seed %d after %d calls, shrunk to %d moves", f.Seed, f.Calls, len(f.Moves))
	if !f.Minimal {
		b.WriteString(", which may not be the fewest")
	}
	if f.File != "" {
		b.WriteString(", kept in " + f.File)
	}
	b.WriteString("\n\n" + f.GoTest())
	return b.String()
}

// Lines returns the moves as JSON without backquotes, one per line.
func (f *Failure) Lines() []string {
	lines := make([]string, len(f.Moves))
	for i, m := range f.Moves {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err) // moves consist of values that JSON can encode
		}
		lines[i] = strings.ReplaceAll(string(text), "`", `\u0060`)
	}
	return lines
}

// GoTest returns the source of a Go test that replays the moves in the world of a function setup.
func (f *Failure) GoTest() string {
	var b strings.Builder
	b.WriteString("func TestFailure(t *testing.T) {\n\tfuzz.Replay(t, setup, `\n")
	for _, line := range f.Lines() {
		b.WriteString("\t\t" + line + "\n")
	}
	b.WriteString("\t`)\n}\n")
	return b.String()
}
