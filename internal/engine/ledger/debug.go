package ledger

import (
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Debug receives the messages that contracts pass to the host function debug while a block is built. A transaction that
// is taken out of the block repeats its messages in a later one. Debug must not retain message.
type Debug func(tx types.TxID, contract types.ContractID, message []byte)

// listener is a tracer that handles debug messages only.
type listener struct {
	debug   Debug
	tx      types.TxID
	running []types.ContractID // the call stack
}

// begin moves on to the next transaction. It resets the call stack, since an interrupted transaction leaves its calls
// open.
func (l *listener) begin(tx types.TxID) { l.tx, l.running = tx, l.running[:0] }

// Enter implements [exec.Tracer].
func (l *listener) Enter(c exec.CallInfo) { l.running = append(l.running, c.Contract) }

// Exit implements [exec.Tracer].
func (l *listener) Exit(exec.Reason, vm.Cause, []byte, types.Gas) {
	l.running = l.running[:len(l.running)-1]
}

// Debug implements [exec.Tracer].
func (l *listener) Debug(message []byte) { l.debug(l.tx, l.running[len(l.running)-1], message) }

// Host implements [exec.Tracer].
func (*listener) Host(vm.Function, types.Gas) {}

// Charge implements [exec.Tracer].
func (*listener) Charge(exec.Part, types.Gas) {}

// Storage implements [exec.Tracer].
func (*listener) Storage(_, _, _ []byte) {}

// Event implements [exec.Tracer].
func (*listener) Event(types.Log) {}
