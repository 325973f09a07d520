package types

import (
	"errors"
	"math/bits"
)

// Amount is a native amount, or a price per gas, in the smallest unit: 10^8 units are one coin.
type Amount uint64

// Gas is an amount of work (docs/protocol.md, gas schedule).
type Gas uint64

// Height is a block's number; genesis has 0.
type Height uint64

// CoinUnits is the number of smallest units in one coin.
const CoinUnits Amount = 100_000_000

// ErrOverflow is returned if a result does not fit a u64.
var ErrOverflow = errors.New("amount does not fit 64 bits")

// Add returns a + b.
func (a Amount) Add(b Amount) (Amount, error) {
	sum, carry := bits.Add64(uint64(a), uint64(b), 0)
	if carry != 0 {
		return 0, ErrOverflow
	}
	return Amount(sum), nil
}

// Sub returns a − b.
func (a Amount) Sub(b Amount) (Amount, error) {
	if b > a {
		return 0, ErrOverflow
	}
	return a - b, nil
}

// Cost returns the cost of g gas at a price.
func (g Gas) Cost(price Amount) (Amount, error) {
	high, low := bits.Mul64(uint64(g), uint64(price))
	if high != 0 {
		return 0, ErrOverflow
	}
	return Amount(low), nil
}
