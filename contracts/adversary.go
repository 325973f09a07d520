package contracts

import (
	"bytes"
	_ "embed" // for the adversary's module
)

//go:embed wasm/adversary.wasm
var adversary []byte

// Adversary is the compiled contract that the fuzzer uses as an adversary (kit/contracttest/fuzz).
func Adversary() []byte { return bytes.Clone(adversary) }
