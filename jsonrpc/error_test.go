package jsonrpc_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

func TestErrorIs(t *testing.T) {
	err := fmt.Errorf("call: %w", jsonrpc.NewError(-32003, "the nonce is too low", "reason", "nonce_too_low", "nonce", 4))
	for _, test := range []struct {
		name   string
		target error
		want   bool
	}{
		{"code", &jsonrpc.Error{Code: -32003}, true},
		{"code and reason", jsonrpc.NewError(-32003, "", "reason", "nonce_too_low"), true},
		{"other reason", jsonrpc.NewError(-32003, "", "reason", "nonce_too_high"), false},
		{"other code", jsonrpc.NewError(-32004, "", "reason", "nonce_too_low"), false},
		{"other data", jsonrpc.NewError(-32003, "", "nonce", 5), true},
		{"other type", errDisk, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := errors.Is(err, test.target); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if errors.Is(&jsonrpc.Error{Code: -32003}, jsonrpc.NewError(-32003, "", "reason", "nonce_too_low")) {
		t.Error("an error without a reason is one with a reason")
	}
}

func TestInvalidParamAlone(t *testing.T) {
	want := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "m", Data: map[string]any{"param": "p"}}
	if got := jsonrpc.InvalidParam("p", "m"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestNewErrorPanicsOnBrokenPairs(t *testing.T) {
	for _, data := range [][]any{{"reason"}, {1, 2}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v was taken", data)
				}
			}()
			t.Errorf("made %v", jsonrpc.NewError(1, "m", data...))
		}()
	}
}
