package contracttest

import (
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Fault is a call that ended by a fault of its contract's code, where a call that the code refuses reverts with a reason.
type Fault struct {
	Contract types.ContractID
	Function string
	Reason   string // "trap", "stack_overflow", "out_of_gas", or "panic"
	Text     string // what a panic says
}

// panics are what the SDKs revert with when the language ends a call: Rust for each panic, AssemblyScript for an
// assertion without a text and for what its library refuses.
var panics = []string{
	"the contract panicked", "aborted", "Index out of range", "Invalid length", "Array is empty",
	"Element type must be nullable if array is holey", "Key does not exist", "Allocation too large", "Not implemented",
	"URI malformed", "Unpaired surrogate", "unexpected null", "unexpected upcast", "unexpected downcast",
	"Unexpected 'null' (not assigned or failed cast)", "out of memory",
}

// InnerCall is a call that a contract made, and how it ended.
type InnerCall struct {
	Caller   types.Account
	Contract types.ContractID
	Function string
	Reason   string // why it failed; empty if it did not
}

// mostInner bounds the inner calls of a result.
const mostInner = 64

// watcher is a tracer that notes faults, the innermost call first, also of calls whose caller goes on, and inner calls.
type watcher struct {
	limit  types.Gas // of the transaction
	open   []exec.CallInfo
	faults []Fault
	inner  []InnerCall
}

// enoughShare is the part of a transaction's gas limit with which a call that runs out of it is at fault: what had less
// was given less by its caller.
const enoughShare = 4

// Enter implements [exec.Tracer].
func (w *watcher) Enter(c exec.CallInfo) { w.open = append(w.open, c) }

// Exit implements [exec.Tracer].
func (w *watcher) Exit(reason exec.Reason, _ vm.Cause, output []byte, _ types.Gas) {
	c := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if len(w.open) > 0 && len(w.inner) < mostInner {
		w.inner = append(w.inner, InnerCall{c.Caller, c.Contract, c.Function, string(reason)})
	}
	f := Fault{Contract: c.Contract, Function: c.Function, Reason: string(reason)}
	switch {
	case reason == exec.Trap, reason == exec.StackOverflow, reason == exec.OutOfGas && c.Gas >= w.limit/enoughShare:
	case reason == exec.Reverted && slices.Contains(panics, string(output)):
		f.Reason, f.Text = "panic", string(output)
	default:
		return
	}
	w.faults = append(w.faults, f)
}

// Charge implements [exec.Tracer].
func (*watcher) Charge(exec.Part, types.Gas) {}

// Host implements [exec.Tracer].
func (*watcher) Host(vm.Function, types.Gas) {}

// Storage implements [exec.Tracer].
func (*watcher) Storage(_, _, _ []byte) {}

// Event implements [exec.Tracer].
func (*watcher) Event(types.Log) {}

// Debug implements [exec.Tracer].
func (*watcher) Debug([]byte) {}
