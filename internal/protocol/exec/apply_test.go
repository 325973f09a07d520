package exec

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// TestTransferPaysValueFeeBurnAndTip checks every balance exactly.
func TestTransferPaysValueFeeBurnAndTip(t *testing.T) {
	c := newTestChain(t)
	supply := c.supply()
	a, b := c.state.account(t, account(alice)), c.state.account(t, account(bob))
	result := c.block(c.transfer(alice))
	if r := result.Receipts[0]; r.Status != types.StatusSuccess || r.GasUsed != 10_000 || len(r.Output)+len(r.Logs) != 0 {
		t.Errorf("receipt %+v", r)
	}
	const price = 10 + 3
	if got := c.state.account(t, account(alice)); got.Balance != a.Balance-5-10_000*price || got.Nonce != 1 {
		t.Errorf("sender has %+v", got)
	}
	if got := c.state.account(t, account(bob)).Balance; got != b.Balance+5 {
		t.Errorf("recipient has %d, want %d", got, b.Balance+5)
	}
	if got := c.state.account(t, collector).Balance; got != 10_000*3 {
		t.Errorf("fee recipient has %d, want %d", got, 10_000*3)
	}
	burned, err := state.DecodeSupply(c.state[string(state.SupplyKey())])
	if err != nil || burned.Burned != 10_000*10 || c.supply() != supply {
		t.Errorf("burned %d, supply %d of %d, error %v", burned.Burned, c.supply(), supply, err)
	}
}

func TestTransferCases(t *testing.T) {
	limited := func(a action, gas types.Gas) func(*types.Transaction) {
		return func(tx *types.Transaction) { a.in(tx); tx.GasLimit = gas }
	}
	memo := &[32]byte{1}
	for _, tc := range []struct {
		name   string
		edit   func(*types.Transaction)
		status types.ReceiptStatus
		reason Reason
		used   types.Gas
	}{
		{"to an account", func(*types.Transaction) {}, types.StatusSuccess, Success, 10_000},
		{"makes an account", pay(fresh, 1).in, types.StatusSuccess, Success, 110_000},
		{"nothing makes no account", pay(fresh, 0).in, types.StatusSuccess, Success, 10_000},
		{"no gas to make an account", limited(pay(fresh, 1), 109_999), types.StatusFailed, OutOfGas, 109_999},
		{"just the gas to make an account", limited(pay(fresh, 1), 110_000), types.StatusSuccess, Success, 110_000},
		{"to itself", pay(account(alice), 7).in, types.StatusSuccess, Success, 10_000},
		{"to a contract", pay(contractAccount, 7).in, types.StatusSuccess, Success, 10_000},
		{"to the zero account", pay(types.Account{}, 7).in, types.StatusSuccess, Success, 110_000},
		{"a memo has no effect", action{fresh, 1, types.Transfer{Memo: memo}}.in, types.StatusSuccess, Success, 110_000},
		{"deploy of what is no module", limited(deploying(3, types.Deploy{Name: "n"}), 166_016),
			types.StatusFailed, ModuleRefused, 166_016},
		{"deploy without the gas to make the account", limited(deploying(3, types.Deploy{Name: "n"}), 166_015),
			types.StatusFailed, OutOfGas, 166_015},
		{"instantiate of no contract", limited(instantiating(types.ContractID{9}, 3, types.Instantiate{Name: "n"}), 1_000_000),
			types.StatusFailed, NoSuchContract, 246_016},
		{"call of no contract", calling(types.ContractID{}, "f", 3).in, types.StatusFailed, NoSuchContract, 27_016},
		{"call without the gas to look", limited(calling(types.ContractID{}, "f", 0), 27_015),
			types.StatusFailed, OutOfGas, 27_015},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			supply, before := c.supply(), c.state.account(t, account(alice)).Balance
			tx := c.transfer(alice, tc.edit)
			result := c.block(tx)
			r := result.Receipts[0]
			if r.Status != tc.status || result.Reasons[0] != tc.reason || r.GasUsed != tc.used || len(r.Logs) > 0 {
				t.Errorf("status %d, reason %q, used %d, %d logs", r.Status, result.Reasons[0], r.GasUsed, len(r.Logs))
			}
			spent := 13 * types.Amount(tc.used)
			if signed := tx.Signed(); tc.status == types.StatusSuccess && signed.Target != account(alice) {
				spent += signed.Value
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
	last.Producer, last.Admin = bob.PublicKey(), account(bob)
	configure := func(nonce uint64, p types.Parameters) *types.VerifiedTx {
		return c.transfer(producer, with(types.Configure{Parameters: p}).in, func(tx *types.Transaction) { tx.Nonce = nonce })
	}
	// The second transaction is sent by the admin in force in the parent's state, although the first has named another.
	result := c.block(configure(0, last), configure(1, next), configure(2, last))
	if !c.params.Equal(last) || result.Header.Producer != producer.PublicKey() {
		t.Errorf("parameters %+v, producer %s", c.params, result.Header.Producer)
	}
	if got := c.state.account(t, collector).Balance; got == 0 {
		t.Error("the old fee recipient received nothing: fees go by the parent's parameters")
	}
	result = c.block()
	if result.Header.BaseFee != 20 || result.Header.Producer != bob.PublicKey() {
		t.Errorf("next header %+v", result.Header)
	}
	old := c.transfer(producer, with(types.Configure{Parameters: next}).in)
	if _, err := c.begin().Apply(old); !errors.Is(err, ErrNotAdmin) {
		t.Errorf("the old admin may still configure: error %v, want %v", err, ErrNotAdmin)
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
	// The gas used counts against the block, not the gas limit.
	if _, err := run.Apply(big(1, params.DefaultGasLimit-10_000+1)); !errors.Is(err, ErrBlockFull) {
		t.Errorf("over the gas that is left: error %v", err)
	}
	if _, err := run.Apply(big(1, params.DefaultGasLimit-10_000)); err != nil {
		t.Errorf("just the gas that is left: error %v", err)
	}
}

func TestBlockBytes(t *testing.T) {
	c := newTestChain(t)
	run := c.begin()
	run.bytes = int(c.params.BlockBytes) - len(c.transfer(alice).Encoded())
	if _, err := run.Apply(c.transfer(alice)); err != nil {
		t.Errorf("just the bytes that are left: error %v", err)
	}
	if _, err := run.Apply(c.transfer(bob)); !errors.Is(err, ErrBlockFull) {
		t.Errorf("over the bytes that are left: error %v", err)
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
		t.Errorf("a unit from nothing: error %v, want %v", err, ErrSupply)
	}
}

func TestAccessList(t *testing.T) {
	c := newTestChain(t)
	if empty := c.block(); len(empty.Accesses) != 0 {
		t.Errorf("a block without transactions lists %v", empty.Accesses)
	}
	chain := [][]byte{state.SupplyKey(), state.ParametersKey()}
	each := [][]byte{state.AccountKey(account(alice)), state.AccountKey(collector)}
	id, other := types.NewContractID(account(alice), 0), types.ContractID(fresh)
	made := types.Account(id)
	for _, tc := range []struct {
		name   string
		action action
		gas    types.Gas
		want   [][]byte
	}{
		{"transfer", pay(fresh, 1), 110_000, [][]byte{state.AccountKey(fresh)}},
		{"a transfer whose gas ends lists the same", pay(fresh, 1), 10_000, [][]byte{state.AccountKey(fresh)}},
		{"transfer of nothing", pay(fresh, 0), 110_000, nil},
		{"deploy", deploying(0, types.Deploy{}), 100_000, [][]byte{state.ContractKey(id)}},
		{"deploy with value", deploying(1, types.Deploy{}), 100_000, [][]byte{state.ContractKey(id), state.AccountKey(made)}},
		{"call", calling(other, "", 1), 100_000, [][]byte{state.ContractKey(other)}},
		{"instantiate", instantiating(other, 0, types.Instantiate{}), 16_000,
			[][]byte{state.ContractKey(id), state.ContractKey(other)}},
		{"instantiate with value", instantiating(other, 1, types.Instantiate{}), 300_000,
			[][]byte{state.ContractKey(id), state.ContractKey(other), state.AccountKey(made)}},
		{"set_policy", with(types.SetPolicy{}), 100_000, nil},
		{"batch", batch(pay(fresh, 1), pay(made, 0), calling(id, "", 1), calling(other, "", 0), pay(account(bob), 1)), 300_000,
			[][]byte{state.AccountKey(fresh), state.ContractKey(id)}}, // the steps after the call are not reached
		{"a batch whose gas ends in its first step", batch(pay(fresh, 1), pay(account(bob), 1)), 26_000,
			[][]byte{state.AccountKey(fresh)}},
		{"a batch whose gas ends in a call", batch(calling(other, "", 1), pay(account(bob), 1)), 23_000,
			[][]byte{state.ContractKey(other)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			expectKeys(t, c.block(c.action(alice, tc.gas, tc.action)), append(slices.Concat(chain, each), tc.want...))
		})
	}
	t.Run("with a payer", func(t *testing.T) {
		c := newTestChain(t)
		payer := state.AccountKey(account(bob))
		result := c.block(c.sponsored(alice, bob, pay(collector, 1)))
		expectKeys(t, result, append(slices.Concat(chain, each), payer))
	})
}

// expectKeys checks the keys of a block's accesses.
func expectKeys(t *testing.T, result Result, keys [][]byte) {
	t.Helper()
	want := map[string]bool{}
	for _, k := range keys {
		want[string(k)] = true
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
}

func TestCallAsksNeitherNonceNorFees(t *testing.T) {
	c := newTestChain(t)
	poor := types.Account{0xaa}
	for _, tc := range []struct {
		name   string
		sender types.Account
		action action
		gas    types.Gas
		view   bool
		want   Outcome
	}{
		{"transfer", account(alice), pay(account(bob), 1), 10_000, false, Outcome{GasUsed: 10_000}},
		{"makes an account", account(alice), pay(fresh, 1), 150_000, false, Outcome{GasUsed: 110_000}},
		{"out of gas", account(alice), pay(fresh, 1), 30_000, false, Outcome{Reason: OutOfGas, GasUsed: 30_000}},
		{"value not covered", poor, pay(account(bob), 1), 150_000, false,
			Outcome{Reason: InsufficientBalance, GasUsed: 110_000}},
		{"a batch that is not covered", account(alice), batch(pay(fresh, 1), pay(fresh, 1_000*types.CoinUnits)), 150_000, false,
			Outcome{Reason: InsufficientBalance, GasUsed: 26_000}},
		{"nothing from an untouched account", poor, pay(account(bob), 0), 150_000, false, Outcome{GasUsed: 110_000}},
		{"a view from an untouched account", poor, pay(account(bob), 0), 150_000, true, Outcome{GasUsed: 10_000}},
		{"a policy", account(alice), with(types.SetPolicy{}), 150_000, false, Outcome{GasUsed: 36_000 + 16*6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := c.simulate(tc.sender, tc.gas, tc.action, tc.view)
			if err != nil || got.Reason != tc.want.Reason || got.GasUsed != tc.want.GasUsed {
				t.Errorf("got %+v, %v, want Reason %v and GasUsed %v", got, err, tc.want.Reason, tc.want.GasUsed)
			}
		})
	}
	if _, err := c.simulate(poor, 109_999, pay(account(bob), 0), false); !errors.Is(err, ErrIntrinsicGas) {
		t.Errorf("without the gas of an entry: error %v, want %v", err, ErrIntrinsicGas)
	}
}
