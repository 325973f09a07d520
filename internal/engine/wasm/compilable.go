package wasm

import (
	"runtime"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// compilable returns a rewritten module in the form for wazero's compiler on this processor.
//
// The compiler for arm64 (1.12.0) computes remainders wrongly. It keeps the quotient in the result's register while it
// starts another block to check the divisor. If that block reloads a value from the stack, which happens from some 24
// live values on, the register may no longer hold the quotient. The interpreter and the compiler for amd64 are correct.
func compilable(module []byte) []byte {
	if runtime.GOARCH == "arm64" {
		return vm.DivideRemainders(module)
	}
	return module
}
