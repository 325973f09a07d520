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
	stored, err := l.store.EncodedBlock(p.Height)
	if err != nil {
		return err
	}
	block, included, err := types.DecodeBlockTxs(stored.Bytes)
	if err != nil {
		return fmt.Errorf("block %d as it is stored: %w", p.Height, err)
	}
	if p.Height == 0 || int(p.Index) >= len(included) {
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
	run, err := l.reexecute(parent.Header, block.Header, parameters, view, exec.Machine{Engine: before, Codes: l.store})
	if err != nil {
		return err
	}
	run.StopWith(stop)
	var verified []*types.VerifiedTx // from the present transaction on: at most tracedAtOnce
	for i := range int(p.Index) + 1 {
		if err := stop(); err != nil {
			return err
		}
		if len(verified) == 0 {
			verified = types.VerifyWitnesses(l.Network(), included[i:min(i+tracedAtOnce, int(p.Index)+1)])
		}
		tx := verified[0]
		if verified = verified[1:]; tx == nil {
			return fmt.Errorf("transaction %d of block %d has an invalid witness", i, p.Height)
		}
		if i == int(p.Index) {
			run.Trace(tracer)
			run.RunIn(engine)
		}
		if _, err := run.Apply(tx); err != nil {
			return fmt.Errorf("transaction %d of block %d, again: %w", i, p.Height, err)
		}
	}
	return nil
}
