package argument

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

func TestParseAmount(t *testing.T) {
	tests := map[string]types.Amount{
		"0": 0, "0u": 0, "1": 100_000_000, "1.5": 150_000_000, "150000000u": 150_000_000, "0.00000001": 1, "1u": 1,
		"007": 700_000_000, "1.00000000": 100_000_000,
		"184467440737.09551615": 1<<64 - 1, "18446744073709551615u": 1<<64 - 1,
	}
	for text, want := range tests {
		if got, err := ParseAmount(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}

func TestParseBadAmount(t *testing.T) {
	for _, text := range []string{
		"", "u", "-1", "+1", "1.", ".5", ".", "1.5u", "1,5", "1_000", "1e3", "0x10", " 1", "1 ", "1.+5", "1.-5", "١", "1U",
		"1 coin",
		"0.000000001", "1.000000000", "184467440737.09551616", "184467440738", "18446744073709551616u",
		"99999999999999999999",
	} {
		if got, err := ParseAmount(text); !errors.Is(err, ErrBadAmount) {
			t.Errorf("%q: got %d, error %v, want %v", text, got, err, ErrBadAmount)
		}
	}
}

func TestFormatAmount(t *testing.T) {
	tests := map[types.Amount]string{
		0:             "0",
		1:             "0.00000001",
		100_000_000:   "1",
		150_000_000:   "1.5",
		1<<64 - 1:     "184467440737.09551615",
		1_000_000_000: "10",
	}
	for amount, want := range tests {
		if got := FormatAmount(amount); got != want {
			t.Errorf("%d: %q, want %q", amount, got, want)
		}
	}
}

// FuzzParseAmount compares with exact rational arithmetic, and checks that a written amount is read back.
func FuzzParseAmount(f *testing.F) {
	for _, text := range []string{"1.5", "150000000u", "0", "184467440737.09551615", "1.123456789", "-1", "1e5", "u"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		amount, err := ParseAmount(text)
		if err != nil {
			if !errors.Is(err, ErrBadAmount) {
				t.Errorf("error %v, want %v", err, ErrBadAmount)
			}
			return
		}
		digits, units := strings.CutSuffix(text, "u")
		want, ok := new(big.Rat).SetString(digits)
		if !ok {
			t.Fatalf("%q was taken for %d", text, amount)
		}
		if !units {
			want.Mul(want, new(big.Rat).SetUint64(uint64(types.CoinUnits)))
		}
		if want.Cmp(new(big.Rat).SetUint64(uint64(amount))) != 0 {
			t.Errorf("%q was taken for %d", text, amount)
		}
		if again, err := ParseAmount(FormatAmount(amount)); again != amount || err != nil {
			t.Errorf("%d written as %q is read as %d, error %v", amount, FormatAmount(amount), again, err)
		}
	})
}
