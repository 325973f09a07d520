package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// pricedNode answers what Build asks: balance 10,000,000, nonce 4, 5 with pending ones, base fee 10, priority fee 2,
// max fee 22, gas 21,000.
func pricedNode(estimates *int) []jsonrpc.Method {
	return []jsonrpc.Method{
		always(api.ChainID, api.Quantity(7)),
		always(api.GetBalance, api.Quantity(10_000_000)),
		answer(api.GetTransactionCount, func(p api.GetTransactionCountParams) (api.Quantity, error) {
			if p.Block.Pending {
				return 5, nil
			}
			return 4, nil
		}),
		always(api.GasPrice, api.GasPriceInfo{BaseFee: 10, SuggestedPriorityFee: 2, SuggestedMaxFee: 22}),
		answer(api.EstimateGas, func(p api.RawTransactionParams) (api.Quantity, error) {
			*estimates++
			if _, err := types.DecodeTransaction(p.Transaction); err != nil {
				return 0, err
			}
			return 21_000, nil
		}),
	}
}

func TestBuild(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	price := func(n types.Amount) *types.Amount { return &n }
	gas := func(n types.Gas) *types.Gas { return &n }
	tests := []struct {
		name          string
		fields        TxFields
		nonce         uint64
		gas           types.Gas
		max, priority types.Amount
	}{
		{"all from the node", TxFields{}, 5, 21_000, 22, 2},
		{"nonce", TxFields{Nonce: number(0)}, 0, 21_000, 22, 2},
		{"gas limit", TxFields{GasLimit: gas(50_000)}, 5, 50_000, 22, 2},
		{"gas margin", TxFields{GasMargin: 4_000}, 5, 25_000, 22, 2},
		{"max fee", TxFields{MaxFee: price(30)}, 5, 21_000, 30, 2},
		{"max fee under the suggested priority fee", TxFields{MaxFee: price(1)}, 5, 21_000, 1, 1},
		{"priority fee", TxFields{Priority: price(100)}, 5, 21_000, 120, 100},
		{"both fees", TxFields{MaxFee: price(30), Priority: price(0)}, 5, 21_000, 30, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			estimates := 0
			c := connect(t, nil, pricedNode(&estimates)...)
			from := signer(t).Account()
			tx, err := c.Build(t.Context(), from, Transfer(types.Account{1}, 5), test.fields)
			if err != nil {
				t.Fatal(err)
			}
			want := types.Transaction{
				Version:              types.TransactionVersion,
				ChainID:              7,
				Sender:               from,
				Nonce:                test.nonce,
				GasLimit:             test.gas,
				MaxFeePerGas:         test.max,
				MaxPriorityFeePerGas: test.priority,
				Payload:              types.Transfer{To: types.Account{1}, Amount: 5},
			}
			if tx != want {
				t.Errorf("got %+v, want %+v", tx, want)
			}
			if asked := estimates > 0; asked == (test.fields.GasLimit != nil) {
				t.Errorf("gas was estimated %d times", estimates)
			}
		})
	}
}

func TestBuildThatCannotBePaid(t *testing.T) {
	const balance, fee = 10_000_000, 21_000 * 22
	tests := []struct {
		name      string
		amount    types.Amount
		required  api.Quantity // 0: it can be paid
		estimates int
	}{
		{"just enough", balance - fee, 0, 1},
		{"one short of the fee", balance - fee + 1, balance + 1, 1},
		{"all but the fee", balance, balance + fee, 1},
		{"more than there is", balance + 1, balance + 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			estimates := 0
			c := connect(t, nil, pricedNode(&estimates)...)
			_, err := c.Build(t.Context(), signer(t).Account(), Transfer(types.Account{}, test.amount), TxFields{})
			if estimates != test.estimates {
				t.Errorf("gas was estimated %d times, want %d", estimates, test.estimates)
			}
			if test.required == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *Error
			if !errors.Is(err, api.ErrCannotPay) || !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Data["balance"] != api.Quantity(balance) || e.Data["needed"] != test.required {
				t.Errorf("data %v", e.Data)
			}
		})
	}
}

func TestBuildOverflow(t *testing.T) {
	estimates := 0
	c := connect(t, nil, pricedNode(&estimates)...)
	most := types.Amount(math.MaxUint64)
	for name, fields := range map[string]TxFields{
		"cost": {MaxFee: &most}, "max fee": {Priority: &most},
	} {
		if _, err := c.Build(
			t.Context(), types.Account{}, Transfer(types.Account{}, 5), fields,
		); !errors.Is(err, types.ErrOverflow) {
			t.Errorf("%s: error %v, want an overflow", name, err)
		}
	}
}

// TestBuildPassesErrorsOn lets each of the calls that Build makes fail in turn.
func TestBuildPassesErrorsOn(t *testing.T) {
	estimates := 0
	for _, method := range pricedNode(&estimates) {
		t.Run(method.Name(), func(t *testing.T) {
			var methods []jsonrpc.Method
			for _, m := range pricedNode(&estimates) {
				if m.Name() != method.Name() {
					methods = append(methods, m)
				}
			}
			c := connect(t, nil, methods...)
			_, err := c.Build(t.Context(), signer(t).Account(), Transfer(types.Account{}, 5), TxFields{})
			if !errors.Is(err, errNoMethod) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestPayloads(t *testing.T) {
	parameters := types.Parameters{Version: 1, GasLimit: 5}
	if got := Configure(parameters); got != (types.Configure{Parameters: parameters}) {
		t.Errorf("Configure: %+v", got)
	}
	deploy, err := Deploy("token", []byte{0, 'a', 's', 'm'}, map[string]any{"decimals": 8}, 3)
	if d, ok := deploy.(types.Deploy); err != nil || !ok || d.Name != "token" || string(d.Code) != "\x00asm" ||
		string(d.InitArgs) != `{"decimals":8}` || d.Amount != 3 {
		t.Errorf("Deploy: %+v, %v", deploy, err)
	}
	call, err := Call(types.ContractID{9}, "transfer", nil, 0)
	if c, ok := call.(types.Call); err != nil || !ok || c.Contract != (types.ContractID{9}) || c.Function != "transfer" ||
		c.Args != nil {
		t.Errorf("Call: %+v, %v", call, err)
	}
	if _, err := Call(types.ContractID{}, "f", func() {}, 0); err == nil {
		t.Error("arguments that are no JSON were taken")
	}
}

func TestChainIDIsAskedOnce(t *testing.T) {
	asked := 0
	c := connect(t, nil, answer(api.ChainID, func(api.NoParams) (api.Quantity, error) {
		asked++
		return 7, nil
	}))
	for range 3 {
		if id, err := c.ChainID(t.Context()); id != 7 || err != nil {
			t.Errorf("%d, %v", id, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestSigner(t *testing.T) {
	signed := signedTransfer(t)
	if signed.Sender != signer(t).Account() {
		t.Error("the sender is another account")
	}
	if types.VerifySignatures(types.NewTxs(signed))[0] == nil {
		t.Error("the signature is not valid")
	}
}

func TestShortfall(t *testing.T) {
	refusal := func(code int, data ...any) error {
		return fmt.Errorf("send: %w", jsonrpc.NewError(code, "no", data...))
	}
	for _, test := range []struct {
		name string
		err  error
		ok   bool
	}{
		{"a node's", refusal(api.CodeCannotPay, "reason", "cannot_pay", "balance", "0x5", "needed", "0x7"), true},
		{"this package's", cannotPay(5, 7), true},
		{"with others pending", refusal(api.CodeCannotPay, "reason", "cannot_pay", "balance", "0x5", "needed", "0x7",
			"reserved", "0x4", "pending", json.Number("1")), true},
		{"no amounts", api.ErrCannotPay, false},
		{"no quantity", refusal(api.CodeCannotPay, "reason", "cannot_pay", "balance", "five", "needed", "0x7"), false},
		{"another error", refusal(api.CodeNonce, "reason", "nonce_too_low", "balance", "0x5", "needed", "0x7"), false},
		{"none", nil, false},
	} {
		funds, ok := Shortfall(test.err)
		want := Funds{Balance: 5, Needed: 7}
		missing := types.Amount(2)
		if test.name == "with others pending" {
			want.Reserved, want.Pending, missing = 4, 1, 6
		}
		if ok != test.ok || ok && (funds != want || funds.Missing() != missing) {
			t.Errorf("%s: got %+v, %t, of which %d is missing; want %+v, %t, %d", test.name, funds, ok, funds.Missing(), want,
				test.ok, missing)
		}
	}
}
