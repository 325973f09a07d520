package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// CheckGenesis returns an error that wraps [ErrGenesis] if g is not valid.
func CheckGenesis(g types.Genesis) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w", ErrGenesis, fmt.Errorf(format, args...))
	}
	if g.Network.Prefix() == "" {
		return refuse("unknown network %q", g.Network)
	}
	if g.Time > types.MaxTime {
		return refuse("time %d is after the year 9999", g.Time)
	}
	if err := params.Check(g.Parameters); err != nil {
		return refuse("%w", err)
	}
	if g.Parameters.Version != params.Version {
		return refuse("%w: %d", ErrUnknownVersion, g.Parameters.Version)
	}
	if g.Parameters.Upgrade != nil {
		return refuse("an upgrade is announced")
	}
	if g.BaseFee < g.Parameters.MinBaseFee || g.BaseFee > g.Parameters.MaxBaseFee {
		return refuse("base_fee %d is outside its bounds", g.BaseFee)
	}
	var supply types.Amount
	for i, a := range g.Allocations {
		if i > 0 && g.Allocations[i-1].Account.Compare(a.Account) >= 0 {
			return refuse("allocation %d: accounts do not ascend", i)
		}
		if a.Balance == 0 {
			return refuse("allocation %d is 0", i)
		}
		var err error
		if supply, err = supply.Add(a.Balance); err != nil {
			return refuse("allocations are over 2^64 − 1 in all")
		}
	}
	return nil
}

// Genesis executes a genesis. The accesses of the result are the writes that create the first state; its header is
// header 0 without the state root.
func Genesis(g types.Genesis) (Result, error) {
	if err := CheckGenesis(g); err != nil {
		return Result{}, err
	}
	overlay := state.NewOverlay(nothing{})
	var supply state.Supply
	for _, a := range g.Allocations {
		supply.Supply += a.Balance
		if err := overlay.SetAccount(a.Account, state.Account{Balance: a.Balance}); err != nil {
			return Result{}, err
		}
	}
	if err := overlay.Set(state.SupplyKey(), supply.Encode()); err != nil {
		return Result{}, err
	}
	if err := overlay.Set(state.ParametersKey(), g.Parameters.Encode()); err != nil {
		return Result{}, err
	}
	accesses := overlay.Accesses()
	return Result{Accesses: accesses, Header: types.Header{
		Version:          g.Parameters.Version,
		ChainID:          g.ChainID,
		Parent:           g.Digest(),
		Timestamp:        g.Time,
		Producer:         g.Parameters.Producer,
		TransactionsRoot: lists.TransactionsRoot(nil),
		ReceiptsRoot:     lists.ReceiptsRoot(nil),
		GasLimit:         g.Parameters.GasLimit,
		BaseFee:          g.BaseFee,
	}}, nil
}

// nothing is the empty state before genesis.
type nothing struct{}

func (nothing) Get([]byte) ([]byte, error) { return nil, nil }
