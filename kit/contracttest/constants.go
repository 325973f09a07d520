package contracttest

import "github.com/cairn-chain/cairn/internal/protocol/vm"

// Constants holds the numbers in a contract's code: the distinct operands of i32.const and i64.const, ascending. The
// fuzzer tries the values that code compares with.
type Constants struct {
	I32, I64 []uint64
}

// ConstantsOf returns the constants of a code. It returns an error if the code cannot be deployed.
func ConstantsOf(code []byte) (c Constants, err error) {
	c.I32, c.I64, err = vm.Constants(code)
	return c, err
}
