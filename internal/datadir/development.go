package datadir

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/wallet"
)

const (
	developmentBalance  = 10_000 * types.CoinUnits
	treasuryBalance     = 100_000_000 * types.CoinUnits
	producerBalance     = 1_000 * types.CoinUnits // of a development chain, whose producer is its admin
	adminBalance        = 1_000 * types.CoinUnits
	maxDevelopmentNames = 1_000
)

// Development is the set of keys of a development chain, all derived from one mnemonic.
type Development struct {
	Accounts []crypto.PrivateKey // m/86'/1'/0'/0/i
	Treasury crypto.PrivateKey   // m/86'/1'/0'/1/0: pays for dev_fund
	Producer crypto.PrivateKey   // m/86'/1'/0'/1/1
}

// NewDevelopment derives the keys of a development chain with count funded accounts.
func NewDevelopment(mnemonic string, count int) (*Development, error) {
	if count < 1 || count > maxDevelopmentNames {
		return nil, fmt.Errorf("a development chain must have 1 to %d accounts, not %d", maxDevelopmentNames, count)
	}
	seed, err := wallet.SeedFromMnemonic(mnemonic, "")
	if err != nil {
		return nil, err
	}
	d := &Development{Accounts: make([]crypto.PrivateKey, count)}
	coin := types.Regtest.CoinType()
	for i := range d.Accounts {
		if d.Accounts[i], err = wallet.DeriveBIP86(seed, coin, 0, 0, uint32(i)); err != nil {
			return nil, err
		}
	}
	if d.Treasury, err = wallet.DeriveBIP86(seed, coin, 0, 1, 0); err != nil {
		return nil, err
	}
	d.Producer, err = wallet.DeriveBIP86(seed, coin, 0, 1, 1)
	return d, err
}

// DevelopmentKeys returns the accounts with publicly known keys: the first twenty that wallets derive from the public
// mnemonic, with either coin type, and the other accounts of a development chain.
func DevelopmentKeys() (map[types.Account]bool, error) {
	const count = 20
	known := make(map[types.Account]bool)
	d, err := NewDevelopment(api.DevelopmentMnemonic, count)
	if err != nil {
		return nil, err
	}
	for _, key := range append(d.Accounts, d.Treasury, d.Producer) {
		known[key.PublicKey()] = true
	}
	seed, err := wallet.SeedFromMnemonic(api.DevelopmentMnemonic, "")
	if err != nil {
		return nil, err
	}
	for i := range uint32(count) {
		key, err := wallet.DeriveBIP86(seed, types.Mainnet.CoinType(), 0, 0, i)
		if err != nil {
			return nil, err
		}
		known[key.PublicKey()] = true
	}
	return known, nil
}

// Genesis returns the development chain's genesis at a time in milliseconds. The producer is the admin, and an upgrade
// needs no notice.
func (d *Development) Genesis(time uint64) types.Genesis {
	g := types.Genesis{
		ChainID: api.DevelopmentChainID, Network: types.Regtest, Time: time, BaseFee: params.DefaultMinBaseFee,
		Parameters: params.Default(d.Producer.PublicKey()),
	}
	g.Parameters.Notice = 0
	for _, key := range d.Accounts {
		g.Allocations = append(g.Allocations, types.Allocation{Account: key.PublicKey(), Balance: developmentBalance})
	}
	g.Allocations = append(g.Allocations,
		types.Allocation{Account: d.Treasury.PublicKey(), Balance: treasuryBalance},
		types.Allocation{Account: d.Producer.PublicKey(), Balance: producerBalance})
	sortAllocations(g.Allocations)
	return g
}

func sortAllocations(allocations []types.Allocation) {
	slices.SortFunc(allocations, func(a, b types.Allocation) int { return bytes.Compare(a.Account[:], b.Account[:]) })
}
