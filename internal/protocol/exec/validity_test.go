package exec

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// TestTransactionValidity breaks each rule of validity that a key's transaction without a payer can break, by a change,
// and checks the error. The vectors cover the other rules.
func TestTransactionValidity(t *testing.T) {
	configure := func(edit func(*types.Parameters)) func(*types.Transaction) {
		return func(tx *types.Transaction) {
			p := params.Default(producer.PublicKey())
			edit(&p)
			with(types.Configure{Parameters: p}).in(tx)
		}
	}
	limited := func(a action, gas types.Gas) func(*types.Transaction) {
		return func(tx *types.Transaction) { a.in(tx); tx.GasLimit = gas }
	}
	until := func(timestamp uint64) func(*types.Transaction) {
		return func(tx *types.Transaction) { tx.ValidUntil = &timestamp }
	}
	const now = testTime + 2_000 // timestamp of the block
	for _, tc := range []struct {
		name string
		key  crypto.PrivateKey
		edit func(*types.Transaction)
		want error
	}{
		{"valid", alice, func(*types.Transaction) {}, nil},
		{"chain", alice, func(tx *types.Transaction) { tx.ChainID++ }, ErrWrongChain},
		{"sender is a contract too", testKey("contract"), func(*types.Transaction) {}, nil},
		{"nonce used", alice, func(tx *types.Transaction) { tx.Nonce-- }, ErrNonceTooLow},
		{"nonce gap", alice, func(tx *types.Transaction) { tx.Nonce++ }, ErrNonceTooHigh},
		{"last nonce", alice, func(tx *types.Transaction) { tx.Nonce = math.MaxUint64 }, ErrNonceExhausted},
		{"a value that is not used", alice, func(tx *types.Transaction) {
			with(types.SetPolicy{}).in(tx)
			tx.Value = 1
		}, ErrNotZero},
		{"a target that is not used", alice, func(tx *types.Transaction) {
			deploying(1, types.Deploy{}).in(tx)
			tx.Target[31] = 1
		}, ErrNotZero},
		{"intrinsic gas", alice, func(tx *types.Transaction) { tx.GasLimit = 9_999 }, ErrIntrinsicGas},
		{"intrinsic gas is enough", alice, func(tx *types.Transaction) { tx.GasLimit = 10_000 }, nil},
		{"intrinsic gas of a call", alice,
			limited(with(types.Call{Function: "f", Args: []byte{1}}), 16_000+2*16-1), ErrIntrinsicGas},
		{"intrinsic gas of a deploy", alice,
			limited(with(types.Deploy{Name: "n", Code: []byte{1}, InitArgs: []byte{1}}), 66_000+2*16+1_000-1), ErrIntrinsicGas},
		{"intrinsic gas of an instantiate", alice,
			limited(with(types.Instantiate{Name: "n", InitArgs: []byte{1}}), 16_000+2*16-1), ErrIntrinsicGas},
		{"intrinsic gas of a batch", alice,
			limited(batch(pay(fresh, 0), calling(types.ContractID{}, "f", 0)), 16_000+5_000+2_000+16-1), ErrIntrinsicGas},
		{"gas over the block's", alice, func(tx *types.Transaction) {
			tx.GasLimit, tx.MaxFeePerGas = params.DefaultGasLimit+1, 10
		}, ErrGasOverBlock},
		{"priority over max", alice, func(tx *types.Transaction) { tx.MaxPriorityFeePerGas = 101 }, ErrPriorityOverMax},
		{"max fee under base fee", alice, func(tx *types.Transaction) { tx.MaxFeePerGas = 9 }, ErrFeeTooLow},
		{"max fee is base fee", producer, func(tx *types.Transaction) { tx.MaxFeePerGas = 10 }, nil},
		{"expired", alice, until(now - 1), ErrExpired},
		{"valid until now", alice, until(now), nil},
		{"valid until after all time", alice, until(types.MaxTime + 1), ErrBadValidUntil},
		{"cannot pay value", producer, func(tx *types.Transaction) {
			tx.Value = 1_000*types.CoinUnits - 100*200_000 + 1
		}, ErrCannotPay},
		{"can just pay", producer, func(tx *types.Transaction) { tx.Value = 1_000*types.CoinUnits - 100*200_000 }, nil},
		{"cannot pay a batch", producer, batch(
			pay(account(bob), 500*types.CoinUnits), pay(account(bob), 500*types.CoinUnits-100*200_000+1),
		).in, ErrCannotPay},
		{"the steps' values overflow", alice, batch(pay(fresh, 1), pay(fresh, math.MaxUint64)).in, ErrOverflow},
		{"fee cap overflows", alice, func(tx *types.Transaction) { tx.MaxFeePerGas = math.MaxUint64 }, ErrOverflow},
		{"code too long", alice, with(types.Deploy{Code: make([]byte, types.MaxCodeBytes+1)}).in, ErrCodeTooLong},
		{"name too long", alice, with(types.Deploy{Name: strings.Repeat("n", types.MaxNameBytes+1)}).in, ErrFieldTooLong},
		{"init_args too long", alice, with(types.Deploy{InitArgs: make([]byte, types.MaxArgsBytes+1)}).in, ErrFieldTooLong},
		{"function too long", alice, with(types.Call{Function: strings.Repeat("f", types.MaxFunctionBytes+1)}).in,
			ErrFieldTooLong},
		{"args too long", alice, with(types.Call{Args: make([]byte, types.MaxArgsBytes+1)}).in, ErrFieldTooLong},
		{"args too long in a step", alice, batch(with(types.Call{Args: make([]byte, types.MaxArgsBytes+1)})).in,
			ErrFieldTooLong},
		{"a policy without signers", alice, with(types.SetPolicy{Policy: &types.Policy{}}).in, ErrBadPolicy},
		{"a recovery by a key", alice, with(types.SetPolicy{Recovery: true}).in, ErrBadPayer},
		{"configure by another", alice, configure(func(*types.Parameters) {}), ErrNotAdmin},
		{"configure by the admin", producer, configure(func(*types.Parameters) {}), nil},
		{"configure: a gas limit that is too low", producer, configure(func(p *types.Parameters) { p.GasLimit = 2_999_999 }),
			ErrBadParameters},
		{"configure: an upgrade", producer, configure(func(p *types.Parameters) {
			p.Upgrade = &types.Upgrade{Version: params.Version + 1, From: now + p.Notice}
		}), nil},
		{"configure: an upgrade too soon", producer, configure(func(p *types.Parameters) {
			p.Upgrade = &types.Upgrade{Version: params.Version + 1, From: now + p.Notice - 1}
		}), ErrBadParameters},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			c.block(c.transfer(alice)) // so that alice's nonce is above 0
			checkApply(t, c, c.transfer(tc.key, tc.edit), tc.want)
		})
	}
}

// checkApply applies a transaction and checks its error. An invalid one leaves no trace.
func checkApply(t *testing.T, c *testChain, tx *types.VerifiedTx, want error) {
	t.Helper()
	run := c.begin()
	before := run.state.Accesses()
	_, err := run.Apply(tx)
	if !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	if (want != nil) != IsInvalid(err) {
		t.Errorf("IsInvalid(%v) = %v", err, IsInvalid(err))
	}
	if want == nil {
		return
	}
	if after := run.state.Accesses(); !reflect.DeepEqual(before, after) || run.header.GasUsed != 0 {
		t.Errorf("an invalid transaction left a trace: got %v", after)
	}
}

// TestPayerValidity checks the errors about payers, and about an account that cannot pay without one.
func TestPayerValidity(t *testing.T) {
	newcomer, poor := testKey("newcomer"), testKey("poor")
	for _, tc := range []struct {
		name       string
		key, payer crypto.PrivateKey
		action     action
		edit       func(*types.Transaction)
		want       error
	}{
		{"valid", alice, bob, pay(fresh, 1), nil, nil},
		{"a sender without an entry", newcomer, bob, pay(fresh, 0), nil, nil},
		{"just the gas of its entry", newcomer, bob, pay(fresh, 0), func(tx *types.Transaction) {
			tx.GasLimit = 10_000 + 20_000 + 100_000
		}, nil},
		{"less than the gas of its entry", newcomer, bob, pay(fresh, 0), func(tx *types.Transaction) {
			tx.GasLimit = 10_000 + 20_000 + 100_000 - 1
		}, ErrIntrinsicGas},
		{"a sender that has no coins to move", newcomer, bob, pay(fresh, 1), nil, ErrCannotPay},
		{"all the sender's coins", alice, bob, pay(fresh, 1_000*types.CoinUnits), nil, nil},
		{"more than the sender's coins", alice, bob, pay(fresh, 1_000*types.CoinUnits+1), nil, ErrCannotPay},
		{"a payer without an entry", alice, poor, pay(fresh, 1), nil, ErrPayerCannotPay},
		{"all the payer's coins", alice, bob, pay(fresh, 1), func(tx *types.Transaction) {
			tx.MaxFeePerGas = 1_000 * types.CoinUnits / 200_000
		}, nil},
		{"more than the payer's coins", alice, bob, pay(fresh, 1), func(tx *types.Transaction) {
			tx.MaxFeePerGas = 1_000*types.CoinUnits/200_000 + 1
		}, ErrPayerCannotPay},
		{"the sender pays", alice, alice, pay(fresh, 1), nil, ErrBadPayer},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			edit := tc.edit
			if edit == nil {
				edit = func(*types.Transaction) {}
			}
			checkApply(t, c, c.sponsored(tc.key, tc.payer, tc.action, edit), tc.want)
		})
	}
}
