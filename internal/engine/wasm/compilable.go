package wasm

import (
	"runtime"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// compilable gives a rewritten module as wazero's compiler for this processor gets it.
//
// That for arm64 (1.12.0) has the quotient of a remainder in the register of the result when it begins another block to
// check the divisor. If it brings back a value from the stack there, it takes what lies in a register for the quotient.
// That happens from some 24 live values on. The interpreter and the compiler for amd64 have remainders right.
func compilable(module []byte) []byte {
	if runtime.GOARCH == "arm64" {
		return vm.DivideRemainders(module)
	}
	return module
}
