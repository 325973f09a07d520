package exec

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// bill adds up the reported parts of a transaction's gas. It checks every block of this package's tests.
type bill struct {
	t     *testing.T
	open  []types.Gas // of the calls that are active
	own   types.Gas   // of the transaction, its call included
	parts [Parts]types.Gas
}

func (b *bill) add(gas types.Gas) {
	if len(b.open) == 0 {
		b.own += gas
	} else {
		b.open[len(b.open)-1] += gas
	}
}

func (b *bill) Charge(part Part, gas types.Gas) {
	if gas > 1<<40 {
		b.t.Errorf("%s took %d gas", part, gas)
	}
	b.parts[part] += gas
	b.add(gas)
}

func (b *bill) Host(f vm.Function, took types.Gas) {
	if took > 1<<40 {
		b.t.Errorf("%s took %d gas", vm.Functions[f].Name, took)
	}
	b.add(took)
}

func (b *bill) Enter(CallInfo) { b.open = append(b.open, 0) }

func (b *bill) Exit(reason Reason, _ vm.Cause, _ []byte, used types.Gas) {
	last := len(b.open) - 1
	if b.open[last] != used {
		b.t.Errorf("a call that ended %q has parts of %d gas, and used %d", reason, b.open[last], used)
	}
	b.open = b.open[:last]
	b.add(used)
}

func (*bill) Storage(_, _, _ []byte) {}
func (*bill) Event(types.Log)        {}
func (*bill) Debug([]byte)           {}

// check compares the parts with a receipt.
func (b *bill) check(used types.Gas) {
	b.t.Helper()
	if b.own != used || len(b.open) > 0 {
		b.t.Errorf("the parts %v are %d gas with %d calls open, the receipt has %d", b.parts, b.own, len(b.open), used)
	}
}

// TestForfeited runs a call out of gas at every possible gas limit. The parts add up, and the remaining gas is reported
// as forfeited, before the call as well as in it.
func TestForfeited(t *testing.T) {
	c, e := withMachine(t)
	inner := c.deploy(e, "inner", 0, map[string]script{"f": func(g *guest) { g.write("k", "v"); g.trap() }})
	id := c.deploy(e, "outer", 100, map[string]script{
		"f": func(g *guest) { g.nested(inner, "f", 1, ""); g.write("k", "v"); g.answer("x") },
	})
	before, inside := false, false
	for limit := types.Gas(21_200); limit < 400_000; limit += 997 {
		run := c.begin()
		b := &bill{t: t}
		run.Trace(b)
		tx := c.action(alice, limit, calling(id, "f", 1))
		receipt, err := run.Apply(tx)
		if err != nil {
			t.Fatal(err)
		}
		b.check(receipt.GasUsed)
		forfeits := b.parts[Forfeited] > 0
		before = before || forfeits && b.parts[Instance] == 0
		inside = inside || forfeits && b.parts[Instance] > 0
	}
	if !before || !inside {
		t.Errorf("forfeited before a call: %v, in it: %v", before, inside)
	}
}
