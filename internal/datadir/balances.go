package datadir

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Balances are the coins of a chain of version 1 of the protocol.
type Balances = chain.Balances

// ErrNoBalances is returned for a directory that has no chain of version 1 of the protocol, with its state.
var ErrNoBalances = chain.ErrNoBalances

// ReadBalances reads the balances in a data directory of version 1 of the protocol, of a node that does not run. Nothing
// else of such a directory can be read.
func ReadBalances(path string) (b Balances, err error) {
	if err := mustHaveDatabase(path); err != nil {
		return b, Explain(path, err)
	}
	d := &Dir{path: path, options: Options{ReadOnly: true}}
	if err := d.take(); err != nil {
		return b, Explain(path, err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	db, err := kv.Open(filepath.Join(path, databaseDir), kv.Options{
		ReadOnly: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return b, Explain(path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if b, err = chain.ReadBalances(db); errors.Is(err, ErrNoBalances) {
		return b, fmt.Errorf("%s: %w", path, err)
	}
	return b, Explain(path, err)
}

// Successor is the input of [Successor.Genesis]: a new chain with the coins of one of version 1 of the protocol.
type Successor struct {
	Network  types.Network
	ChainID  uint64 // another one than the old chain's, so that no transaction is valid on both
	Time     uint64 // in milliseconds since 1970
	Producer types.PublicKey
	Admin    types.Account
	// Assigned maps each contract to the account that gets its coins. A contract has no key, and its code stays behind.
	Assigned map[types.Account]types.Account
}

// ErrUnassigned is returned if a contract's coins are assigned to nobody, or if an assignment names no contract with
// coins.
var ErrUnassigned = errors.New("the coins of the contract")

// Genesis returns the genesis of the new chain. Burned coins stay burned: they are not part of the supply.
func (s Successor) Genesis(b Balances) (types.Genesis, error) {
	sums := make(map[types.Account]types.Amount, len(b.Accounts))
	for _, a := range b.Accounts {
		sums[a.Account] = a.Balance
	}
	assigned := make(map[types.Account]bool)
	for _, c := range b.Contracts {
		to, ok := s.Assigned[c.Account]
		if !ok {
			return types.Genesis{}, fmt.Errorf("%w %s, which has %d units, are not assigned", ErrUnassigned, c.Account, c.Balance)
		}
		assigned[c.Account] = true
		sums[to] += c.Balance // the old supply fits in 64 bits
	}
	for contract := range s.Assigned {
		if !assigned[contract] {
			return types.Genesis{}, fmt.Errorf("%w %s are assigned, but it has none", ErrUnassigned, contract)
		}
	}
	p := params.Default(s.Producer)
	p.Admin = s.Admin
	g := types.Genesis{
		ChainID: s.ChainID, Network: s.Network, Time: s.Time, BaseFee: params.DefaultMinBaseFee, Parameters: p,
		Allocations: make([]types.Allocation, 0, len(sums)),
	}
	for account, balance := range sums {
		g.Allocations = append(g.Allocations, types.Allocation{Account: account, Balance: balance})
	}
	sortAllocations(g.Allocations)
	return g, exec.CheckGenesis(g)
}
