package hunt

import (
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// sample returns random genes, the same in every run.
func sample(n int, kinds ...Kind) (all []Genes) {
	r := rand.New(rand.NewPCG(14, 9))
	for i := range n {
		g := Fresh(r, kinds[i%len(kinds)])
		if i%3 == 2 {
			g = g.Mutate(r)
		}
		all = append(all, g)
	}
	return all
}

// Genes print in a line that builds the same module, and the module is always valid: a search among modules that no
// chain accepts would be useless.
func TestGenes(t *testing.T) {
	tooLarge := 0
	for _, g := range append(sample(400, Code, Chain), Corpus()...) {
		again, err := Parse(g.String())
		if err != nil {
			t.Fatal(err)
		}
		code := g.Build().Code
		if string(again.Build().Code) != string(code) {
			t.Errorf("%s: its line builds another module", g)
		}
		if _, err := vm.Check(code); err != nil {
			var refused *vm.Refused
			if tooLarge++; !errors.As(err, &refused) || !isLimit(refused.Reason) {
				t.Errorf("%s: error %v", g, err)
			}
		}
	}
	if tooLarge > 100 {
		t.Errorf("%d of 400 modules are larger than the rules allow", tooLarge)
	}
}

// isLimit distinguishes the rules of size, which a candidate may break, from the rules of validity.
func isLimit(r vm.Reason) bool { return regexp.MustCompile(`than [0-9]`).MatchString(string(r)) }

func TestParseRefuses(t *testing.T) {
	for _, line := range []string{
		"", "spiral width=1", "ladder", "ladder width=98 depth=120", "ladder width=99 depth=120 ladders=1",
		"ladder width=98 depth=120 ladders=x",
		"ladder depth=120 width=98 ladders=1", "ladder width=98 depth=120 ladders=1 more=1",
		"ladder width=98 depth=1 ladders=1",
	} {
		if g, err := Parse(line); err == nil {
			t.Errorf("%q: got %s, want an error", line, g)
		}
	}
}

// No function takes more of the machine's stack than 8 bytes for each slot that it pays: a call with all slots fits.
func TestFramesAreCounted(t *testing.T) {
	worst := 0.0
	for _, g := range append(sample(24, Code), Corpus()...) {
		module, err := vm.Check(g.Build().Code)
		if err != nil {
			continue
		}
		frames, err := Frames(module)
		if errors.Is(err, ErrOtherProcessor) {
			return
		}
		if err != nil {
			t.Fatalf("%s: error %v", g, err)
		}
		for i, f := range frames {
			worst = max(worst, float64(f.Native)/float64(8*f.Slots))
			if f.Native > 8*f.Slots {
				t.Errorf("function %d has %d slots and takes %d bytes: got %s", i, f.Slots, f.Native, g)
			}
		}
	}
	t.Logf("at most %.2f", worst)
}

// A deploy pays for the memory that compiling its module allocates: a block of deploys takes at most some hundred MiB
// at a time.
func TestCompilingIsPaid(t *testing.T) {
	const most = 2 // bytes per gas
	for _, g := range append(sample(6, Code), someOf(Corpus(), 4)...) {
		score, err := compileMemory(g, 1)
		if err != nil && !IsRefusal(err) {
			t.Fatalf("%s: error %v", g, err)
		}
		if score.Value > most {
			t.Errorf("compiling allocates %.2f bytes a gas: got %s", score.Value, g)
		}
	}
}

// whole makes the tests cover the whole corpus, which takes minutes: `make hunt` begins with them.
var whole = flag.Bool("whole", false,
	"hold nodes to each other over the whole corpus, with all contracts of each candidate")

// Nodes that differ in their engines import the same chain: results, gas, receipts and roots.
func TestNodesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	genes, copies := append(sample(8, Code, Chain), someOf(Corpus(), 9)...), 2
	if *whole {
		genes, copies = append(sample(80, Code, Chain), Corpus()...), math.MaxInt
	}
	var all []Candidate
	for _, g := range genes {
		c := g.Build()
		if _, err := c.check(); err != nil {
			continue
		}
		c.Copies = min(c.Copies, copies)
		all = append(all, c)
	}
	problems, err := Disagreements(all, differGas)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// someOf returns every n-th element.
func someOf(all []Genes, n int) (some []Genes) {
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// A block has room for all codes that it deploys and calls, each with the section in which they differ.
func TestBlocksLoadAllCopies(t *testing.T) {
	g, err := Parse("graph contracts=142 depth=0 fan=5 stride=81 turns=2 pages=1 touched=0 output=0 functions=943 " +
		"globals=7 elements=31 data=2 filled=363 exports=42 types=0 entered=0 call1=7 bytes1=0 key1=72 mode1=2")
	if err != nil {
		t.Fatal(err)
	}
	n, calls, err := deployed(g.Build(), wasm.Options{}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if len(calls) != 65 {
		t.Errorf("%d contracts, as many as a builder has room for are 65", len(calls))
	}
	if _, err := n.Block(1_000_000, len(calls), calls...); err != nil {
		t.Error(err)
	}
}
