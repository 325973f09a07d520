package api

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]uint64{
		"0x0": 0, "0x1": 1, "0xa": 10, "0xA": 10, "0xff": 255, "0x7A69": 31337, "0xffffffffffffffff": math.MaxUint64,
	} {
		if got, err := ParseQuantity(text); err != nil || uint64(got) != want {
			t.Errorf("%s: got %d, want %d, %v", text, got, want, err)
		}
	}
	for _, text := range []string{
		"", "0x", "0", "1", "0x00", "0x01", "0X1", "x1", "0x1g", "0x-1", "-0x1", "0x+1", "0x1_0", " 0x1", "0x1 ",
		"0x10000000000000000", "latest",
	} {
		if got, err := ParseQuantity(text); !errors.Is(err, ErrBadQuantity) {
			t.Errorf("%q: got %d, error %v, want %v", text, got, err, ErrBadQuantity)
		}
	}
}

func TestParseData(t *testing.T) {
	for text, want := range map[string]string{"0x": "", "0x00": "\x00", "0xAbcD": "\xab\xcd"} {
		if got, err := ParseData(text); err != nil || string(got) != want {
			t.Errorf("%s: got %x, want %x, %v", text, got, want, err)
		}
	}
	for _, text := range []string{"", "00", "0x0", "0xzz", "0X00", "0x00 "} {
		if got, err := ParseData(text); !errors.Is(err, ErrBadData) {
			t.Errorf("%q: got %x, error %v, want %v", text, got, err, ErrBadData)
		}
	}
}

func TestRatio(t *testing.T) {
	for _, tc := range []struct {
		n, d uint64
		want string
	}{
		{0, 0, "0"}, {5, 0, "0"}, {0, 7, "0"}, {1, 2, "0.5"}, {1, 3, "0.333333"}, {2, 3, "0.666666"}, {7, 7, "1"},
		{1, 1_000_000, "0.000001"}, {1, 1_000_001, "0"}, {123456, 100, "1234.56"},
		{math.MaxUint64, math.MaxUint64, "1"}, {math.MaxUint64, 1, Fraction(math.MaxUint64).String()},
	} {
		if got := Ratio(tc.n, tc.d).String(); got != tc.want {
			t.Errorf("%d/%d: got %s, want %s", tc.n, tc.d, got, tc.want)
		}
	}
	if got := Ratio(1, 4).Float(); got != 0.25 {
		t.Errorf("got %v, want %v", got, 0.25)
	}
}

func TestFractionRefuses(t *testing.T) {
	for _, text := range []string{
		"-1", "1.", ".5", "1.0000000", "1e3", "1.5e1", `"1"`, "null", "18446744073709.551616", "NaN", "1.+5", "1.-5",
	} {
		if err := new(Fraction).UnmarshalJSON([]byte(text)); !errors.Is(err, ErrBadFraction) {
			t.Errorf("%s: got %v, want %v", text, err, ErrBadFraction)
		}
	}
}

func FuzzQuantity(f *testing.F) {
	for _, s := range []string{"0x0", "0x1", "0xff", "0x00", "latest", "0xFFFFFFFFFFFFFFFF"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuantity(s)
		if err == nil && q.String() != strings.ToLower(s) {
			t.Errorf("%q became %s", s, q)
		}
	})
}

func FuzzFraction(f *testing.F) {
	for _, s := range []string{"0", "0.5", "12.000001", "18446744073709.551615"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var first, second Fraction
		if first.UnmarshalJSON([]byte(s)) != nil {
			return
		}
		if err := json.Unmarshal([]byte(first.String()), &second); err != nil || first != second {
			t.Errorf("%q: %d became %d, error %v", s, first, second, err)
		}
	})
}

// TestDecimal: a number is written with all its digits, and read back unchanged.
func TestDecimal(t *testing.T) {
	for _, test := range []struct {
		Decimal
		want string
	}{
		{Decimal{0, 8}, "0"}, {Decimal{99, 8}, "0.00000099"}, {Decimal{150, 2}, "1.5"}, {Decimal{7, 0}, "7"},
		{Decimal{math.MaxUint64, 0}, "18446744073709551615"}, {Decimal{math.MaxUint64, 19}, "1.8446744073709551615"},
		{Decimal{100, 2}, "1"}, {Decimal{1, 255}, "0." + strings.Repeat("0", 254) + "1"}, {Decimal{1, 256}, "0"},
		{Decimal{5, math.MaxUint32}, "0"},
	} {
		text, err := test.MarshalJSON()
		if err != nil || string(text) != test.want {
			t.Errorf("%d, %d places: got %s, %v, want %s", test.Units, test.Places, text, err, test.want)
		}
		var again Decimal
		if err := again.UnmarshalJSON(text); err != nil || again.String() != test.want {
			t.Errorf("%s: got %s, %v, want the same", text, again, err)
		}
	}
	for _, text := range []string{"", "-1", ".5", "5.", "1e3", "1.2.3", `"1"`, "18446744073709551616", "null"} {
		if err := new(Decimal).UnmarshalJSON([]byte(text)); !errors.Is(err, ErrBadDecimal) {
			t.Errorf("%q: got %v, want %v", text, err, ErrBadDecimal)
		}
	}
}
