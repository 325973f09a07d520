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
		payload, err := c.CallAs(t.Context(), types.ContractID{9}, "add", args, 3)
		call, ok := payload.(types.Call)
		if err != nil || !ok || string(call.Args) != test.want || call.Amount != 3 || call.Function != "add" {
			t.Errorf("%+v, %v", payload, err)
		}
	}
	c := connect(t, nil, always(api.GetContractABI, declared(`{"abi":2,"binary":true,`)))
	for function, args := range map[string]any{"add": map[string]any{"amount": -1}, "gone": nil} {
		if payload, err := c.CallAs(t.Context(), types.ContractID{9}, function, args, 0); !errors.Is(err, abi.ErrArgument) {
			t.Errorf("%s: %+v, %v", function, payload, err)
		}
	}
}
