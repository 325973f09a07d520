package ledger

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Trace verifies at most tracedAtOnce witnesses between two calls of stop. That takes some milliseconds.
const tracedAtOnce = 128

// Trace re-executes a block on its parent's state up to an included transaction, and traces that transaction. The
// transaction runs in engine, and those before it in before. stop is called between transactions and while contracts
// run; Trace returns the first error of stop. Other errors are the store's, including chain.ErrPruned if the parent's
// state is not kept.
func (l *Ledger) Trace(
	p chain.Position, before, engine vm.Engine, tracer exec.Tracer, stop func() error,
) (err error) {
	block, err := l.store.MeasuredBlock(p.Height)
	if err != nil {
		return err
	}
	if p.Height == 0 || p.Index >= block.Transactions {
		return fmt.Errorf("transaction %d of block %d: %w", p.Index, p.Height, chain.ErrNotFound)
	}
	parent, err := l.store.Header(p.Height - 1)
	if err != nil {
		return err
	}
	view, err := l.store.StateAt(p.Height - 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	parameters, err := exec.ReadParameters(view)
	if err != nil {
		return err
	}
	run, err := l.reexecute(parent.Header, block.Header.Header, parameters, view, exec.Machine{Engine: before, Codes: l.store})
	if err != nil {
		return err
	}
	run.StopWith(stop)
	var included []*types.Tx         // from the present transaction on: at most a run
	var verified []*types.VerifiedTx // likewise: at most tracedAtOnce
	for i := range p.Index + 1 {
		if err := stop(); err != nil {
			return err
		}
		if len(included) == 0 {
			if included, err = l.store.TransactionRun(block.Header, i); err != nil {
				return err
			}
		}
		if len(verified) == 0 {
			verified = types.VerifyWitnesses(l.Network(), included[:min(tracedAtOnce, len(included), int(p.Index+1-i))])
		}
		tx := verified[0]
		if included, verified = included[1:], verified[1:]; tx == nil {
			return fmt.Errorf("transaction %d of block %d has an invalid witness", i, p.Height)
		}
		if i == p.Index {
			run.Trace(tracer)
			run.RunIn(engine)
		}
		if _, err := run.Apply(tx); err != nil {
			return fmt.Errorf("transaction %d of block %d, again: %w", i, p.Height, err)
		}
	}
	return nil
}

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
