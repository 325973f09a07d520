package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

const (
	chainID     = 4243
	people      = 500
	tokenSupply = 1_000_000_000_000
	maxFee      = 1_000
)

// point is a value that holds from a height on, until the next point.
type point struct {
	height types.Height
	value  uint64
}

// series is a value as a function of height, ascending.
type series []point

func (s *series) set(h types.Height, value uint64) {
	if last := len(*s) - 1; last >= 0 && (*s)[last].height == h {
		(*s)[last].value = value
		return
	}
	*s = append(*s, point{h, value})
}

func (s series) last() uint64 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].value
}

// at returns the value after a block.
func (s series) at(h types.Height) uint64 {
	i, found := slices.BinarySearchFunc(s, h, func(p point, h types.Height) int { return int(p.height) - int(h) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return s[i].value
}

// history is a chain with a model that keeps every state, derived by hand from the blocks' transactions.
type history struct {
	dir                      string
	producer                 crypto.PrivateKey
	keys                     []crypto.PrivateKey
	token                    types.ContractID
	head                     types.Height
	balances, nonces, tokens map[types.Account]*series
}

func of(m map[types.Account]*series, a types.Account) *series {
	s := m[a]
	if s == nil {
		s = new(series)
		m[a] = s
	}
	return s
}

func newHistory(dir string) (*history, error) {
	h := &history{
		dir:      dir,
		balances: map[types.Account]*series{},
		nonces:   map[types.Account]*series{},
		tokens:   map[types.Account]*series{},
	}
	var allocations []types.Allocation
	for i := range people + 1 {
		key, err := crypto.NewPrivateKey(sha256.Sum256(fmt.Appendf(nil, "history %d", i)))
		if err != nil {
			return nil, err
		}
		allocations = append(allocations, types.Allocation{Account: key.PublicKey(), Balance: 1_000_000 * types.CoinUnits})
		h.keys = append(h.keys, key)
	}
	h.producer, h.keys = h.keys[people], h.keys[:people]
	for _, a := range allocations {
		of(h.balances, a.Account).set(0, uint64(a.Balance))
	}
	_, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: chainID, Time: 1_700_000_000_000, Key: h.producer, Admin: h.producer, Allocations: allocations,
	})
	return h, err
}

// make makes the blocks, the first of which deploys the token. It calls progress after each.
func (h *history) make(blocks, perBlock int, token string, progress func(done int)) (err error) {
	code, err := os.ReadFile(token)
	if err != nil {
		return err
	}
	db, err := kv.Open(filepath.Join(h.dir, "db"), kv.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Archive: true, Schedule: params.Prices.Digest()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	genesis, err := datadir.ReadGenesis(filepath.Join(h.dir, datadir.GenesisFile), h.dir, nil)
	if err != nil {
		return err
	}
	l, err := ledger.Open(store, &genesis, nil, engine)
	if err != nil {
		return err
	}
	owner := h.keys[0]
	h.token = types.NewContractID(types.Account(owner.PublicKey()), 0)
	deploy := types.Transaction{Payload: types.Deploy{
		Name:     "token",
		Code:     code,
		InitArgs: fmt.Appendf(nil, `{"name":"T","symbol":"T","decimals":0,"initialSupply":%d}`, tokenSupply),
	}}
	if err := h.block(l, []step{h.step(owner, 60_000_000, deploy, func(at types.Height) {
		of(h.tokens, types.Account(owner.PublicKey())).set(at, tokenSupply)
	})}); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := 1; i < blocks; i++ {
		var steps []step
		for j := range perBlock {
			steps = append(steps, h.random(r, j))
		}
		if err := h.block(l, steps); err != nil {
			return err
		}
		progress(i)
	}
	return nil
}

// step is a transaction with its effect on the model if it succeeds.
type step struct {
	from  types.Account
	tx    types.SignedTransaction
	err   error
	apply func(at types.Height)
}

// step signs a transaction with the sender's next nonce.
func (h *history) step(from crypto.PrivateKey, gas types.Gas, tx types.Transaction, apply func(types.Height)) step {
	account := types.Account(from.PublicKey())
	nonce := of(h.nonces, account)
	tx.ChainID, tx.Sender, tx.Nonce, tx.GasLimit = chainID, account, nonce.last(), gas
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = maxFee, 2
	signed, err := types.Sign(tx, from, [32]byte{})
	nonce.set(h.head+1, nonce.last()+1)
	return step{account, signed, err, apply}
}

// random returns a transfer, alternately of coins and of the token.
func (h *history) random(r *rand.Rand, j int) step {
	from, to := h.keys[r.IntN(people)], types.Account(h.keys[r.IntN(people)].PublicKey())
	sender, amount := types.Account(from.PublicKey()), 1+r.Uint64N(1000)
	if j%2 == 0 {
		pays := types.Transaction{Target: to, Value: types.Amount(amount), Payload: types.Transfer{}}
		return h.step(from, 50_000, pays, func(at types.Height) {
			of(h.balances, sender).set(at, of(h.balances, sender).last()-amount)
			of(h.balances, to).set(at, of(h.balances, to).last()+amount)
		})
	}
	if of(h.tokens, sender).last() < 10*amount { // use an account that has enough
		from = h.keys[0]
		sender, amount = types.Account(from.PublicKey()), 100_000
	}
	args := fmt.Appendf(nil, `{"to":%q,"amount":%d}`, to, amount)
	call := types.Transaction{
		Target: types.Account(h.token), Payload: types.Call{Function: "transfer", Args: args},
	}
	return h.step(from, 2_000_000, call, func(at types.Height) {
		of(h.tokens, sender).set(at, of(h.tokens, sender).last()-amount)
		of(h.tokens, to).set(at, of(h.tokens, to).last()+amount)
	})
}

// block makes a block and applies it to the model.
func (h *history) block(l *ledger.Ledger, steps []step) error {
	txs := make([]types.SignedTransaction, len(steps))
	for i, s := range steps {
		if s.err != nil {
			return s.err
		}
		txs[i] = s.tx
	}
	made, err := l.Build(ledger.Batch{
		Time: 1_700_000_000_000 + 1000*uint64(h.head), Transactions: &list{types.VerifyWitnesses(types.Regtest, types.NewTxs(txs...))},
	},
		func(hash types.BlockHash) (types.Signature, error) { return h.producer.Sign(hash[:], [32]byte{}) })
	if err != nil {
		return err
	}
	header := made.Header.Header
	h.head = header.Height
	receipts, err := l.Store().Receipts(h.head)
	if err != nil {
		return err
	}
	if len(receipts) != len(steps) {
		return fmt.Errorf("block %d has %d of %d transactions", h.head, len(receipts), len(steps))
	}
	producer := types.Account(h.producer.PublicKey())
	for i, s := range steps {
		if receipts[i].Status != types.StatusSuccess {
			return fmt.Errorf("transaction %d of block %d failed", i, h.head)
		}
		s.apply(h.head)
		used, tip := uint64(receipts[i].GasUsed), uint64(min(s.tx.MaxPriorityFeePerGas, s.tx.MaxFeePerGas-header.BaseFee))
		of(h.balances, s.from).set(h.head, of(h.balances, s.from).last()-used*(uint64(header.BaseFee)+tip))
		of(h.balances, producer).set(h.head, of(h.balances, producer).last()+used*tip)
	}
	return nil
}

// list is a batch in a given order.
type list struct{ txs []*types.VerifiedTx }

func (l *list) Next() *types.VerifiedTx {
	if len(l.txs) == 0 {
		return nil
	}
	tx := l.txs[0]
	l.txs = l.txs[1:]
	return tx
}

func (*list) SkipSender() {}
