package types_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func TestParseBytes32(t *testing.T) {
	digits := "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	want := count[types.TxID](0)
	if want.String() != "0x"+digits {
		t.Errorf("renders as %s", want)
	}
	for _, text := range []string{digits, "0x" + digits, strings.ToUpper(digits), "0x" + strings.ToUpper(digits)} {
		if got, err := types.ParseBytes32[types.TxID](text); err != nil || got != want {
			t.Errorf("%s: got %v, want %v, %v", text, got, want, err)
		}
	}
	bad := []string{
		"", "0x", digits[1:], digits[2:], digits + "0", digits + "00", "0X" + digits, "0x0x" + digits[2:], "g" + digits[1:],
		digits[:63] + "\n",
	}
	for _, text := range bad {
		if got, err := types.ParseBytes32[types.TxID](text); !errors.Is(err, types.ErrBadHex32) || !got.IsZero() {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestBytes32JSON(t *testing.T) {
	want := count[types.BlockHash](0x50)
	text, err := json.Marshal(want)
	if err != nil || string(text) != `"`+want.String()+`"` {
		t.Fatalf("renders as %s, error %v", text, err)
	}
	var got types.BlockHash
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("reads as %v, want %v, error %v", got, want, err)
	}
	if err := json.Unmarshal([]byte(`"0x50"`), &got); !errors.Is(err, types.ErrBadHex32) || got != want {
		t.Errorf("a short value: %v, leaves %v", err, got)
	}
}

func TestBytes32Order(t *testing.T) {
	low, high := types.Account{0, 31: 255}, types.Account{1}
	if low.Compare(high) != -1 || high.Compare(low) != 1 || low.Compare(low) != 0 {
		t.Error("values are not ordered by their bytes")
	}
	if low.IsZero() || !(types.Account{}).IsZero() {
		t.Error("IsZero is wrong")
	}
}

func TestSignatureString(t *testing.T) {
	if got := (types.Signature{0: 0xab, 63: 1}).String(); got != "0xab"+strings.Repeat("0", 124)+"01" {
		t.Errorf("renders as %s", got)
	}
}
