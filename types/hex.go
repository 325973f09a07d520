package types

import (
	"encoding/hex"
	"errors"
)

// Hex is a byte string that JSON files represent in hex: 0x and an even number of lower-case digits, possibly none.
type Hex []byte

// ErrBadHex is returned for text that is not a [Hex].
var ErrBadHex = errors.New("not hex: 0x and an even number of digits")

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return hex.AppendEncode([]byte("0x"), h), nil }

// UnmarshalText implements encoding.TextUnmarshaler. Digits may be of either case. It returns [ErrBadHex].
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
