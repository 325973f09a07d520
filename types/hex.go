package types

import (
	"encoding/hex"
	"errors"
)

// Hex is bytes that files in JSON carry as hex: 0x and an even number of lower-case digits, 0x for none.
type Hex []byte

// ErrBadHex is the error of a text that is no [Hex].
var ErrBadHex = errors.New("not hex: 0x and an even number of digits")

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode([]byte("0x"), h), nil }

// UnmarshalText implements encoding.TextUnmarshaler; digits may be of either case. The error is [ErrBadHex].
func (h *Hex) UnmarshalText(text []byte) error {
	if len(text) < 2 || string(text[:2]) != "0x" {
		return ErrBadHex
	}
	decoded := make([]byte, hex.DecodedLen(len(text)-2))
	if _, err := hex.Decode(decoded, text[2:]); err != nil {
		return ErrBadHex
	}
	*h = decoded
	return nil
}
