package argument

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/types"
)

// ErrBadAmount is what [ParseAmount] fails with, wrapped.
var ErrBadAmount = errors.New("bad amount")

// coinDecimals is the number of decimals of one smallest unit in coins: types.CoinUnits is 10 to that power.
const coinDecimals = 8

// ParseAmount parses an amount in coins, "1.5" with at most 8 decimals, or in smallest units, "150000000u". It is exact:
// an amount that would have to be rounded, or does not fit 64 bits, is an error.
func ParseAmount(text string) (types.Amount, error) {
	if units, ok := strings.CutSuffix(text, "u"); ok {
		v, err := parseDigits(units)
		if err != nil {
			return 0, badAmount(text, err)
		}
		return types.Amount(v), nil
	}
	whole, decimals, point := strings.Cut(text, ".")
	if point && decimals == "" {
		return 0, badAmount(text, errNoDigits)
	}
	if len(decimals) > coinDecimals {
		return 0, badAmount(text, fmt.Errorf("a coin has %d decimals", coinDecimals))
	}
	coins, err := parseDigits(whole)
	if err != nil {
		return 0, badAmount(text, err)
	}
	units, err := parseDigits(decimals + strings.Repeat("0", coinDecimals-len(decimals)))
	if err != nil {
		return 0, badAmount(text, err)
	}
	amount, err := types.Gas(coins).Cost(types.CoinUnits)
	if err == nil {
		amount, err = amount.Add(types.Amount(units))
	}
	if err != nil {
		return 0, badAmount(text, errTooLarge)
	}
	return amount, nil
}

var (
	errNoDigits = errors.New(`write coins as "1.5", or smallest units as "150000000u"`)
	errTooLarge = errors.New("it is too large")
)

func badAmount(text string, err error) error { return fmt.Errorf("%w %q: %w", ErrBadAmount, text, err) }

// parseDigits parses decimal digits and nothing else: strconv takes no sign and no separator here.
func parseDigits(digits string) (uint64, error) {
	v, err := strconv.ParseUint(digits, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errTooLarge
	}
	if err != nil {
		return 0, errNoDigits
	}
	return v, nil
}

// FormatAmount writes an amount as [ParseAmount] reads it in coins, with as few decimals as it needs.
func FormatAmount(amount types.Amount) string {
	coins, units := amount/types.CoinUnits, amount%types.CoinUnits
	if units == 0 {
		return strconv.FormatUint(uint64(coins), 10)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%0*d", coins, coinDecimals, units), "0")
}
