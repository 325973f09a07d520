package contracts

import (
	"bytes"
	_ "embed" // for the receiver's module
)

//go:embed wasm/receiver.wasm
var receiver []byte

// Receiver is the compiled contract that receives tokens in the check of NEP-11 (kit/nep11). It emits Received with the
// arguments of onNEP11Payment, and refuses the data "no".
func Receiver() []byte { return bytes.Clone(receiver) }
