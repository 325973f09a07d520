// Package provenchain makes a short chain with proofs, whose blocks cover every kind of content, for tests of
// verifiers.
package provenchain

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

const chainID = 7

// Block is a proven block.
type Block struct {
	Name   string // special property
	Bundle blockproof.Bundle
}

// maker is a chain under construction.
type maker struct {
	tb     testing.TB
	ledger *ledger.Ledger
	prover *proving.Prover
	nonces map[types.Account]uint64
	made   proving.SpanTask // of all blocks
}

// transaction is a transaction of one of the chain's keys.
type transaction struct {
	from    crypto.PrivateKey
	target  types.Account
	value   types.Amount
	payload types.Payload
	payer   *crypto.PrivateKey // nil: none
	by      *types.Policy      // of which policyKey is the signer; nil: the sender signs
}

// Make returns the blocks of a chain, each with a proof of the given security in bits. They contain transfers, a
// deploy, calls of a token, a change of the parameters, a policy, a payer, inserts and deletes; one has no transactions.
func Make(tb testing.TB, bits int) []Block {
	tb.Helper()
	blocks, _ := mixed(tb, bits)
	return blocks
}

// Range returns the blocks of [Make] as one range.
func Range(tb testing.TB, bits int) blockproof.Range {
	tb.Helper()
	_, m := mixed(tb, bits)
	return m.together()
}

func mixed(tb testing.TB, bits int) ([]Block, *maker) {
	tb.Helper()
	producer, alice, bob := Producer(tb), testchain.Key("alice"), testchain.Key("bob")
	parameters := params.Default(producer.PublicKey())
	m := newMaker(tb, &types.Genesis{
		ChainID:    chainID,
		Network:    types.Regtest,
		Time:       1_000,
		BaseFee:    10,
		Parameters: parameters,
		Allocations: []types.Allocation{
			{Account: producer.PublicKey(), Balance: 1_000_000 * types.CoinUnits},
			{Account: alice.PublicKey(), Balance: 1_000_000 * types.CoinUnits},
		},
	}, bits)
	transfer := func(from crypto.PrivateKey, to types.Account, amount types.Amount) transaction {
		return transaction{from: from, target: to, value: amount, payload: types.Transfer{}}
	}
	var blocks []Block
	add := func(name string, txs ...transaction) []types.Receipt {
		tb.Helper()
		bundle, receipts := m.block(txs)
		blocks = append(blocks, Block{name, bundle})
		return receipts
	}
	inserts := []transaction{transfer(alice, bob.PublicKey(), 100*types.CoinUnits)}
	for i := range 6 {
		inserts = append(inserts, transfer(alice, types.Account{1, byte(i)}, 5))
	}
	add("transfers that insert accounts", inserts...)
	add("no transactions")
	deployed := add("a deploy", transaction{from: alice, payload: types.Deploy{
		Name: "token", Code: contracts.Token(),
		InitArgs: []byte(`{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`),
	}})
	if deployed[0].Contract == nil {
		tb.Fatalf("the deploy failed: %+v", deployed)
	}
	token := func(from crypto.PrivateKey, to types.Account, amount int) transaction {
		args := fmt.Appendf(nil, `{"to":"%s","amount":%d}`, to, amount)
		return transaction{
			from: from, target: types.Account(*deployed[0].Contract), payload: types.Call{Function: "transfer", Args: args},
		}
	}
	add(
		"calls of a token", token(alice, bob.PublicKey(), 300), token(bob, types.Account{9}, 7),
		token(bob, alice.PublicKey(), 1_000_000),
	)
	parameters.MinBaseFee++
	add("a change of parameters", transaction{from: producer, payload: types.Configure{Parameters: parameters}})
	add("calls that delete", token(alice, bob.PublicKey(), 700), transfer(bob, alice.PublicKey(), 3))
	add(
		"of everything", transfer(alice, types.Account{2}, 1), token(bob, alice.PublicKey(), 993),
		transfer(bob, bob.PublicKey(), 1),
	)
	policy := onlySigner(policyKey(tb))
	sponsored := transfer(bob, types.Account{3}, 2)
	sponsored.payer = &producer
	add("a policy, a payer and a batch",
		transaction{from: alice, payload: types.SetPolicy{Policy: &policy}},
		transaction{from: bob, payload: types.Batch{Steps: []types.Step{
			{Target: types.Account{4}, Value: 1, Action: types.Transfer{Memo: &[32]byte{1}}},
			{Target: alice.PublicKey(), Value: 2, Action: types.Transfer{}},
		}}},
		sponsored,
	)
	recovery := transaction{from: alice, payload: types.SetPolicy{Recovery: true}, payer: &bob, by: &policy}
	payment := transfer(alice, types.Account{5}, 1)
	payment.by = &policy
	add("a policy's payment and its recovery", payment, recovery)
	return blocks, m
}

// onlySigner returns a policy by which a key alone may spend, and recover in a second.
func onlySigner(key crypto.PrivateKey) types.Policy {
	rule := types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: key.PublicKey()}}}
	return types.Policy{Owner: rule, Recovery: &types.Recovery{Rule: rule, Delay: 1000}}
}

func policyKey(tb testing.TB) crypto.PrivateKey {
	tb.Helper()
	return testchain.Key("policy")
}

// together proves all blocks as one range.
func (m *maker) together() blockproof.Range {
	m.tb.Helper()
	r := blockproof.Range{Headers: m.made.Headers, Accesses: must(blockproof.UnionAccesses(m.made.Lists))(m.tb)}
	var err error
	if r.Proof, _, err = m.made.ProveWith(m.prover); err != nil {
		m.tb.Fatal(err)
	}
	return r
}

// Transfers returns the bundle of a block with n transfers to distinct accounts of a state, and a proof of the given
// security in bits.
func Transfers(tb testing.TB, accounts, n, bits int) blockproof.Bundle {
	tb.Helper()
	bundles, _ := TransferBlocks(tb, accounts, 1, n, bits)
	return bundles[0]
}

// TransferBlocks returns the bundles of consecutive blocks, and a function that proves them as one range. Each block
// has n transfers to distinct accounts of a state. Keys and balances compress no better than those of real accounts:
// balances are 1 to 65,536 coins, and transfers at most 42.
func TransferBlocks(
	tb testing.TB, accounts, blocks, n, bits int,
) (bundles []blockproof.Bundle, together func() blockproof.Range) {
	tb.Helper()
	alice := testchain.Key("alice")
	genesis := &types.Genesis{
		ChainID:     chainID,
		Network:     types.Regtest,
		Time:        1_000,
		BaseFee:     10,
		Parameters:  params.Default(Producer(tb).PublicKey()),
		Allocations: []types.Allocation{{Account: alice.PublicKey(), Balance: 1_000_000 * types.CoinUnits}},
	}
	for i := range accounts {
		genesis.Allocations = append(genesis.Allocations, types.Allocation{Account: numbered(i), Balance: balance(i)})
	}
	slices.SortFunc(genesis.Allocations, func(a, b types.Allocation) int {
		return bytes.Compare(a.Account[:], b.Account[:])
	})
	m := newMaker(tb, genesis, bits)
	for b := range blocks {
		txs := make([]transaction, n)
		for i := range txs {
			to := numbered((b*n + i) % accounts)
			amount := 1 + types.Amount(binary.LittleEndian.Uint32(to[4:]))
			txs[i] = transaction{from: alice, target: to, value: amount, payload: types.Transfer{}}
		}
		bundle, _ := m.block(txs)
		bundles = append(bundles, bundle)
	}
	return bundles, m.together
}

// numbered returns an account for which nobody has the key.
func numbered(i int) types.Account {
	return sha256.Sum256(binary.BigEndian.AppendUint32(nil, uint32(i)))
}

// balance returns the initial balance of a numbered account: 1 to 65,536 coins, with uniform order of magnitude.
func balance(i int) types.Amount {
	a := numbered(i)
	least := types.Amount(types.CoinUnits) << (a[0] % 16)
	return least + types.Amount(binary.LittleEndian.Uint64(a[8:]))%least
}

// Producer returns the key of the chain's producer.
func Producer(tb testing.TB) crypto.PrivateKey {
	tb.Helper()
	return testchain.Key("producer")
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return value
	}
}

func newMaker(tb testing.TB, g *types.Genesis, bits int) *maker {
	tb.Helper()
	engine := must(wasm.New(wasm.Options{}))(tb)
	tb.Cleanup(func() {
		if err := engine.Close(); err != nil {
			tb.Error(err)
		}
	})
	store := testchain.Store(tb, chain.Options{WitnessBytes: 64 << 20})
	return &maker{
		tb: tb, ledger: must(ledger.Open(store, g, nil, engine))(tb), prover: must(proving.NewProver(bits, parallel.Run))(tb),
		nonces: map[types.Account]uint64{},
	}
}

// block makes a block of the transactions, all of which it must include, and proves it.
func (m *maker) block(txs []transaction) (blockproof.Bundle, []types.Receipt) {
	m.tb.Helper()
	signed := make([]types.SignedTransaction, len(txs))
	for i, tx := range txs {
		signed[i] = m.sign(tx)
	}
	parent := m.ledger.Tip().Header
	built := must(m.ledger.Build(ledger.Batch{
		Time: parent.Header.Timestamp + 1, Transactions: testchain.Verified(signed...),
	}, testchain.Seal(Producer(m.tb))))(m.tb)
	if len(built.Included) != len(txs) {
		m.tb.Fatalf("%d of %d transactions are included", len(built.Included), len(txs))
	}
	store, height := m.ledger.Store(), built.Header.Header.Height
	witness := must(tree.DecodeWitness(must(store.Witness(height))(m.tb)))(m.tb)
	task := proving.Task{Parent: parent, Header: built.Header, Accesses: built.Accesses, Witness: witness}
	proof := must(m.prover.Prove(&task))(m.tb)
	bundle := blockproof.Bundle{Parent: parent, Header: built.Header, Accesses: built.Accesses, Proof: proof}
	if made := &m.made; len(made.Headers) == 0 {
		made.Headers = append(made.Headers, parent)
	}
	m.made.Headers = append(m.made.Headers, built.Header)
	m.made.Lists = append(m.made.Lists, built.Accesses)
	m.made.Witnesses = append(m.made.Witnesses, witness)
	return bundle, must(store.Receipts(height))(m.tb)
}

// sign makes a transaction with the sender's next nonce and its witnesses.
func (m *maker) sign(tx transaction) types.SignedTransaction {
	m.tb.Helper()
	sender := types.Account(tx.from.PublicKey())
	unsigned := types.Transaction{
		ChainID:              chainID,
		Sender:               sender,
		Target:               tx.target,
		Nonce:                m.nonces[sender],
		GasLimit:             gasLimit(tx.payload),
		MaxFeePerGas:         1_000,
		MaxPriorityFeePerGas: 1,
		Value:                tx.value,
		Payload:              tx.payload,
	}
	m.nonces[sender]++
	if tx.payer != nil {
		unsigned.Payer = new(types.Account(tx.payer.PublicKey()))
	}
	by := tx.from
	if tx.by != nil {
		by = policyKey(m.tb)
	}
	signed := must(types.Sign(unsigned, by, [32]byte{}))(m.tb)
	if tx.by != nil {
		signature := signed.Witness.(types.WitnessKey).Signature
		signed.Witness = types.WitnessPolicy{
			Policy: *tx.by, Proofs: []types.Proof{{Evidence: types.EvidenceKey{Signature: signature}}},
		}
	}
	if tx.payer != nil {
		hash := types.PayerHash(signed.ID())
		signed.PayerWitness = types.WitnessKey{Signature: must(tx.payer.Sign(hash[:], [32]byte{}))(m.tb)}
	}
	return signed
}

func gasLimit(p types.Payload) types.Gas {
	switch p.Kind() {
	case types.KindDeploy:
		return 250_000_000
	case types.KindTransfer:
		return 200_000
	default:
		return 2_000_000
	}
}
