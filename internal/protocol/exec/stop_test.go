package exec

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// A stopped transaction leaves no trace, wherever it was stopped: the block equals one without it.
func TestStoppedTransactionLeavesNoTrace(t *testing.T) {
	c, e := withMachine(t)
	works := func(g *guest) {
		g.write("k", "v")
		g.read("other")
		g.emit("E", "d")
	}
	goesOn := func(g *guest) {
		if err := g.host.Continue(); err != nil {
			panic(ended{err: err})
		}
	}
	inner := c.deploy(e, "inner", 0, map[string]script{"works": works, "goes_on": func(g *guest) { works(g); goesOn(g) }})
	outer := c.deploy(e, "outer", 7, map[string]script{
		"works": func(g *guest) { works(g); goesOn(g) },
		"nests": func(g *guest) { works(g); g.nested(inner, "works", 3, "") },
		"deep":  func(g *guest) { works(g); g.nested(inner, "goes_on", 3, "") },
	})
	newcomer := e.code("newcomer", 2, map[string]script{"init": func(g *guest) { works(g); goesOn(g) }})
	errLate := errors.New("late")
	for name, test := range map[string]struct {
		action action
		asked  int // number of checks before the transaction is stopped
	}{
		"before the code is loaded": {calling(outer, "works", 5), 0},
		"in a call":                 {calling(outer, "works", 5), 1},
		"before a nested call":      {calling(outer, "nests", 5), 1},
		"in a nested call":          {calling(outer, "deep", 5), 2},
		"in a deploy":               {deploying(5, types.Deploy{Name: "newcomer", Code: newcomer}), 0},
	} {
		for _, first := range []bool{true, false} {
			build := func(withStopped bool) Result {
				t.Helper()
				run := c.begin()
				apply := func(tx *types.VerifiedTx) {
					t.Helper()
					if _, err := run.Apply(tx); err != nil {
						t.Fatal(err)
					}
				}
				if !first {
					apply(c.transfer(producer))
				}
				if withStopped {
					asked := 0
					run.StopWith(func() error {
						if asked++; asked > test.asked {
							return errLate
						}
						return nil
					})
					if _, err := run.Apply(c.action(alice, 400_000_000, test.action)); !errors.Is(err, errLate) || IsInvalid(err) {
						t.Fatalf("%s: error %v", name, err)
					}
					if asked != test.asked+1 {
						t.Fatalf("%s: asked %d times", name, asked)
					}
					run.StopWith(nil)
				}
				apply(c.transfer(bob))
				if _, err := run.Apply(c.transfer(alice, func(tx *types.Transaction) { tx.Nonce++ })); !errors.Is(
					err, ErrNonceTooHigh,
				) {
					t.Fatalf("%s: the stopped one's successor: error %v", name, err)
				}
				result, err := run.Finish()
				if err != nil {
					t.Fatal(err)
				}
				return result
			}
			if got, want := build(true), build(false); !reflect.DeepEqual(got, want) {
				t.Errorf("%s, first in its block %v: the block is\n%+v, without it\n%+v", name, first, got, want)
			}
		}
	}
}

// Without a stop function nothing is asked, and asking does not change a call that is not stopped.
func TestBeingAskedChangesNothing(t *testing.T) {
	c, e := withMachine(t)
	id := c.deploy(e, "loads", 0, map[string]script{"run": func(g *guest) { g.call(vm.BlockHeight) }})
	asked := 0
	execute := func(stop func() error) types.Receipt {
		t.Helper()
		run := c.begin()
		run.StopWith(stop)
		receipt, err := run.Apply(c.action(alice, 1_000_000, calling(id, "run", 0)))
		if err != nil {
			t.Fatal(err)
		}
		return receipt
	}
	want := execute(nil)
	if got := execute(func() error { asked++; return nil }); !reflect.DeepEqual(got, want) || asked != 1 {
		t.Errorf("got %+v after being asked %d times, want %+v", got, asked, want)
	}
}
