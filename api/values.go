package api

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Quantity is an integer encoded in JSON as hex: 0x and lower-case digits without leading zeros; 0x0 for zero.
type Quantity uint64

// Errors for values with an invalid encoding.
var (
	ErrBadQuantity = errors.New("not a hex quantity: 0x and up to 16 digits without leading zeros")
	ErrBadData     = errors.New("not hex data: 0x and an even number of digits")
	ErrBadDecimal  = errors.New("not a non-negative decimal number of at most 64 bits without its point")
	ErrBadFraction = errors.New("not a non-negative decimal number of at most 6 decimals")
)

// ParseQuantity parses a quantity. Its digits may be of either case.
func ParseQuantity(s string) (Quantity, error) {
	if len(s) > len("0x0") && strings.HasPrefix(s, "0x0") {
		return 0, ErrBadQuantity
	}
	q, err := ParseLooseQuantity(s)
	if err != nil {
		return 0, ErrBadQuantity
	}
	return Quantity(q), nil
}

// LooseQuantity is a [Quantity] as a parameter, in the forms that clients use: with any number of leading zeros. The
// prefix 0x is required, as without it 10 would be ambiguous.
type LooseQuantity uint64

// ErrBadLooseQuantity is returned for a parameter that is not a quantity.
var ErrBadLooseQuantity = errors.New("not a hex quantity: 0x and the digits of an integer below 2^64")

// ParseLooseQuantity parses 0x and at least one digit of either case, at most 16 of them after leading zeros.
func ParseLooseQuantity(s string) (LooseQuantity, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || digits == "" {
		return 0, ErrBadLooseQuantity
	}
	if digits = strings.TrimLeft(digits, "0"); len(digits) > 16 {
		return 0, ErrBadLooseQuantity
	}
	var v uint64
	for i := range len(digits) {
		nibble, ok := hexDigit(digits[i])
		if !ok {
			return 0, ErrBadLooseQuantity
		}
		v = v<<4 | uint64(nibble)
	}
	return LooseQuantity(v), nil
}

// MarshalText encodes the quantity as [Quantity.String] does.
func (q LooseQuantity) MarshalText() ([]byte, error) { return Quantity(q).MarshalText() }

// UnmarshalText parses text as [ParseLooseQuantity] does.
func (q *LooseQuantity) UnmarshalText(text []byte) error {
	v, err := ParseLooseQuantity(string(text))
	if err == nil {
		*q = v
	}
	return err
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// String returns the quantity in its JSON form, without quotes.
func (q Quantity) String() string { return string(q.append(make([]byte, 0, 18))) }

func (q Quantity) append(b []byte) []byte {
	return strconv.AppendUint(append(b, '0', 'x'), uint64(q), 16)
}

// MarshalText encodes the quantity as [Quantity.String] does.
func (q Quantity) MarshalText() ([]byte, error) { return q.append(make([]byte, 0, 18)), nil }

// AppendJSON implements [jsonrpc.Appender].
func (q Quantity) AppendJSON(dst []byte) []byte { return append(q.append(append(dst, '"')), '"') }

// UnmarshalText parses text as [ParseQuantity] does.
func (q *Quantity) UnmarshalText(text []byte) error {
	v, err := ParseQuantity(string(text))
	if err == nil {
		*q = v
	}
	return err
}

// Data is a byte string encoded in JSON as hex: 0x and an even number of lower-case digits; 0x if empty.
type Data []byte

// ParseData parses data. Its digits may be of either case.
func ParseData(s string) (Data, error) { return parseData([]byte(s)) }

func parseData(text []byte) (Data, error) {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok {
		return nil, ErrBadData
	}
	b := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(b, digits); err != nil {
		return nil, ErrBadData
	}
	return b, nil
}

// String returns the data in its JSON form, without quotes.
func (d Data) String() string { return string(d.append(make([]byte, 0, 2+2*len(d)))) }

func (d Data) append(b []byte) []byte { return hex.AppendEncode(append(b, '0', 'x'), d) }

// MarshalText encodes the data as [Data.String] does. Empty data is 0x.
func (d Data) MarshalText() ([]byte, error) { return d.append(make([]byte, 0, 2+2*len(d))), nil }

// AppendJSON implements [jsonrpc.Appender].
func (d Data) AppendJSON(dst []byte) []byte { return append(d.append(append(dst, '"')), '"') }

// UnmarshalText parses text as [ParseData] does.
func (d *Data) UnmarshalText(text []byte) error {
	v, err := parseData(text)
	if err == nil {
		*d = v
	}
	return err
}

// LooseData is [Data] as a parameter, in the forms that clients use: the prefix 0x may be missing, even from empty
// data.
type LooseData []byte

// MarshalText encodes the data as [Data.String] does.
func (d LooseData) MarshalText() ([]byte, error) { return Data(d).MarshalText() }

// UnmarshalText parses digits of either case, with or without the prefix 0x.
func (d *LooseData) UnmarshalText(text []byte) error {
	digits, _ := bytes.CutPrefix(text, []byte("0x"))
	b := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(b, digits); err != nil {
		return ErrBadData
	}
	*d = b
	return nil
}

// Fraction is a non-negative number with at most 6 decimals, stored in millionths. It is never NaN or infinite, and
// JSON has it as a plain decimal number.
type Fraction uint64

const (
	fractionUnit     = 1_000_000
	fractionDecimals = 6
)

// Ratio returns n / d rounded down to millionths, 0 if d is 0, and the greatest Fraction on overflow.
func Ratio(n, d uint64) Fraction {
	if d == 0 {
		return 0
	}
	high, low := bits.Mul64(n, fractionUnit)
	if high >= d {
		return math.MaxUint64
	}
	quotient, _ := bits.Div64(high, low, d)
	return Fraction(quotient)
}

// Float returns the nearest float64.
func (f Fraction) Float() float64 { return float64(f) / fractionUnit }

// String returns the fraction in its JSON form, without an exponent or trailing zeros.
func (f Fraction) String() string {
	whole := strconv.FormatUint(uint64(f/fractionUnit), 10)
	decimals := f % fractionUnit
	if decimals == 0 {
		return whole
	}
	return whole + "." + strings.TrimRight(fmt.Sprintf("%0*d", fractionDecimals, uint64(decimals)), "0")
}

// MarshalJSON encodes the fraction as [Fraction.String] does.
func (f Fraction) MarshalJSON() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalJSON decodes the encoding of [Fraction.MarshalJSON].
func (f *Fraction) UnmarshalJSON(text []byte) error {
	whole, millionths, err := parseDecimal(string(text))
	if err != nil || whole > (math.MaxUint64-uint64(millionths))/fractionUnit {
		return ErrBadFraction
	}
	*f = Fraction(whole*fractionUnit + uint64(millionths))
	return nil
}

// Decimal is a whole number of units of 10^-Places. JSON has it as a plain decimal number with all its digits.
type Decimal struct {
	Units  uint64
	Places uint32
}

// maxPlaces bounds the number of decimals, which a contract chooses. With more, the number is written as 0.
const maxPlaces = 255

// String returns the number in its JSON form, without an exponent or trailing zeros.
func (d Decimal) String() string {
	digits := strconv.FormatUint(d.Units, 10)
	if d.Places > maxPlaces {
		return "0"
	}
	if missing := int(d.Places) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, rest := digits[:len(digits)-int(d.Places)], strings.TrimRight(digits[len(digits)-int(d.Places):], "0")
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}

// MarshalJSON encodes the number as [Decimal.String] does.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON decodes the encoding of [Decimal.MarshalJSON]. Places is set to the number of decimals.
func (d *Decimal) UnmarshalJSON(text []byte) error {
	whole, rest, point := strings.Cut(string(text), ".")
	units, err := strconv.ParseUint(whole+rest, 10, 64)
	if err != nil || whole == "" || point && rest == "" || len(rest) > maxPlaces {
		return ErrBadDecimal
	}
	*d = Decimal{units, uint32(len(rest))}
	return nil
}

// parseDecimal parses a plain decimal number with at most 6 decimals.
func parseDecimal(text string) (whole uint64, millionths uint32, err error) {
	digits, decimals, point := strings.Cut(text, ".")
	if point && (decimals == "" || len(decimals) > fractionDecimals) {
		return 0, 0, ErrBadFraction
	}
	padded := decimals + strings.Repeat("0", fractionDecimals-len(decimals))
	whole, errWhole := strconv.ParseUint(digits, 10, 64)
	m, errDecimals := strconv.ParseUint(padded, 10, 32)
	if errWhole != nil || errDecimals != nil {
		return 0, 0, ErrBadFraction
	}
	return whole, uint32(m), nil
}
