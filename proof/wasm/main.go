//go:build js && wasm

// Command wasm is the verifier of package proof for JavaScript. index.js loads it and is what applications import.
package main

import (
	"errors"
	"os"
	"syscall/js"

	"github.com/cairn-chain/cairn/proof"
)

// main hands the verifier to the global function that the first argument names, and then waits for calls.
func main() {
	js.Global().Call(os.Args[1], js.FuncOf(verify))
	select {}
}

// verify takes a Uint8Array, a number of bits, and whether it is to be a range. It returns a verdict, or the reason for
// none as a string.
func verify(_ js.Value, args []js.Value) any {
	verdict, err := verdictOn(args[0], args[1].Int(), args[2].Bool())
	if err != nil {
		return err.Error()
	}
	return object(verdict)
}

// object is a verdict's JSON as an object of JavaScript. It is made by hand: encoding/json would be a tenth of the
// program.
func object(v proof.RangeVerdict) js.Value {
	o := js.Global().Get("Object").New()
	if v.Statement == proof.RangeStatement {
		o.Set("fromHeight", uint64(v.FromHeight))
	}
	for _, member := range []struct {
		name  string
		value any
	}{
		{"chainId", v.ChainID},
		{"height", uint64(v.Height)},
		{"blockHash", v.BlockHash.String()},
		{"parentHash", v.ParentHash.String()},
		{"producer", v.Producer.String()},
		{"preRoot", v.PreRoot.String()},
		{"postRoot", v.PostRoot.String()},
		{"statement", v.Statement},
		{"securityBits", v.SecurityBits},
		{"stateHashBits", v.StateHashBits},
		{"accesses", v.Accesses},
		{"writes", v.Writes},
		{"circuit", v.Circuit.String()},
	} {
		o.Set(member.name, member.value)
	}
	return o
}

// maxNumber is Number.MAX_SAFE_INTEGER: JavaScript rounds integers above it.
const maxNumber = 1<<53 - 1

func verdictOn(bundle js.Value, bits int, ofRange bool) (verdict proof.RangeVerdict, err error) {
	size := bundle.Length()
	if size > proof.MaxBundleBytes {
		return verdict, errors.New("the bundle is too large")
	}
	b := make([]byte, size)
	js.CopyBytesToGo(b, bundle)
	if ofRange {
		verdict, err = proof.VerifyRange(b, bits)
	} else {
		verdict.Verdict, err = proof.Verify(b, bits)
	}
	if err == nil && (verdict.ChainID > maxNumber || verdict.Height > maxNumber) {
		return verdict, errors.New("chain id or height is not a safe integer of JavaScript")
	}
	return verdict, err
}
