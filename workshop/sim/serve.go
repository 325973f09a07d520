package sim

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// The interface of a process for the network, clients and the checker, which use nothing else.

// height returns the height of the newest block.
func (p *process) height() types.Height {
	h := p.store.Head().Header.Height
	if p.unverified != nil {
		h = max(h, p.unverified.height())
	}
	return h
}

func (p *process) block(h types.Height) (types.Block, error) {
	if p.unverified != nil {
		if b, ok := p.unverified.block(h); ok {
			return b, nil
		}
	}
	return p.store.Block(h)
}

// receipts returns the receipts of a block. A block that a bug serves without executing it has none.
func (p *process) receipts(h types.Height) ([]types.Receipt, error) {
	receipts, err := p.store.Receipts(h)
	if p.unverified != nil && errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	if err == nil && p.node.simulation.setup.Bug == MisreadsReceipts && p.node.index > 0 && len(receipts) > 1 {
		receipts[0], receipts[1] = receipts[1], receipts[0]
	}
	return receipts, err
}

// position returns the position of a transaction.
func (p *process) position(id types.TxID) (chain.Position, bool, error) {
	at, err := p.store.FindTransaction(id)
	if errors.Is(err, chain.ErrNotFound) {
		return at, false, nil
	}
	return at, err == nil, err
}

// sums returns the genesis supply according to the state after a block, and the sum of all balances and burned coins.
func (p *process) sums(h types.Height, accounts []types.Account) (supply, found types.Amount, err error) {
	view, err := p.store.StateAt(h)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	row, err := view.Get(state.SupplyKey())
	if err != nil {
		return 0, 0, err
	}
	s, err := state.DecodeSupply(row)
	if err != nil {
		return 0, 0, err
	}
	found = s.Burned
	for _, a := range accounts {
		if row, err = view.Get(state.AccountKey(a)); err != nil {
			return 0, 0, err
		}
		account, err := state.DecodeAccount(a, row)
		if err != nil {
			return 0, 0, err
		}
		if found, err = found.Add(account.Balance); err != nil {
			return 0, 0, err
		}
	}
	return s.Supply, found, nil
}
