package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// tester holds the methods that testing.T and rapid.T share.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
	Cleanup(func())
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func requireIs(t tester, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// testChain makes blocks whose state has everything that snapshots hold: accounts, contracts with shared codes,
// storage, token events, failed transactions. They fit together like a real chain's, but are not executed.
type testChain struct {
	t         tester
	r         *rand.Rand
	genesis   types.Genesis
	producer  crypto.PrivateKey
	sender    crypto.PrivateKey // owns all coins at first
	store     *chain.Store
	tree      *tree.Tree
	state     map[string][]byte
	nonce     uint64
	contracts []types.ContractID
}

func openStore(t tester) *chain.Store { return testchain.Store(t, chain.Options{}) }

func newTestChain(t tester, seed uint64) *testChain {
	t.Helper()
	c := &testChain{
		t:        t,
		r:        rand.New(rand.NewPCG(seed, 0)),
		producer: testchain.Key("producer"),
		sender:   testchain.Key("sender"),
		store:    openStore(t),
		tree:     new(tree.Tree),
		state:    make(map[string][]byte),
	}
	c.genesis = testchain.Genesis(c.producer, 1<<60, c.sender)
	result, err := exec.Genesis(c.genesis)
	must(t, err)
	change, err := c.tree.Prepare(result.Accesses, inOrder)
	must(t, err)
	result.Header.StateRoot = change.Root()
	c.tree.Commit(change, inOrder)
	must(t, c.store.Init(c.genesis, chain.Entry{Result: result, Leaves: change.Leaves()}))
	c.remember(result.Accesses)
	return c
}

func (c *testChain) Get(key []byte) ([]byte, error) { return c.state[string(key)], nil }

func (c *testChain) remember(accesses []types.Access) {
	for _, w := range types.Writes(accesses) {
		if len(w.New) == 0 {
			delete(c.state, string(w.Key))
		} else {
			c.state[string(w.Key)] = w.New
		}
	}
}

// blockOf determines the contents of a block.
type blockOf struct {
	accounts, contracts, storage int
	valueBytes                   int // maximum length of a storage value
}

// grow appends a block.
func (c *testChain) grow(of blockOf) {
	c.t.Helper()
	b := blockBuilder{testChain: c, overlay: state.NewOverlay(c), codes: make(map[types.CodeHash][]byte)}
	b.height = c.store.Head().Header.Height + 1
	for range of.accounts {
		b.pay()
	}
	for range of.contracts {
		b.deploy()
	}
	if len(c.contracts) > 0 {
		for range of.storage {
			b.write(of.valueBytes)
		}
		b.token()
	}
	c.seal(b)
}

// seal makes a block from the collected parts, and appends it.
func (c *testChain) seal(b blockBuilder) {
	before := c.store.Head()
	e := chain.Entry{Result: exec.Result{
		Transactions: types.NewTxs(b.txs...), Accesses: b.overlay.Accesses(), Receipts: b.receipts, Codes: b.codes,
	}}
	change, err := c.tree.Prepare(e.Accesses, inOrder)
	must(c.t, err)
	e.Leaves = change.Leaves()
	h := types.Header{
		Version:      params.Version,
		ChainID:      c.genesis.ChainID,
		Height:       b.height,
		Parent:       before.Header.Hash(),
		Timestamp:    before.Header.Timestamp + 1,
		Producer:     c.producer.PublicKey(),
		BaseFee:      10,
		GasLimit:     1 << 30,
		StateRoot:    change.Root(),
		ReceiptsRoot: lists.ReceiptsRoot(b.receipts),
	}
	for _, receipt := range b.receipts {
		reason := exec.Success
		if receipt.Status == types.StatusFailed {
			reason = exec.Reverted
		}
		e.Reasons = append(e.Reasons, reason)
		h.GasUsed += receipt.GasUsed
	}
	h.TransactionsRoot = lists.TransactionsRoot(e.Transactions)
	hash := h.Hash()
	signature, err := c.producer.Sign(hash[:], [32]byte{})
	must(c.t, err)
	e.Header, e.Seal = h, types.Seal{Signature: signature}
	must(c.t, c.store.Append(e))
	c.tree.Commit(change, inOrder)
	c.remember(e.Accesses)
}

type blockBuilder struct {
	*testChain
	overlay  *state.Overlay
	height   types.Height
	txs      []types.SignedTransaction
	receipts []types.Receipt
	codes    map[types.CodeHash][]byte
}

// include adds a transaction. Its only effects are those that the caller writes.
func (b *blockBuilder) include(target types.Account, payload types.Payload, receipt types.Receipt) {
	tx := types.SignedTransaction{Witness: b.witness(), Transaction: types.Transaction{
		Target:       target,
		ChainID:      b.genesis.ChainID,
		Sender:       b.sender.PublicKey(),
		Nonce:        b.nonce,
		GasLimit:     50_000,
		MaxFeePerGas: 10,
		Payload:      payload,
	}}
	b.nonce++
	receipt.GasUsed = 10_000
	b.txs, b.receipts = append(b.txs, tx), append(b.receipts, receipt)
}

// witness is the witness of a key or of a policy.
func (b *blockBuilder) witness() types.Witness {
	if b.r.IntN(2) == 0 {
		return types.WitnessKey{}
	}
	return types.WitnessPolicy{Policy: testPolicy(b.r.Uint64N(30))}
}

func testPolicy(number uint64) types.Policy {
	return types.Policy{Number: number, Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{}}}}
}

// policiesOf returns a store's policies in order.
func policiesOf(t tester, store *chain.Store) (policies []types.Policy) {
	t.Helper()
	st, err := store.StateAt(store.Head().Header.Height)
	must(t, err)
	must(t, st.Policies(func(p types.Policy) error { policies = append(policies, p); return nil }))
	must(t, st.Close())
	return policies
}

// pay pays coins of the sender to a new account. Some of these accounts have an authority, or a recovery that has
// begun.
func (b *blockBuilder) pay() {
	var to types.Account
	binary.LittleEndian.PutUint64(to[b.r.IntN(24):], b.r.Uint64())
	sender, err := b.overlay.Account(b.sender.PublicKey())
	must(b.t, err)
	record, err := b.overlay.Account(to)
	must(b.t, err)
	sender.Balance, record.Balance = sender.Balance-5, record.Balance+5
	sender.Nonce++
	switch b.r.IntN(4) {
	case 0:
		record.Nonce, record.Authority = 1, &types.Account{byte(b.r.Uint32()), 1}
	case 1:
		record.Nonce, record.Pending = 1, &state.Recovery{Next: types.Account{7}, From: b.r.Uint64()}
	}
	must(b.t, b.overlay.SetAccount(b.sender.PublicKey(), sender))
	must(b.t, b.overlay.SetAccount(to, record))
	status := types.ReceiptStatus(b.r.IntN(2))
	b.include(to, types.Transfer{}, types.Receipt{Status: status})
}

// deploy makes a contract with one of few codes.
func (b *blockBuilder) deploy() {
	code := fmt.Appendf(nil, "code %d", b.r.IntN(4))
	hash := types.CodeHash(sha256.Sum256(code))
	id := types.NewContractID(types.Account(b.sender.PublicKey()), b.nonce)
	record := state.Contract{CodeHash: hash, Deployer: b.sender.PublicKey(), Height: b.height, Name: "name"}
	must(b.t, b.overlay.Set(state.ContractKey(id), record.Encode()))
	b.codes[hash] = code
	b.include(types.Account{}, types.Deploy{Code: code}, types.Receipt{Status: types.StatusSuccess, Contract: &id})
	b.contracts = append(b.contracts, id)
}

// write sets or deletes an entry of a contract's storage.
func (b *blockBuilder) write(size int) {
	id := b.contracts[b.r.IntN(len(b.contracts))]
	key := make([]byte, b.r.IntN(40))
	for i := range key {
		key[i] = byte(b.r.Uint32())
	}
	value := make([]byte, b.r.IntN(size+1))
	for i := range value {
		value[i] = byte(b.r.Uint32())
	}
	must(b.t, b.overlay.Set(state.StorageKey(id, key), value))
}

// token transfers tokens of a contract.
func (b *blockBuilder) token() {
	var logs []types.Log
	for range 3 {
		amount := [32]byte{31: byte(1 + b.r.IntN(9))}
		from, to := [32]byte{byte(b.r.IntN(4))}, [32]byte{byte(b.r.IntN(4))}
		logs = append(logs, types.Log{Contract: b.contracts[0], Name: "Transfer", Topics: [][32]byte{from, to, amount}})
	}
	b.include(types.Account(b.contracts[0]), types.Call{Function: "transfer"},
		types.Receipt{Status: types.StatusSuccess, Logs: logs})
}

// requireState fails the test unless the store's head is the chain's and its state is the one given.
func requireState(t tester, store *chain.Store, want map[string][]byte) {
	t.Helper()
	st, err := store.HeadState()
	must(t, err)
	defer func() { must(t, st.Close()) }()
	got := make(map[string][]byte)
	must(t, st.Entries(func(e chain.StateEntry) error { got[string(e.Key)] = e.Value; return nil }))
	if !maps.EqualFunc(got, want, func(a, b []byte) bool { return slices.Equal(a, b) }) {
		t.Fatalf("the state has %d keys, want %d, or other values", len(got), len(want))
	}
}
