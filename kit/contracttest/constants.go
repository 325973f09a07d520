package contracttest

import "github.com/cairn-chain/cairn/internal/protocol/vm"

// Constants are the numbers in a contract's code, each once, in order: the operands of i32.const and i64.const. A search
// for faults tries what the code compares with.
type Constants struct {
	I32, I64 []uint64
}

// ConstantsOf reads the constants of a code. An error says that it is none that can be deployed.
func ConstantsOf(code []byte) (c Constants, err error) {
	c.I32, c.I64, err = vm.Constants(code)
	return c, err
}
