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
