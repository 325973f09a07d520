package testkit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

// contractChain is a ledger with the real engine, on a store in memory.
type contractChain struct {
	t        testing.TB
	engine   *wasm.Engine
	ledger   *ledger.Ledger
	user     crypto.PrivateKey
	producer crypto.PrivateKey
	nonce    uint64
}

func newContractChain(t testing.TB, opts wasm.Options) *contractChain {
	t.Helper()
	engine, err := wasm.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &contractChain{t: t, engine: engine, user: testchain.Key("user"), producer: testchain.Key("producer")}
	g := testchain.Genesis(c.producer, 1_000_000_000*types.CoinUnits, c.user)
	g.ChainID, g.Time = chainID, 1_700_000_000_000
	c.ledger = testchain.Open(t, g, engine, chain.Options{})
	return c
}

// batch is the transactions of a block, in order.
type batch struct {
	txs     []*types.VerifiedTx
	skipped int
}

func (b *batch) Next() *types.VerifiedTx {
	if len(b.txs) == 0 {
		return nil
	}
	tx := b.txs[0]
	b.txs = b.txs[1:]
	return tx
}

func (b *batch) SkipSender() { b.skipped++ }

// action is the action of a user's transaction.
type action struct {
	target  types.Account
	value   types.Amount
	payload types.Payload
	gas     types.Gas
}

// calling returns a call of a contract.
func calling(id types.ContractID, function string, args []byte, value types.Amount, gas types.Gas) action {
	return action{types.Account(id), value, types.Call{Function: function, Args: args}, gas}
}

// builtBlock is a block with the results of its execution.
type builtBlock struct {
	ledger.Block
	receipts []types.Receipt
}

// sign makes transactions with the user's next nonces.
func (c *contractChain) sign(actions []action) []*types.VerifiedTx {
	c.t.Helper()
	signed := make([]types.SignedTransaction, len(actions))
	for i, a := range actions {
		tx, err := types.Sign(types.Transaction{
			Sender:       c.user.PublicKey(),
			Target:       a.target,
			ChainID:      chainID,
			Nonce:        c.nonce + uint64(i),
			GasLimit:     a.gas,
			MaxFeePerGas: 1_000_000,
			Value:        a.value,
			Payload:      a.payload,
		}, c.user, [32]byte{})
		if err != nil {
			c.t.Fatal(err)
		}
		signed[i] = tx
	}
	return types.VerifyWitnesses(types.Regtest, types.NewTxs(signed...))
}

// block builds a block of the user's transactions. All of them must fit and must be billed.
func (c *contractChain) block(actions ...action) builtBlock {
	c.t.Helper()
	transactions := &batch{txs: c.sign(actions)}
	c.nonce += uint64(len(actions))
	head := c.ledger.Tip().Header.Header
	before := c.balance()
	built, err := c.ledger.Build(ledger.Batch{Time: head.Timestamp + 1_000, Transactions: transactions},
		func(h types.BlockHash) (types.Signature, error) { return c.producer.Sign(h[:], [32]byte{}) })
	if err != nil {
		c.t.Fatal(err)
	}
	if len(built.Included) != len(actions) {
		c.t.Fatalf("%d of %d transactions are included", len(built.Included), len(actions))
	}
	block := builtBlock{Block: built}
	if block.receipts, err = c.ledger.Store().Receipts(built.Header.Header.Height); err != nil {
		c.t.Fatal(err)
	}
	c.checkBill(before, actions, block)
	return block
}

// checkBill checks that the user paid the base fee for all gas in the receipts, and the amounts that successful
// payloads moved.
func (c *contractChain) checkBill(before types.Amount, actions []action, b builtBlock) {
	c.t.Helper()
	var used types.Gas
	want := before
	for i, r := range b.receipts {
		used += r.GasUsed
		if r.GasUsed < 10_000 || r.GasUsed > actions[i].gas {
			c.t.Errorf("transaction %d used %d of %d gas", i, r.GasUsed, actions[i].gas)
		}
		if r.Status == types.StatusSuccess {
			want -= actions[i].value
		}
	}
	if header := b.Header.Header; header.GasUsed != used {
		c.t.Errorf("the header says %d gas, the receipts %d", header.GasUsed, used)
	}
	cost, err := used.Cost(b.Header.Header.BaseFee)
	if err != nil {
		c.t.Fatal(err)
	}
	if got := c.balance(); got != want-cost {
		c.t.Errorf("the user had %d, used %d gas for %d and has %d, want %d", before, used, cost, got, want-cost)
	}
}

func (c *contractChain) balance() types.Amount {
	c.t.Helper()
	view, err := c.ledger.Store().StateAt(c.ledger.Tip().Header.Header.Height)
	if err != nil {
		c.t.Fatal(err)
	}
	sender, err := exec.ReadAccount(view, c.user.PublicKey())
	if err := errors.Join(err, view.Close()); err != nil {
		c.t.Fatal(err)
	}
	return sender.Balance
}

// deploy deploys codes in one block and returns the contracts.
func (c *contractChain) deploy(amount types.Amount, codes ...[]byte) []types.ContractID {
	c.t.Helper()
	actions := make([]action, len(codes))
	for i, code := range codes {
		actions[i] = action{
			value: amount, payload: types.Deploy{Name: fmt.Sprint("contract ", i), Code: code},
			gas: 300_000_000 / types.Gas(len(codes)),
		}
	}
	var ids []types.ContractID
	for i, r := range c.block(actions...).receipts {
		if r.Contract == nil {
			c.t.Fatalf("contract %d is not deployed: got %+v", i, r)
		}
		ids = append(ids, *r.Contract)
	}
	return ids
}

// simulate executes a call on the head's state and discards its writes.
func (c *contractChain) simulate(call action, view bool) (exec.Outcome, error) {
	tip := c.ledger.Tip()
	template, err := exec.HeaderTemplate(tip.Header.Header, tip.Parameters, tip.Header.Header.Timestamp+1_000)
	if err != nil {
		return exec.Outcome{}, err
	}
	state, err := c.ledger.Store().StateAt(tip.Header.Header.Height)
	if err != nil {
		return exec.Outcome{}, err
	}
	var b bill
	tx := types.SignedTransaction{Transaction: types.Transaction{
		Sender: c.user.PublicKey(), Target: call.target, ChainID: chainID, GasLimit: call.gas, Value: call.value,
		Payload: call.payload,
	}}
	outcome, err := exec.Call(tip.Parameters, state, template, tx, exec.Simulation{
		Machine: c.ledger.Machine(), Network: types.Regtest, View: view, Tracer: &b,
	})
	if err == nil {
		err = b.check(outcome.GasUsed)
	}
	return outcome, errors.Join(err, state.Close())
}

// numbers are the arguments of a forged host call, of 8 bytes each.
func numbers(values ...uint64) (b []byte) {
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

func both(a, b types.ContractID) []byte { return slices.Concat(a[:], b[:]) }
