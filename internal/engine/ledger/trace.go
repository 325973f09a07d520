package ledger

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Trace tells a tracer what an included transaction did: it executes the block again up to it, on the parent's state.
// Errors are those of the store, among them chain.ErrPruned where that state is not kept. stop, asked between
// transactions, ends it with its error.
func (l *Ledger) Trace(p chain.Position, tracer exec.Tracer, stop func() error) (err error) {
	block, err := l.store.Block(p.Height)
	if err != nil {
		return err
	}
	if p.Height == 0 || int(p.Index) >= len(block.Transactions) {
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
	run, err := l.again(parent.Header, block.Header, view)
	if err != nil {
		return err
	}
	txs := types.VerifySignatures(block.Transactions[:p.Index+1])
	for i, tx := range txs {
		if err := stop(); err != nil {
			return err
		}
		if tx == nil {
			return fmt.Errorf("transaction %d of block %d has a signature that is not valid", i, p.Height)
		}
		if i == int(p.Index) {
			run.Trace(tracer)
		}
		if _, err := run.Apply(tx); err != nil {
			return fmt.Errorf("transaction %d of block %d, again: %w", i, p.Height, err)
		}
	}
	return nil
}

// again begins a block that is there anew.
func (l *Ledger) again(parent, header types.Header, view *chain.State) (*exec.Run, error) {
	p, err := exec.ReadParameters(view)
	if err != nil {
		return nil, err
	}
	overrides := l.override != nil && l.override.Height == header.Height
	if overrides {
		p = l.override.Parameters
	}
	seed, err := exec.Seed(parent, p, header.Timestamp)
	if err != nil {
		return nil, err
	}
	run := exec.Begin(p, view, seed, l.Machine())
	if overrides {
		err = run.Override()
	}
	return run, err
}
