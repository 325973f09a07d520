// Package testchain opens a chain in memory and makes its blocks, for tests of packages that use the ledger.
package testchain

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// ID is the chain id.
const ID = 7

// T is the part of testing.TB that rapid.T has too.
type T interface {
	Helper()
	Fatal(...any)
	Cleanup(func())
}

func must(t T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Key returns the private key of a name.
func Key(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return key
}

// Genesis returns a genesis on regtest that gives each of the funded keys a balance.
func Genesis(producer crypto.PrivateKey, balance types.Amount, funded ...crypto.PrivateKey) types.Genesis {
	g := types.Genesis{
		ChainID: ID, Network: types.Regtest, Time: 1_000, BaseFee: 10, Parameters: params.Default(producer.PublicKey()),
	}
	for _, key := range funded {
		g.Allocations = append(g.Allocations, types.Allocation{Account: key.PublicKey(), Balance: balance})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	return g
}

// Store opens an empty store in memory, until the test ends. The schedule of the options is the protocol's.
func Store(t T, options chain.Options) *chain.Store {
	t.Helper()
	db, err := kv.Open("db", kv.Options{FS: kv.Memory(), MemTableBytes: 1 << 20, CacheBytes: 1 << 20})
	must(t, err)
	options.Schedule = params.Prices.Digest()
	store, err := chain.Open(db, options)
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(store.Close(), db.Close())) })
	return store
}

// Open opens a ledger on an empty store in memory. Without an engine it executes transfers only.
func Open(t T, genesis types.Genesis, engine vm.Engine, options chain.Options) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(Store(t, options), &genesis, nil, engine)
	must(t, err)
	return l
}

// List holds the transactions of a block, in order.
type List []*types.VerifiedTx

// Verified returns a list of transactions whose witnesses must be valid.
func Verified(signed ...types.SignedTransaction) *List {
	return new(List(types.VerifyWitnesses(types.Regtest, types.NewTxs(signed...))))
}

// Next implements [ledger.Transactions].
func (l *List) Next() (tx *types.VerifiedTx) {
	if len(*l) > 0 {
		tx, *l = (*l)[0], (*l)[1:]
	}
	return tx
}

// SkipSender implements [ledger.Transactions].
func (*List) SkipSender() {}

// Seal returns a seal by a key.
func Seal(key crypto.PrivateKey) ledger.Seal {
	return func(hash types.BlockHash) (types.Signature, error) { return key.Sign(hash[:], [32]byte{}) }
}

// Chain is a ledger whose blocks pay from one sender to new accounts.
type Chain struct {
	*ledger.Ledger
	Producer, Sender crypto.PrivateKey
	Nonce            uint64 // the sender's
}

// New returns a chain at its genesis.
func New(t T, options chain.Options) *Chain {
	t.Helper()
	c := &Chain{Producer: Key("producer"), Sender: Key("sender")}
	c.Ledger = Open(t, Genesis(c.Producer, 1_000*types.CoinUnits, c.Sender), nil, options)
	return c
}

// Extend makes a block of transfers, each to a different account.
func (c *Chain) Extend(t T, transfers int) {
	t.Helper()
	signed := make([]types.SignedTransaction, transfers)
	for i := range signed {
		var err error
		signed[i], err = types.Sign(types.Transaction{
			ChainID:              ID,
			Sender:               c.Sender.PublicKey(),
			Target:               types.Account{1, byte(c.Nonce), byte(c.Nonce >> 8)},
			Nonce:                c.Nonce,
			GasLimit:             110_000,
			MaxFeePerGas:         100,
			MaxPriorityFeePerGas: 1,
			Value:                7,
			Payload:              types.Transfer{},
		}, c.Sender, [32]byte{})
		must(t, err)
		c.Nonce++
	}
	batch := ledger.Batch{Time: c.Tip().Header.Header.Timestamp + 1, Transactions: Verified(signed...)}
	_, err := c.Build(batch, Seal(c.Producer))
	must(t, err)
}
