package exec

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestTransferPaysValueFeeBurnAndTip checks every balance to the unit.
func TestTransferPaysValueFeeBurnAndTip(t *testing.T) {
	c := newTestChain(t)
	supply := c.supply()
	a, b := c.state.account(t, account(alice)), c.state.account(t, account(bob))
	result := c.block(c.transfer(alice))
	if r := result.Receipts[0]; r.Status != types.StatusSuccess || r.GasUsed != 21_000 || len(r.Output)+len(r.Logs) != 0 {
		t.Errorf("receipt %+v", r)
	}
	const price = 10 + 3
	if got := c.state.account(t, account(alice)); got.Balance != a.Balance-5-21_000*price || got.Nonce != 1 {
		t.Errorf("sender has %+v", got)
	}
	if got := c.state.account(t, account(bob)).Balance; got != b.Balance+5 {
		t.Errorf("recipient has %d", got)
	}
	if got := c.state.account(t, collector).Balance; got != 21_000*3 {
		t.Errorf("fee recipient has %d", got)
	}
	burned, err := state.DecodeSupply(c.state[string(state.SupplyKey())])
	if err != nil || burned.Burned != 21_000*10 || c.supply() != supply {
		t.Errorf("burned %d, supply %d of %d, %v", burned.Burned, c.supply(), supply, err)
	}
}

func TestTransferCases(t *testing.T) {
	for _, tc := range []struct {
		name   string
		edit   func(*types.Transaction)
		status types.ReceiptStatus
		reason Reason
		used   types.Gas
	}{
		{"to an account", func(*types.Transaction) {}, types.StatusSuccess, Success, 21_000},
		{
			"makes an account", func(tx *types.Transaction) { tx.Payload = types.Transfer{To: fresh, Amount: 1} },
			types.StatusSuccess, Success, 46_000,
		},
		{
			"nothing makes no account", func(tx *types.Transaction) { tx.Payload = types.Transfer{To: fresh} },
			types.StatusSuccess, Success, 21_000,
		},
		{"no gas to make an account", func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Transfer{To: fresh, Amount: 1}, 45_999
		}, types.StatusFailed, OutOfGas, 45_999},
		{"just the gas to make an account", func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Transfer{To: fresh, Amount: 1}, 46_000
		}, types.StatusSuccess, Success, 46_000},
		{"to itself", func(tx *types.Transaction) {
			tx.Payload = types.Transfer{To: tx.Sender, Amount: 7}
		}, types.StatusSuccess, Success, 21_000},
		{"to a contract", func(tx *types.Transaction) {
			tx.Payload = types.Transfer{To: contractAccount, Amount: 7}
		}, types.StatusSuccess, Success, 21_000},
		{"to the zero account", func(tx *types.Transaction) {
			tx.Payload = types.Transfer{Amount: 7}
		}, types.StatusSuccess, Success, 46_000},
		{"deploy of what is no module", func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Deploy{Name: "n", Amount: 3}, 96_016
		}, types.StatusFailed, ModuleRefused, 96_016},
		{"deploy without the gas to make the account", func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Deploy{Name: "n", Amount: 3}, 96_015
		}, types.StatusFailed, OutOfGas, 96_015},
		{"call of no contract", func(tx *types.Transaction) {
			tx.Payload = types.Call{Function: "f", Amount: 3}
		}, types.StatusFailed, NoSuchContract, 32_016},
		{"call without the gas to look", func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Call{Function: "f"}, 32_015
		}, types.StatusFailed, OutOfGas, 32_015},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			supply, before := c.supply(), c.state.account(t, account(alice)).Balance
			tx := c.transfer(alice, tc.edit)
			result := c.block(tx)
			r := result.Receipts[0]
			if r.Status != tc.status || result.Reasons[0] != tc.reason || r.GasUsed != tc.used {
				t.Errorf("status %d, reason %q, used %d", r.Status, result.Reasons[0], r.GasUsed)
			}
			spent := 13 * types.Amount(tc.used)
			p, isTransfer := tx.Signed().Payload.(types.Transfer)
			if tc.status == types.StatusSuccess && isTransfer && p.To != account(alice) {
				spent += p.Amount
			}
			if after := c.state.account(t, account(alice)); after.Balance != before-spent || after.Nonce != 1 {
				t.Errorf("sender has %+v, want %d", after, before-spent)
			}
			if c.supply() != supply {
				t.Errorf("supply %d, was %d", c.supply(), supply)
			}
		})
	}
}

func TestConfigureIsJudgedByTheParentAndTheLastOneStands(t *testing.T) {
	c := newTestChain(t)
	next := c.params
	next.MinBaseFee, next.FeeRecipient = 20, account(bob)
	last := next
	last.Producer = bob.PublicKey()
	configure := func(nonce uint64, p types.Parameters) *types.VerifiedTx {
		return c.transfer(producer, func(tx *types.Transaction) {
			tx.Nonce, tx.Payload = nonce, types.Configure{Parameters: p}
		})
	}
	// The second is signed by the producer in force in the parent, though the first has handed production over.
	result := c.block(configure(0, last), configure(1, next), configure(2, last))
	if c.params != last || result.Header.Producer != producer.PublicKey() {
		t.Errorf("parameters %+v, producer %s", c.params, result.Header.Producer)
	}
	if got := c.state.account(t, collector).Balance; got == 0 {
		t.Error("the old fee recipient received nothing: fees go by the parent's parameters")
	}
	result = c.block()
	if result.Header.BaseFee != 20 || result.Header.Producer != bob.PublicKey() {
		t.Errorf("next header %+v", result.Header)
	}
	if _, err := c.begin().Apply(c.transfer(producer, func(tx *types.Transaction) {
		tx.Payload = types.Configure{Parameters: next}
	})); !errors.Is(err, ErrNotProducer) {
		t.Errorf("the old producer may still configure: %v", err)
	}
}

func TestBlockFull(t *testing.T) {
	c := newTestChain(t)
	run := c.begin()
	big := func(nonce uint64, gas types.Gas) *types.VerifiedTx {
		return c.transfer(alice, func(tx *types.Transaction) { tx.Nonce, tx.GasLimit, tx.MaxFeePerGas = nonce, gas, 13 })
	}
	if _, err := run.Apply(big(0, params.DefaultGasLimit)); err != nil {
		t.Fatal(err)
	}
	// What counts against the block is what was used, not what was allowed.
	if _, err := run.Apply(big(1, params.DefaultGasLimit-21_000+1)); !errors.Is(err, ErrBlockFull) {
		t.Errorf("over the gas that is left: %v", err)
	}
	if _, err := run.Apply(big(1, params.DefaultGasLimit-21_000)); err != nil {
		t.Errorf("just the gas that is left: %v", err)
	}
}

func TestBlockBytes(t *testing.T) {
	c := newTestChain(t)
	run := c.begin()
	run.bytes = types.MaxBlockBytes - len(c.transfer(alice).Encoded())
	if _, err := run.Apply(c.transfer(alice)); err != nil {
		t.Errorf("just the bytes that are left: %v", err)
	}
	if _, err := run.Apply(c.transfer(bob)); !errors.Is(err, ErrBlockFull) {
		t.Errorf("over the bytes that are left: %v", err)
	}
}

func TestSupplyIsCheckedInEveryBlock(t *testing.T) {
	c := newTestChain(t)
	run := c.begin()
	if _, err := run.Apply(c.transfer(alice)); err != nil {
		t.Fatal(err)
	}
	if err := run.credit(fresh, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Finish(); !errors.Is(err, ErrSupply) {
		t.Errorf("a unit from nothing: %v", err)
	}
}

func TestAccessList(t *testing.T) {
	c := newTestChain(t)
	if empty := c.block(); len(empty.Accesses) != 0 {
		t.Errorf("a block without transactions lists %v", empty.Accesses)
	}
	chain := [][]byte{state.SupplyKey(), state.ParametersKey()}
	each := [][]byte{
		state.AccountKey(account(alice)), state.ContractKey(types.ContractID(account(alice))), state.AccountKey(collector),
	}
	id := types.NewContractID(account(alice), 0)
	for _, tc := range []struct {
		name    string
		payload types.Payload
		gas     types.Gas
		want    [][]byte
	}{
		{"transfer", types.Transfer{To: fresh, Amount: 1}, 46_000, [][]byte{state.AccountKey(fresh)}},
		{
			"a transfer whose gas ends lists the same", types.Transfer{To: fresh, Amount: 1}, 21_000,
			[][]byte{state.AccountKey(fresh)},
		},
		{"transfer of nothing", types.Transfer{To: fresh}, 46_000, nil},
		{"deploy", types.Deploy{}, 100_000, [][]byte{state.ContractKey(id)}},
		{
			"deploy with value", types.Deploy{Amount: 1}, 100_000,
			[][]byte{state.ContractKey(id), state.AccountKey(types.Account(id))},
		},
		{
			"call", types.Call{Contract: types.ContractID(fresh), Amount: 1}, 100_000,
			[][]byte{state.ContractKey(types.ContractID(fresh))},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			result := c.block(c.transfer(alice, func(tx *types.Transaction) { tx.Payload, tx.GasLimit = tc.payload, tc.gas }))
			want := map[string]bool{}
			for _, keys := range [][][]byte{chain, each, tc.want} {
				for _, k := range keys {
					want[string(k)] = true
				}
			}
			for i, a := range result.Accesses {
				if !want[string(a.Key)] {
					t.Errorf("lists %x", a.Key)
				}
				if i > 0 && string(result.Accesses[i-1].Key) >= string(a.Key) {
					t.Error("keys do not ascend")
				}
			}
			if len(result.Accesses) != len(want) {
				t.Errorf("lists %d keys, want %d", len(result.Accesses), len(want))
			}
		})
	}
}

func TestCallAsksNeitherNonceNorFees(t *testing.T) {
	c := newTestChain(t)
	seed, err := Seed(c.head, c.params, c.head.Timestamp)
	if err != nil {
		t.Fatal(err)
	}
	poor := types.Account{0xaa}
	for _, tc := range []struct {
		name    string
		sender  types.Account
		payload types.Payload
		gas     types.Gas
		want    Outcome
	}{
		{"transfer", account(alice), types.Transfer{To: account(bob), Amount: 1}, 21_000, Outcome{GasUsed: 21_000}},
		{"makes an account", account(alice), types.Transfer{To: fresh, Amount: 1}, 50_000, Outcome{GasUsed: 46_000}},
		{
			"out of gas", account(alice), types.Transfer{To: fresh, Amount: 1}, 30_000,
			Outcome{Reason: OutOfGas, GasUsed: 30_000},
		},
		{
			"value not covered", poor, types.Transfer{To: account(bob), Amount: 1}, 50_000,
			Outcome{Reason: InsufficientBalance, GasUsed: 21_000},
		},
		{"nothing from an untouched account", poor, types.Transfer{To: account(bob)}, 50_000, Outcome{GasUsed: 21_000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Call(c.params, c.state, seed, types.Transaction{
				Version:  1,
				ChainID:  testChainID,
				Sender:   tc.sender,
				Nonce:    99,
				GasLimit: tc.gas,
				Payload:  tc.payload,
			}, Simulation{})
			if err != nil || got.Reason != tc.want.Reason || got.GasUsed != tc.want.GasUsed {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
