//go:build js && wasm

// Command wasm is the verifier of package proof for JavaScript. index.js loads it and is what applications import.
package main

import (
	"encoding/json"
	"errors"
	"os"
	"syscall/js"

	"github.com/cairn-chain/cairn/proof"
)

// answer is a verification's result: a verdict or why there is none.
type answer struct {
	Verdict *proof.Verdict `json:"verdict,omitempty"`
	Refused string         `json:"refused,omitempty"`
}

// main hands the verifier to the global function that the first argument names, and then waits for calls.
func main() {
	js.Global().Call(os.Args[1], js.FuncOf(verify))
	select {}
}

// verify takes a Uint8Array and a number of bits, and returns an answer in JSON.
func verify(_ js.Value, args []js.Value) any {
	var a answer
	verdict, err := verdictOn(args[0], args[1].Int())
	if a.Verdict = &verdict; err != nil {
		a = answer{Refused: err.Error()}
	}
	encoded, err := json.Marshal(a)
	if err != nil {
		panic(err) // a verdict is of numbers and hex
	}
	return string(encoded)
}

// maxNumber is Number.MAX_SAFE_INTEGER: JavaScript rounds integers above it.
const maxNumber = 1<<53 - 1

func verdictOn(bundle js.Value, bits int) (proof.Verdict, error) {
	size := bundle.Length()
	if size > proof.MaxBundleBytes {
		return proof.Verdict{}, errors.New("the bundle is too large")
	}
	b := make([]byte, size)
	js.CopyBytesToGo(b, bundle)
	verdict, err := proof.Verify(b, bits)
	if err == nil && (verdict.ChainID > maxNumber || verdict.Height > maxNumber) {
		return proof.Verdict{}, errors.New("chain id or height is not a safe integer of JavaScript")
	}
	return verdict, err
}
