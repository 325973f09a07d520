package types_test

import (
	"errors"
	"math/big"
	"testing"

	"github.com/cairn-chain/cairn/types"
	"pgregory.net/rapid"
)

// Each operation agrees with integers of any size, or returns ErrOverflow if the result does not fit 64 bits.
func TestAmountArithmetic(t *testing.T) {
	// All pairs of limits, which rapid seldom draws together.
	edges := []uint64{0, 1, 2, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1}
	for _, a := range edges {
		for _, b := range edges {
			checkArithmetic(t, a, b)
		}
	}
	rapid.Check(t, func(t *rapid.T) { checkArithmetic(t, rapid.Uint64().Draw(t, "a"), rapid.Uint64().Draw(t, "b")) })
}

func checkArithmetic(t rapid.TB, a, b uint64) {
	t.Helper()
	bigA, bigB := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
	check := func(operation string, got types.Amount, err error, want *big.Int) {
		t.Helper()
		if !want.IsUint64() {
			if !errors.Is(err, types.ErrOverflow) || got != 0 {
				t.Fatalf("%d %s %d: got %d, %v, want an overflow", a, operation, b, got, err)
			}
		} else if err != nil || uint64(got) != want.Uint64() {
			t.Fatalf("%d %s %d: got %d, %v, want %d", a, operation, b, got, err, want)
		}
	}
	sum, err := types.Amount(a).Add(types.Amount(b))
	check("+", sum, err, new(big.Int).Add(bigA, bigB))
	difference, err := types.Amount(a).Sub(types.Amount(b))
	check("−", difference, err, new(big.Int).Sub(bigA, bigB))
	product, err := types.Gas(a).Cost(types.Amount(b))
	check("×", product, err, new(big.Int).Mul(bigA, bigB))
}
