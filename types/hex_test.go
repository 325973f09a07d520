package types

import (
	"bytes"
	"errors"
	"testing"
)

func TestHex(t *testing.T) {
	for text, want := range map[string][]byte{"0x": {}, "0x00ff": {0, 255}, "0xABcd": {0xab, 0xcd}} {
		var h Hex
		if err := h.UnmarshalText([]byte(text)); err != nil || !bytes.Equal(h, want) {
			t.Errorf("%s is %x, %v; want %x", text, h, err, want)
		}
		if back, err := h.MarshalText(); err != nil || string(back) != string(bytes.ToLower([]byte(text))) {
			t.Errorf("%x is written as %s, error %v", want, back, err)
		}
	}
	for _, text := range []string{"", "0", "00", "0X00", "0x0", "0xg0", "0x00 "} {
		h := Hex{7}
		if err := h.UnmarshalText([]byte(text)); !errors.Is(err, ErrBadHex) || !bytes.Equal(h, []byte{7}) {
			t.Errorf("%q is %x, error %v", text, h, err)
		}
	}
}
