package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

const (
	chainID       = 4242
	databaseDir   = "db" // name of the database directory in a data directory
	senders       = 10_000
	senderBalance = 100_000 * types.CoinUnits
	newAccounts   = 200_000 // new accounts per block
)

// account returns the i-th account created by the measurements.
func account(i int) (a types.Account) {
	return sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("account"), uint64(i)))
}

// account returns the i-th account of the state.
func (g *grown) account(i int) types.Account {
	if i < senders {
		return g.keys[i].PublicKey()
	}
	return account(i)
}

// grown is a chain on disk with a state of a chosen size. Its store is closed and reopened for each measurement.
type grown struct {
	dir      string
	producer crypto.PrivateKey
	keys     []crypto.PrivateKey // of the senders
	accounts int                 // number of accounts in the state, beginning with the senders
}

// newGrown opens the network in a directory, creating it with funded senders if necessary.
func newGrown(dir string) (*grown, error) {
	g := &grown{dir: dir, accounts: senders}
	var allocations []types.Allocation
	for i := range senders + 1 {
		key, err := crypto.NewPrivateKey(sha256.Sum256(fmt.Appendf(nil, "growth %d", i)))
		if err != nil {
			return nil, err
		}
		if i == senders {
			g.producer = key
			break
		}
		g.keys = append(g.keys, key)
		allocations = append(allocations, types.Allocation{Account: key.PublicKey(), Balance: senderBalance})
	}
	if _, err := os.Stat(filepath.Join(dir, datadir.GenesisFile)); err == nil {
		return g, nil
	}
	_, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: chainID, Time: uint64(time.Now().UnixMilli()), Key: g.producer, Admin: g.producer,
		Allocations: allocations,
	})
	return g, err
}

// opened is an open chain store, with the means to append to it.
type opened struct {
	db    *kv.DB
	store *chain.Store
}

func (g *grown) open() (*opened, error) {
	db, err := kv.Open(filepath.Join(g.dir, databaseDir), kv.Options{})
	if err != nil {
		return nil, err
	}
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &opened{db, store}, nil
}

func (o *opened) close() error { return errors.Join(o.store.Close(), o.db.Close()) }

// ledger opens the ledger of the store with all its state in memory, and makes the genesis block if the store is empty.
// Without an engine it can only make blocks of transfers.
func (g *grown) ledger(o *opened, engine vm.Engine) (*ledger.Ledger, error) {
	l, err := g.started(o, engine)
	if err == nil {
		err = l.Load(context.Background())
	}
	return l, err
}

// started opens the ledger as a node does before it answers.
func (g *grown) started(o *opened, engine vm.Engine) (*ledger.Ledger, error) {
	genesis, err := datadir.ReadGenesis(filepath.Join(g.dir, datadir.GenesisFile), g.dir, nil)
	if err != nil {
		return nil, err
	}
	return ledger.Open(o.store, &genesis, nil, engine)
}

// grow adds accounts until the state has size leaves. No transactions could add so many, so the blocks bypass the
// execution: only their state and tree are valid.
func (g *grown) grow(o *opened, t *tree.Tree, size int) error {
	for t.Len() < size {
		accesses := make([]types.Access, min(newAccounts, size-t.Len()))
		for i := range accesses {
			record := state.Account{Balance: 1 + types.Amount(g.accounts)}
			account := g.account(g.accounts)
			accesses[i] = types.Access{Key: state.AccountKey(account), New: record.Encode(account)}
			g.accounts++
		}
		sortByKey(accesses)
		if _, err := o.appendWrites(t, accesses); err != nil {
			return err
		}
	}
	return nil
}

// phases holds the durations of the phases of a block of writes.
type phases struct {
	root   time.Duration // from sorted writes to the state root
	store  time.Duration // until the block is on disk
	commit time.Duration // until the tree in memory is updated
}

func (p phases) all() time.Duration { return p.root + p.store + p.commit }

// appendWrites appends a block of writes, which must be sorted by key.
func (o *opened) appendWrites(t *tree.Tree, accesses []types.Access) (phases, error) {
	return o.append(t, exec.Result{Accesses: accesses})
}

// append appends a block of a result without header.
func (o *opened) append(t *tree.Tree, result exec.Result) (took phases, err error) {
	begun := time.Now()
	change, err := t.Prepare(result.Accesses, parallel.Run)
	if err != nil {
		return took, err
	}
	header := o.store.Head().Header
	header.Parent, header.Height, header.Timestamp = o.store.HeadHash(), header.Height+1, header.Timestamp+1
	header.StateRoot, header.GasUsed = change.Root(), 0
	for _, r := range result.Receipts {
		header.GasUsed += r.GasUsed
	}
	result.Header = header
	e := chain.Entry{Result: result, Leaves: change.Leaves()}
	rooted := time.Now()
	if err := o.store.Append(e); err != nil {
		return took, err
	}
	stored := time.Now()
	t.Commit(change, parallel.Run)
	return phases{rooted.Sub(begun), stored.Sub(rooted), time.Since(stored)}, nil
}

func sortByKey(accesses []types.Access) {
	slices.SortFunc(accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
}

// updates returns writes to count distinct accounts, sorted by key.
func (g *grown) updates(o *opened, r *rand.Rand, count int) ([]types.Access, error) {
	view, err := o.store.StateAt(o.store.Head().Header.Height)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	chosen := map[int]bool{}
	var accesses []types.Access
	for len(accesses) < min(count, g.accounts) {
		i := r.IntN(g.accounts)
		if chosen[i] {
			continue
		}
		chosen[i] = true
		account := g.account(i)
		key := state.AccountKey(account)
		old, err := view.Get(key)
		if err != nil {
			return nil, err
		}
		record, err := state.DecodeAccount(account, old)
		if err != nil {
			return nil, err
		}
		record.Balance = senderBalance + types.Amount(r.Uint64N(1<<40))
		accesses = append(accesses, types.Access{Key: key, Old: old, New: record.Encode(account)})
	}
	sortByKey(accesses)
	return accesses, nil
}

// transfers returns transfers signed by the senders in turn, from their next nonces on, to random accounts.
func (g *grown) transfers(o *opened, r *rand.Rand, count int) (*batch, error) {
	view, err := o.store.StateAt(o.store.Head().Header.Height)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	txs := make([]types.SignedTransaction, count)
	nonces := make([]uint64, min(count, senders))
	for i := range nonces {
		value, err := view.Get(state.AccountKey(g.keys[i].PublicKey()))
		if err != nil {
			return nil, err
		}
		record, err := state.DecodeAccount(g.keys[i].PublicKey(), value)
		if err != nil {
			return nil, err
		}
		nonces[i] = record.Nonce
	}
	recipients := make([]types.Account, count)
	for i := range recipients {
		recipients[i] = g.account(r.IntN(g.accounts))
	}
	errs := make([]error, count)
	parallel.Run(count, func(i int) {
		key := g.keys[i%senders]
		txs[i], errs[i] = types.Sign(types.Transaction{
			ChainID:              chainID,
			Sender:               key.PublicKey(),
			Nonce:                nonces[i%senders] + uint64(i/senders),
			GasLimit:             params.Prices.IntrinsicTransfer + params.Prices.WitnessKey + params.Prices.NewAccount,
			MaxFeePerGas:         params.DefaultMaxBaseFee,
			MaxPriorityFeePerGas: 1,
			Target:               recipients[i], Value: 1, Payload: types.Transfer{},
		}, key, [32]byte{})
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	b := &batch{}
	for part := range slices.Chunk(txs, 512) {
		b.txs = append(b.txs, types.VerifyWitnesses(types.Regtest, types.NewTxs(part...))...)
	}
	return b, nil
}

// batch supplies transactions to the ledger in order.
type batch struct{ txs []*types.VerifiedTx }

// Next implements [ledger.Transactions].
func (b *batch) Next() *types.VerifiedTx {
	if len(b.txs) == 0 {
		return nil
	}
	tx := b.txs[0]
	b.txs = b.txs[1:]
	return tx
}

// SkipSender implements [ledger.Transactions]. An invalid transaction shows in the length of the block.
func (b *batch) SkipSender() {}

// build makes a block of transfers and returns the time that it took.
func (g *grown) build(l *ledger.Ledger, b *batch) (time.Duration, error) {
	count := len(b.txs)
	runtime.GC() // exclude garbage from signing
	start := time.Now()
	block, err := l.Build(ledger.Batch{Time: l.Tip().Header.Header.Timestamp + 1, Transactions: b},
		func(hash types.BlockHash) (types.Signature, error) { return g.producer.Sign(hash[:], [32]byte{}) })
	took := time.Since(start)
	if err == nil && len(block.Included) != count {
		err = fmt.Errorf("%d of %d transfers were included", len(block.Included), count)
	}
	return took, err
}
