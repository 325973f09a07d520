//go:build js && wasm

// Command wasm is the verifier of package proof for JavaScript. index.js loads it and is what applications import.
package main

import (
	"errors"
	"os"
	"syscall/js"

	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// main passes its functions to the global function that the first argument names, and then waits for calls.
func main() {
	js.Global().Call(os.Args[1], js.FuncOf(verify), js.FuncOf(newChain), js.FuncOf(verifyInclusion), js.FuncOf(newFollower))
	select {}
}

// verify takes a Uint8Array, a number of bits, and whether to expect a range. It returns a verdict or a refusal.
func verify(_ js.Value, args []js.Value) any {
	verdict, err := verdictOn(args[0], args[1].Int(), args[2].Bool())
	if err != nil {
		return refusal(err)
	}
	return object(verdict)
}

// newChain takes height and hash of a trusted block, and a number of bits. It returns a function that takes the next
// proof as a Uint8Array and returns a verdict as verify does, for a block in the form of a range's. It returns null if
// the hash is malformed.
func newChain(_ js.Value, args []js.Value) any {
	var trusted types.BlockHash
	if err := trusted.UnmarshalText([]byte(args[1].String())); err != nil {
		return nil
	}
	chain := proof.NewChain(types.Height(args[0].Int()), trusted, args[2].Int())
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		encoded, err := bytesOf(args[0])
		if err != nil {
			return refusal(err)
		}
		next := *chain
		verdict, err := next.Next(encoded)
		if err == nil {
			err = fits(&verdict)
		}
		if err != nil {
			return refusal(err)
		}
		*chain = next
		o := object(verdict)
		o.Set("fromHeight", uint64(verdict.FromHeight))
		o.Set("producerShown", chain.Signed())
		return o
	})
}

// refusal returns the reason why there is no verdict.
func refusal(err error) js.Value {
	o := js.Global().Get("Object").New()
	o.Set("refused", err.Error())
	o.Set("handedOver", errors.Is(err, proof.ErrHandedOver))
	o.Set("parametersNeeded", errors.Is(err, proof.ErrParametersNeeded))
	o.Set("forked", errors.Is(err, proof.ErrFork))
	o.Set("unknownVersion", errors.Is(err, proof.ErrUnknownVersion))
	if fault := (*proof.Equivocation)(nil); errors.As(err, &fault) {
		o.Set("equivocation", []any{array(fault.First.Encode()), array(fault.Second.Encode())})
	}
	return o
}

// object returns a verdict as a JavaScript object with the members of its JSON. It is written by hand: encoding/json
// would be a tenth of the program.
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

// array returns a Uint8Array.
func array(b []byte) js.Value {
	a := js.Global().Get("Uint8Array").New(len(b))
	js.CopyBytesToJS(a, b)
	return a
}

// bytesOf returns the bytes of a Uint8Array.
func bytesOf(array js.Value) ([]byte, error) {
	size := array.Length()
	if size > proof.MaxBundleBytes {
		return nil, errors.New("the bundle is too large")
	}
	b := make([]byte, size)
	js.CopyBytesToGo(b, array)
	return b, nil
}

// fits returns an error if JavaScript cannot represent the verdict's integers exactly.
func fits(v *proof.RangeVerdict) error {
	if v.ChainID > maxNumber || v.Height > maxNumber {
		return errors.New("chain id or height is not a safe integer in JavaScript")
	}
	return nil
}

func verdictOn(bundle js.Value, bits int, ofRange bool) (verdict proof.RangeVerdict, err error) {
	b, err := bytesOf(bundle)
	if err != nil {
		return verdict, err
	}
	if ofRange {
		verdict, err = proof.VerifyRange(b, bits)
	} else {
		verdict.Verdict, err = proof.Verify(b, bits)
	}
	if err != nil {
		return verdict, err
	}
	return verdict, fits(&verdict)
}
