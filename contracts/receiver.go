package contracts

import (
	"bytes"
	_ "embed" // for the receiver's module
)

//go:embed wasm/receiver.wasm
var receiver []byte

// Receiver is the compiled contract that the check of NEP-11 sends a token to (kit/nep11): it emits Received with
// what onNEP11Payment is told, and refuses the data "no".
func Receiver() []byte { return bytes.Clone(receiver) }
