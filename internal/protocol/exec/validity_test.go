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

// TestTransactionValidity has one corrupting case for each rule of validity: what is changed, and what is said of it.
func TestTransactionValidity(t *testing.T) {
	configure := func(edit func(*types.Parameters)) func(*types.Transaction) {
		return func(tx *types.Transaction) {
			p := params.Default(producer.PublicKey())
			edit(&p)
			tx.Payload = types.Configure{Parameters: p}
		}
	}
	for _, tc := range []struct {
		name string
		key  crypto.PrivateKey
		edit func(*types.Transaction)
		want error
	}{
		{"valid", alice, func(*types.Transaction) {}, nil},
		{"version", alice, func(tx *types.Transaction) { tx.Version = 2 }, ErrBadVersion},
		{"chain", alice, func(tx *types.Transaction) { tx.ChainID++ }, ErrWrongChain},
		{"sender is a contract", testKey("contract"), func(*types.Transaction) {}, ErrSenderIsContract},
		{"nonce used", alice, func(tx *types.Transaction) { tx.Nonce-- }, ErrNonceTooLow},
		{"nonce gap", alice, func(tx *types.Transaction) { tx.Nonce++ }, ErrNonceTooHigh},
		{"last nonce", alice, func(tx *types.Transaction) { tx.Nonce = math.MaxUint64 }, ErrNonceExhausted},
		{"intrinsic gas", alice, func(tx *types.Transaction) { tx.GasLimit = 20_999 }, ErrIntrinsicGas},
		{"intrinsic gas is enough", alice, func(tx *types.Transaction) { tx.GasLimit = 21_000 }, nil},
		{"intrinsic gas of a call", alice, func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Call{Function: "f", Args: []byte{1}}, 21_000+2*16-1
		}, ErrIntrinsicGas},
		{"intrinsic gas of a deploy", alice, func(tx *types.Transaction) {
			tx.Payload, tx.GasLimit = types.Deploy{Name: "n", Code: []byte{1}, InitArgs: []byte{1}}, 71_000+2*16+1_000-1
		}, ErrIntrinsicGas},
		{"gas over the block's", alice, func(tx *types.Transaction) {
			tx.GasLimit, tx.MaxFeePerGas = params.DefaultGasLimit+1, 10
		}, ErrGasOverBlock},
		{"priority over max", alice, func(tx *types.Transaction) { tx.MaxPriorityFeePerGas = 101 }, ErrPriorityOverMax},
		{"max fee under base fee", alice, func(tx *types.Transaction) { tx.MaxFeePerGas = 9 }, ErrFeeTooLow},
		{"max fee is base fee", producer, func(tx *types.Transaction) { tx.MaxFeePerGas = 10 }, nil},
		{"cannot pay value", producer, func(tx *types.Transaction) {
			tx.Payload = types.Transfer{To: account(bob), Amount: 1_000*types.CoinUnits - 100*100_000 + 1}
		}, ErrCannotPay},
		{"can just pay", producer, func(tx *types.Transaction) {
			tx.Payload = types.Transfer{To: account(bob), Amount: 999*types.CoinUnits - 100*100_000}
		}, nil},
		{"cost overflows", alice, func(tx *types.Transaction) { tx.MaxFeePerGas = math.MaxUint64 }, ErrCannotPay},
		{"code too long", alice, func(tx *types.Transaction) {
			tx.Payload = types.Deploy{Code: make([]byte, types.MaxCodeBytes+1)}
		}, ErrCodeTooLong},
		{"name too long", alice, func(tx *types.Transaction) {
			tx.Payload = types.Deploy{Name: strings.Repeat("n", types.MaxNameBytes+1)}
		}, ErrFieldTooLong},
		{"init_args too long", alice, func(tx *types.Transaction) {
			tx.Payload = types.Deploy{InitArgs: make([]byte, types.MaxArgsBytes+1)}
		}, ErrFieldTooLong},
		{"function too long", alice, func(tx *types.Transaction) {
			tx.Payload = types.Call{Function: strings.Repeat("f", types.MaxFunctionBytes+1)}
		}, ErrFieldTooLong},
		{"args too long", alice, func(tx *types.Transaction) {
			tx.Payload = types.Call{Args: make([]byte, types.MaxArgsBytes+1)}
		}, ErrFieldTooLong},
		{"configure by another", alice, configure(func(*types.Parameters) {}), ErrNotProducer},
		{"configure by the producer", producer, configure(func(*types.Parameters) {}), nil},
		{"configure: unknown next version is allowed", producer, configure(func(p *types.Parameters) { p.Version = 2 }), nil},
		{"configure: version jumps", producer, configure(func(p *types.Parameters) { p.Version = 3 }), ErrBadParameters},
		{"configure: version goes back", producer, configure(func(p *types.Parameters) { p.Version = 0 }), ErrBadParameters},
		{
			"configure: gas limit low", producer, configure(func(p *types.Parameters) { p.GasLimit = 999_999 }),
			ErrBadParameters,
		},
		{
			"configure: gas limit high", producer, configure(func(p *types.Parameters) { p.GasLimit = 1<<40 + 1 }),
			ErrBadParameters,
		},
		{"configure: target 0", producer, configure(func(p *types.Parameters) { p.TargetBPS = 0 }), ErrBadParameters},
		{"configure: target 1", producer, configure(func(p *types.Parameters) { p.TargetBPS = 10_000 }), ErrBadParameters},
		{"configure: target under a transfer", producer, configure(func(p *types.Parameters) {
			p.GasLimit, p.TargetBPS = 1_000_000, 209
		}), ErrBadParameters},
		{
			"configure: min base fee low", producer, configure(func(p *types.Parameters) { p.MinBaseFee = 7 }), ErrBadParameters,
		},
		{"configure: bounds crossed", producer, configure(func(p *types.Parameters) { p.MaxBaseFee = 9 }), ErrBadParameters},
		{
			"configure: max base fee high", producer, configure(func(p *types.Parameters) { p.MaxBaseFee = 1 << 53 }),
			ErrBadParameters,
		},
		{"configure: producer off the curve", producer, configure(func(p *types.Parameters) {
			p.Producer = types.PublicKey{31: 5} // 5^3 + 7 is not a square mod p
		}), ErrBadParameters},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newTestChain(t)
			c.block(c.transfer(alice)) // so that alice has a nonce behind her
			tx := c.transfer(tc.key, tc.edit)
			run := c.begin()
			before := run.state.Accesses()
			_, err := run.Apply(tx)
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if (tc.want != nil) != IsInvalid(err) {
				t.Errorf("IsInvalid(%v) = %v", err, IsInvalid(err))
			}
			if tc.want == nil {
				return
			}
			if after := run.state.Accesses(); !reflect.DeepEqual(before, after) || run.header.GasUsed != 0 {
				t.Errorf("an invalid transaction left a trace: %v", after)
			}
		})
	}
}
