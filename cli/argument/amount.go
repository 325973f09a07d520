package argument

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/types"
)

// ErrBadAmount is returned, wrapped, by [ParseAmount].
var ErrBadAmount = errors.New("bad amount")

// coinDecimals is the number of decimals of one smallest unit in coins: types.CoinUnits is 10 to that power.
const coinDecimals = 8

// ParseAmount parses an amount in coins, such as "1.5", with at most 8 decimals, or in smallest units, such as
// "150000000u". It never rounds: an amount that would need rounding, or does not fit 64 bits, is an error.
func ParseAmount(text string) (types.Amount, error) {
	units, err := ParseUnits(text, coinDecimals)
	return types.Amount(units), err
}

// ParseUnits is like [ParseAmount], for a token with a number of decimals. The result is in the token's smallest units.
func ParseUnits(text string, decimals uint32) (uint64, error) {
	if units, ok := strings.CutSuffix(text, "u"); ok {
		v, err := parseDigits(units)
		if err != nil {
			return 0, badAmount(text, err)
		}
		return v, nil
	}
	whole, fraction, point := strings.Cut(text, ".")
	if point && fraction == "" {
		return 0, badAmount(text, errNoDigits)
	}
	if uint64(len(fraction)) > uint64(decimals) {
		return 0, badAmount(text, fmt.Errorf("it can have %d decimals", decimals))
	}
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, badAmount(text, errNoDigits)
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return 0, nil
	}
	zeros := int64(decimals) - int64(len(fraction))
	if zeros > maxDigits {
		return 0, badAmount(text, errTooLarge)
	}
	v, err := parseDigits(digits + strings.Repeat("0", int(zeros)))
	if err != nil {
		return 0, badAmount(text, err)
	}
	return v, nil
}

// maxDigits is the length of 2^64 − 1 in decimal.
const maxDigits = 20

var (
	errNoDigits = errors.New(`write coins as "1.5", or smallest units as "150000000u"`)
	errTooLarge = errors.New("it is too large")
)

func badAmount(text string, err error) error { return fmt.Errorf("%w %q: %w", ErrBadAmount, text, err) }

// parseDigits parses decimal digits and nothing else: ParseUint in base 10 accepts no sign and no separator.
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

// FormatAmount formats an amount in coins, in the form that [ParseAmount] reads, without trailing zeros.
func FormatAmount(amount types.Amount) string { return FormatUnits(uint64(amount), coinDecimals) }

// FormatUnits is like [FormatAmount], for smallest units of a token with a number of decimals. If 64 bits cannot hold
// one whole token, it formats the amount in units.
func FormatUnits(units uint64, decimals uint32) string {
	text := strconv.FormatUint(units, 10)
	switch {
	case decimals == 0:
		return text
	case decimals > maxDigits:
		return text + "u"
	}
	n := int(decimals)
	if len(text) <= n {
		text = strings.Repeat("0", n+1-len(text)) + text
	}
	whole, fraction := text[:len(text)-n], strings.TrimRight(text[len(text)-n:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
