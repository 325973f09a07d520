package testkit

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// bill adds up the parts of a transaction's gas as a tracer gets them. It checks every simulation.
type bill struct {
	open  []types.Gas // of the calls that are active
	own   types.Gas   // of the transaction, its call included
	wrong error
}

func (b *bill) add(part fmt.Stringer, gas types.Gas) {
	if gas > 1<<40 {
		b.wrong = fmt.Errorf("%s took %d gas", part, gas)
	}
	if len(b.open) == 0 {
		b.own += gas
	} else {
		b.open[len(b.open)-1] += gas
	}
}

func (b *bill) Charge(part exec.Part, gas types.Gas)      { b.add(part, gas) }
func (b *bill) Host(function vm.Function, took types.Gas) { b.add(hostFunction(function), took) }
func (b *bill) Enter(exec.CallInfo)                       { b.open = append(b.open, 0) }

func (b *bill) Exit(reason exec.Reason, _ vm.Cause, _ []byte, used types.Gas) {
	last := len(b.open) - 1
	if b.open[last] != used {
		b.wrong = fmt.Errorf("a call that ended %q has parts of %d gas, and used %d", reason, b.open[last], used)
	}
	b.open = b.open[:last]
	b.add(belowPart{}, used)
}

func (*bill) Storage(_, _, _ []byte) {}
func (*bill) Event(types.Log)        {}
func (*bill) Debug([]byte)           {}

func (b *bill) check(used types.Gas) error {
	if b.wrong == nil && (b.own != used || len(b.open) > 0) {
		return fmt.Errorf("the parts are %d gas with %d calls open, %d were used", b.own, len(b.open), used)
	}
	return b.wrong
}

type hostFunction vm.Function

func (f hostFunction) String() string { return vm.Functions[f].Name }

type belowPart struct{}

func (belowPart) String() string { return "a call" }
