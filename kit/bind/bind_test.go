package bind

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// both are the ABIs of a contract that takes the binary form, and of one that does not.
func both() map[string]abi.ABI {
	const rest = `"functions":[{"name":"add","mode":"write","args":[{"name":"a","type":"u64"},{"name":"list","type":"u8?[]"}],
		"returns":"u128"},{"name":"stop","mode":"write","args":[]}],"events":[{"name":"E","args":[{"name":"a","type":"i8"}]}],
		"errors":[{"name":"Low","code":2,"fields":[{"name":"a","type":"u64"}]},{"name":"None","code":3}]}`
	return map[string]abi.ABI{
		"binary": Declared(`{"abi":2,"binary":true,` + rest), "JSON": Declared(`{"abi":2,` + rest),
	}
}

func TestArgumentsInTheFormThatIsTaken(t *testing.T) {
	seven := uint8(7)
	write := func(e *codec.Encoder) {
		e.U64(1 << 60)
		PutList(e, []*uint8{nil, &seven}, func(e *codec.Encoder, v *uint8) { PutOptional(e, v, (*codec.Encoder).U8) })
	}
	for form, want := range map[string]string{
		"binary": "\x01\x00\x00\x00\x00\x00\x00\x00\x10\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x07",
		"JSON":   `{"a":"1152921504606846976","list":[null,7]}`,
	} {
		action, err := Call(both()[form], types.ContractID{9}, "add", 5, write)
		call, ok := action.Payload.(types.Call)
		if err != nil || !ok || string(call.Args) != want || call.Function != "add" || action.Value != 5 ||
			action.Target != (types.Account{9}) {
			t.Errorf("%s: got %+v, error %v", form, action, err)
		}
	}
	for form, want := range map[string]string{"binary": "\x01", "JSON": ""} {
		if args, err := Arguments(both()[form], "stop", nil); err != nil || string(args) != want {
			t.Errorf("%s: got %q, want %q, error %v", form, args, want, err)
		}
	}
	if _, err := Arguments(both()["JSON"], "add", (*codec.Encoder).Reset); !errors.Is(err, abi.ErrArgument) {
		t.Errorf("arguments are missing: error %v, want %v", err, abi.ErrArgument)
	}
	if _, err := Arguments(both()["JSON"], "gone", nil); !errors.Is(err, abi.ErrBad) {
		t.Errorf("there is no such function: error %v, want %v", err, abi.ErrBad)
	}
}

// A new contract gets its arguments in the form that its code takes, whether the code is sent or a template's.
func TestDeployAndInstantiate(t *testing.T) {
	const rest = `"functions":[{"name":"init","mode":"init","args":[{"name":"cap","type":"u8"}]}],"events":[]}`
	write := func(e *codec.Encoder) { e.U8(7) }
	for form, c := range map[string]struct{ abi, args string }{
		"binary": {`{"abi":2,"binary":true,` + rest, "\x01\x07"}, "JSON": {`{"abi":2,` + rest, `{"cap":7}`},
	} {
		a := Declared(c.abi)
		deploy, err := Deploy(a, "name", []byte("code"), 5, write)
		if p, ok := deploy.Payload.(types.Deploy); err != nil || !ok || string(p.InitArgs) != c.args || p.Name != "name" ||
			string(p.Code) != "code" || deploy.Value != 5 || !deploy.Target.IsZero() {
			t.Errorf("%s: got %+v, error %v", form, deploy, err)
		}
		instance, err := Instantiate(a, "name", types.ContractID{9}, 5, write)
		if p, ok := instance.Payload.(types.Instantiate); err != nil || !ok || string(p.InitArgs) != c.args ||
			p.Name != "name" || instance.Value != 5 || instance.Target != (types.Account{9}) {
			t.Errorf("%s: got %+v, error %v", form, instance, err)
		}
	}
}

func TestReadsBothForms(t *testing.T) {
	for form, a := range both() {
		for _, output := range []string{
			"\x01\x05\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00", `"18446744073709551621"`,
		} {
			if v, err := Result(a, "add", []byte(output), Uint128); err != nil || v != (abi.Uint128{Hi: 1, Lo: 5}) {
				t.Errorf("%s: got %v, error %v", form, v, err)
			}
		}
		for _, output := range []string{"", "\x01\x05", `"x"`, "true"} {
			if _, err := Result(a, "add", []byte(output), Uint128); !errors.Is(err, abi.ErrArgument) {
				t.Errorf("%s: %q is read: error %v, want %v", form, output, err, abi.ErrArgument)
			}
		}
		if v, err := Event(a, "E", []byte(`{"a":-5}`), (*codec.Decoder).U8); err != nil || int8(v) != -5 {
			t.Errorf("%s: got %d, error %v", form, v, err)
		}
		for _, data := range []string{
			"\x01\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00", `{"error":"Low","code":2,"data":{"a":7}}`,
		} {
			if v, ok := Error(a, "Low", []byte(data), (*codec.Decoder).U64); !ok || v != 7 {
				t.Errorf("%s: got %d, %v", form, v, ok)
			}
			if _, ok := Error(a, "None", []byte(data), (*codec.Decoder).Err); ok {
				t.Errorf("%s: %q is another error", form, data)
			}
		}
		passed := append([]byte{2, 31: 1}, "\x01\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00"...)
		if _, ok := Error(a, "Low", passed, (*codec.Decoder).U64); ok {
			t.Error("another contract's error is taken for this one's")
		}
	}
}

func TestRevertData(t *testing.T) {
	for _, given := range []any{api.Data("\x01\x02"), "0x0102"} {
		data, ok := RevertData(&client.Error{Data: map[string]any{"revertData": given}})
		if !ok || hex.EncodeToString(data) != "0102" {
			t.Errorf("got %x, %v", data, ok)
		}
	}
	noHex := &client.Error{Data: map[string]any{"revertData": "0xz"}}
	for _, err := range []error{errors.New("no"), &client.Error{}, noHex} {
		if data, ok := RevertData(err); ok {
			t.Errorf("%v has %x", err, data)
		}
	}
}

func TestDeclaredRefusesWhatIsNoABI(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there was no panic")
		}
	}()
	Declared("{")
}

func TestShow(t *testing.T) {
	account, four := types.Account{31: 7}, uint8(4)
	pair := struct {
		A *types.Account
		B *uint8
	}{&account, nil}
	for want, value := range map[string]any{
		"4":                                   &four,
		"none":                                (*types.Account)(nil),
		"18446744073709551616":                abi.Uint128{Hi: 1},
		"{A:" + account.String() + " B:none}": pair,
		"[0x0102 0x]":                         [][]byte{{1, 2}, nil},
		"0x0102":                              [2]byte{1, 2},
		"[4 none]":                            []*uint8{&four, nil},
		"a b":                                 "a b",
	} {
		if got := Show(value); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
