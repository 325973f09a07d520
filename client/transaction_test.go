package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// pricedNode answers the requests of Build: balance 10,000,000, nonce 4, or 5 with pending ones, base fee 10, priority
// fee 2, max fee 22, gas 10,000, and a head whose time is ahead of every clock. Account 8 has 5 units.
func pricedNode(estimates *int) []jsonrpc.Method {
	return []jsonrpc.Method{
		always(api.ChainID, api.Quantity(7)),
		answer(api.GetBalance, func(p api.GetBalanceParams) (api.Quantity, error) {
			if p.Account == (types.Account{8}).String() {
				return 5, nil
			}
			return 10_000_000, nil
		}),
		answer(api.GetTransactionCount, func(p api.GetTransactionCountParams) (api.Quantity, error) {
			if p.Block.Pending {
				return 5, nil
			}
			return 4, nil
		}),
		always(api.GasPrice, api.GasPriceInfo{BaseFee: 10, SuggestedPriorityFee: 2, SuggestedMaxFee: 22}),
		answer(api.EstimateGas, func(p api.RawTransactionParams) (api.Quantity, error) {
			*estimates++
			if _, err := types.DecodeUnsigned(p.Transaction); err != nil {
				if _, err := types.DecodeSignedTransaction(p.Transaction); err != nil {
					return 0, err
				}
			}
			return 10_000, nil
		}),
		always(api.GetBlockByNumber, &api.Block{TimestampMs: aheadTime}),
	}
}

// aheadTime is in the year 2500.
const aheadTime = 16_725_225_600_000

func TestBuild(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	price := func(n types.Amount) *types.Amount { return &n }
	gas := func(n types.Gas) *types.Gas { return &n }
	payer := types.Account{9}
	tests := []struct {
		name          string
		fields        TxFields
		nonce         uint64
		gas           types.Gas
		max, priority types.Amount
		payer         *types.Account
		until         *uint64
	}{
		{"all from the node", TxFields{}, 5, 10_000, 22, 2, nil, nil},
		{"nonce", TxFields{Nonce: number(0)}, 0, 10_000, 22, 2, nil, nil},
		{"gas limit", TxFields{GasLimit: gas(50_000)}, 5, 50_000, 22, 2, nil, nil},
		{"gas margin", TxFields{GasMargin: 4_000}, 5, 14_000, 22, 2, nil, nil},
		{"max fee", TxFields{MaxFee: price(30)}, 5, 10_000, 30, 2, nil, nil},
		{"max fee under the suggested priority fee", TxFields{MaxFee: price(1)}, 5, 10_000, 1, 1, nil, nil},
		{"priority fee", TxFields{Priority: price(100)}, 5, 10_000, 120, 100, nil, nil},
		{"both fees", TxFields{MaxFee: price(30), Priority: price(0)}, 5, 10_000, 30, 0, nil, nil},
		{"an end", TxFields{ValidUntil: number(3)}, 5, 10_000, 22, 2, nil, number(3)},
		{"a time", TxFields{ValidFor: time.Hour}, 5, 10_000, 22, 2, nil, number(aheadTime + 3_600_000)},
		{"a payer", TxFields{Payer: KeyAccount(payer)}, 5, 10_000, 22, 2, &payer, number(aheadTime + 300_000)},
		{
			"a payer for the longest time", TxFields{Payer: KeyAccount(payer), ValidFor: MaxSponsored},
			5, 10_000, 22, 2, &payer, number(aheadTime + 600_000),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			estimates := 0
			c := connect(t, nil, pricedNode(&estimates)...)
			from := signer(t)
			tx, err := c.Build(t.Context(), from, Transfer(types.Account{1}, 5), test.fields)
			if err != nil {
				t.Fatal(err)
			}
			want := types.Transaction{
				Sender:               from.Account(),
				Target:               types.Account{1},
				ChainID:              7,
				Nonce:                test.nonce,
				GasLimit:             test.gas,
				MaxFeePerGas:         test.max,
				MaxPriorityFeePerGas: test.priority,
				Value:                5,
				Payer:                test.payer,
				ValidUntil:           test.until,
				Payload:              types.Transfer{},
			}
			if !reflect.DeepEqual(tx, want) {
				t.Errorf("got %+v, want %+v", tx, want)
			}
			if asked := estimates > 0; asked == (test.fields.GasLimit != nil) {
				t.Errorf("gas was estimated %d times", estimates)
			}
		})
	}
}

// A transaction with a payer is valid only for a short time.
func TestBuildBoundsWhatIsSponsored(t *testing.T) {
	estimates := 0
	c := connect(t, nil, pricedNode(&estimates)...)
	for name, fields := range map[string]TxFields{
		"a time":             {Payer: KeyAccount{9}, ValidFor: MaxSponsored + time.Millisecond},
		"an end":             {Payer: KeyAccount{9}, ValidUntil: new(uint64(aheadTime + 600_001))},
		"a past":             {ValidFor: -time.Second},
		"for a payer a past": {Payer: KeyAccount{9}, ValidFor: -time.Second},
	} {
		tx, err := c.Build(t.Context(), signer(t), Transfer(types.Account{}, 5), fields)
		if tooLong := errors.Is(err, ErrSponsoredTooLong); err == nil || tooLong != (fields.ValidFor >= 0) {
			t.Errorf("%s: got %+v, %v", name, tx, err)
		}
	}
}

func TestBuildThatCannotBePaid(t *testing.T) {
	const balance, fee = 10_000_000, 10_000 * 22
	poor := TxFields{Payer: KeyAccount{8}}
	tests := []struct {
		name      string
		amount    types.Amount
		fields    TxFields
		has       api.Quantity
		required  api.Quantity // 0: affordable
		estimates int
	}{
		{"just enough", balance - fee, TxFields{}, balance, 0, 1},
		{"one short of the fee", balance - fee + 1, TxFields{}, balance, balance + 1, 1},
		{"all but the fee", balance, TxFields{}, balance, balance + fee, 1},
		{"more than there is", balance + 1, TxFields{}, balance, balance + 1, 0},
		{"the fee is another's", balance, TxFields{Payer: KeyAccount{9}}, balance, 0, 1},
		{"more than there is, the fee another's", balance + 1, TxFields{Payer: KeyAccount{9}}, balance, balance + 1, 0},
		{"the other lacks the fee", 0, poor, 5, fee, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			estimates := 0
			c := connect(t, nil, pricedNode(&estimates)...)
			_, err := c.Build(t.Context(), signer(t), Transfer(types.Account{}, test.amount), test.fields)
			if estimates != test.estimates {
				t.Errorf("gas was estimated %d times, want %d", estimates, test.estimates)
			}
			if test.required == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := api.ErrCannotPay
			if test.has == 5 {
				want = api.ErrPayerCannotPay
			}
			var e *Error
			if !errors.Is(err, want) || !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Data["balance"] != test.has || e.Data["needed"] != test.required {
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
			t.Context(), KeyAccount{}, Transfer(types.Account{}, 5), fields,
		); !errors.Is(err, types.ErrOverflow) {
			t.Errorf("%s: error %v, want an overflow", name, err)
		}
	}
	sum := Steps(Transfer(types.Account{}, most), Transfer(types.Account{}, 1))
	if _, err := c.Build(t.Context(), KeyAccount{}, sum, TxFields{}); !errors.Is(err, types.ErrOverflow) {
		t.Errorf("steps: error %v, want an overflow", err)
	}
}

// TestBuildPassesErrorsOn has each call that Build makes fail in turn.
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
			_, err := c.Build(t.Context(), signer(t), Transfer(types.Account{}, 5), TxFields{Payer: KeyAccount{9}})
			if !errors.Is(err, errNoMethod) {
				t.Errorf("error %v, want %v", err, errNoMethod)
			}
		})
	}
}

func TestActions(t *testing.T) {
	parameters := types.Parameters{Version: 2, GasLimit: 5}
	memo, err := Memo("invoice 7")
	if err != nil {
		t.Fatal(err)
	}
	policy := SinglePolicy(signer(t).Signer())
	steps := []types.Step{
		{Target: types.Account{1}, Value: 2, Action: types.Transfer{}},
		{Target: types.Account{2}, Value: 3, Action: types.Call{Function: "f"}},
	}
	for name, test := range map[string]struct{ got, want Action }{
		"transfer": {Transfer(types.Account{1}, 5), Action{types.Account{1}, 5, types.Transfer{}}},
		"memo":     {TransferWithMemo(types.Account{1}, 5, memo), Action{types.Account{1}, 5, types.Transfer{Memo: &memo}}},
		"configure": {
			Configure(parameters), Action{Payload: types.Configure{Parameters: parameters}},
		},
		"steps": {
			Steps(Transfer(types.Account{1}, 2), CallEncoded(types.ContractID{2}, "f", nil, 3)),
			Action{Payload: types.Batch{Steps: steps}},
		},
		"policy":  {SetPolicy(&policy), Action{Payload: types.SetPolicy{Policy: &policy}}},
		"own key": {SetPolicy(nil), Action{Payload: types.SetPolicy{}}},
		"recover": {Recover(&policy), Action{Payload: types.SetPolicy{Recovery: true, Policy: &policy}}},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("%s: got %+v, want %+v", name, test.got, test.want)
		}
	}
	if memo != [32]byte([]byte("invoice 7\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")) {
		t.Errorf("memo %x", memo)
	}
	if _, err := Memo(strings.Repeat("x", 33)); err == nil {
		t.Error("a memo of 33 bytes was taken")
	}
	deploy, err := Deploy("token", []byte{0, 'a', 's', 'm'}, map[string]any{"decimals": 8}, 3)
	if d, ok := deploy.Payload.(types.Deploy); err != nil || !ok || d.Name != "token" || string(d.Code) != "\x00asm" ||
		string(d.InitArgs) != `{"decimals":8}` || deploy.Value != 3 || !deploy.Target.IsZero() {
		t.Errorf("Deploy: got %+v, error %v", deploy, err)
	}
	instance, err := Instantiate("token", types.ContractID{9}, map[string]any{"decimals": 8}, 3)
	if p, ok := instance.Payload.(types.Instantiate); err != nil || !ok || p.Name != "token" ||
		string(p.InitArgs) != `{"decimals":8}` || instance.Value != 3 || instance.Target != (types.Account{9}) {
		t.Errorf("Instantiate: got %+v, error %v", instance, err)
	}
	call, err := Call(types.ContractID{9}, "transfer", nil, 0)
	if c, ok := call.Payload.(types.Call); err != nil || !ok || call.Target != (types.Account{9}) ||
		c.Function != "transfer" || c.Args != nil {
		t.Errorf("Call: got %+v, error %v", call, err)
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
			t.Errorf("got %d, want 7, error %v", id, err)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times, want 1", asked)
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
		{"this package's", cannotPay(api.ErrCannotPay, 5, 7), true},
		{"a payer's", cannotPay(api.ErrPayerCannotPay, 5, 7), true},
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
