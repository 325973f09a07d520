package client

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// A call is sent in the form that the contract takes.
func TestCallAs(t *testing.T) {
	declared := func(head string) *abi.ABI {
		a, err := abi.Parse([]byte(head +
			`"functions":[{"name":"add","mode":"write","args":[{"name":"amount","type":"u64"}]}],"events":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		return &a
	}
	args := map[string]any{"amount": 5}
	for _, test := range []struct {
		abi  *abi.ABI
		want string
	}{
		{declared(`{"abi":2,"binary":true,`), "\x01\x05\x00\x00\x00\x00\x00\x00\x00"},
		{declared(`{`), `{"amount":5}`},
		{nil, `{"amount":5}`},
	} {
		c := connect(t, nil, always(api.GetContractABI, test.abi))
		action, err := c.CallAs(t.Context(), types.ContractID{9}, "add", args, 3)
		call, ok := action.Payload.(types.Call)
		if err != nil || !ok || string(call.Args) != test.want || action.Value != 3 || call.Function != "add" ||
			action.Target != (types.Account{9}) {
			t.Errorf("got %+v, error %v", action, err)
		}
	}
	c := connect(t, nil, always(api.GetContractABI, declared(`{"abi":2,"binary":true,`)))
	for function, args := range map[string]any{"add": map[string]any{"amount": -1}, "gone": nil} {
		if payload, err := c.CallAs(t.Context(), types.ContractID{9}, function, args, 0); !errors.Is(err, abi.ErrArgument) {
			t.Errorf("%s: got %+v, error %v, want %v", function, payload, err, abi.ErrArgument)
		}
	}
}

// TestCostsOf: the max fee bounds the price paid, and the gas limit bounds the total.
func TestCostsOf(t *testing.T) {
	tx := types.Transaction{
		GasLimit: 300_000, MaxFeePerGas: 20, MaxPriorityFeePerGas: 3, Value: 7, Payload: types.Call{},
	}
	for base, want := range map[types.Amount]Costs{
		10: {Amount: 7, LikelyGas: 100_000, LikelyFee: 1_300_000, FeeCap: 6_000_000},
		19: {Amount: 7, LikelyGas: 100_000, LikelyFee: 2_000_000, FeeCap: 6_000_000}, // the max fee leaves a tip of 1
		50: {Amount: 7, LikelyGas: 100_000, LikelyFee: 2_000_000, FeeCap: 6_000_000}, // it is in a later block
	} {
		if got, err := CostsOf(tx, 100_000, base); err != nil || got != want {
			t.Errorf("at %d: got %+v, %v; want %+v", base, got, err, want)
		}
	}
}
