package contracttest

import (
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Fault is a call that ended in a fault of the contract's code, in contrast to a revert with a reason, by which code
// refuses a call.
type Fault struct {
	Contract types.ContractID
	Function string
	Reason   string // "trap", "stack_overflow", "out_of_gas", or "panic"
	Text     string // message of the panic
}

// panics lists the revert messages of the SDKs when the language ends a call: Rust's for each panic, AssemblyScript's
// for an assertion without a message and for the errors of its library.
var panics = []string{
	"the contract panicked", "aborted", "Index out of range", "Invalid length", "Array is empty",
	"Element type must be nullable if array is holey", "Key does not exist", "Allocation too large", "Not implemented",
	"URI malformed", "Unpaired surrogate", "unexpected null", "unexpected upcast", "unexpected downcast",
	"Unexpected 'null' (not assigned or failed cast)", "out of memory",
}

// InnerCall is a call made by a contract, with its outcome.
type InnerCall struct {
	Caller   types.Account
	Contract types.ContractID
	Function string
	Reason   string // reason of the failure; empty on success
}

// mostInner bounds the recorded inner calls of a result, mostDigests its digests.
const mostInner, mostDigests = 64, 64

// watcher is a tracer that records digests, inner calls and faults, innermost call first, including faults that the caller
// handled.
type watcher struct {
	limit  types.Gas // of the transaction
	open   []exec.CallInfo
	faults []Fault
	inner  []InnerCall

	digests [][32]byte
}

// enoughShare divides a transaction's gas limit: a call that runs out of gas is at fault only if it had at least
// 1/enoughShare of that limit. With less, its caller gave it too little.
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

// Digest implements [exec.DigestTracer].
func (w *watcher) Digest(digest [32]byte) {
	if len(w.digests) < mostDigests {
		w.digests = append(w.digests, digest)
	}
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
