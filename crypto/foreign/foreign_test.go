package foreign

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestHashVectors(t *testing.T) {
	for _, c := range []struct {
		name string
		hash func([]byte) [32]byte
		text string
		want string
	}{
		// From Keccak's submission. The first is also Ethereum's hash of empty code.
		{"keccak256", Keccak256, "", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"},
		{"keccak256", Keccak256, "abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"},
		{"blake3", Blake3, "", "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"},
		{"blake3", Blake3, "abc", "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"},
	} {
		if got := c.hash([]byte(c.text)); hex.EncodeToString(got[:]) != c.want {
			t.Errorf("%s of %q: got %x", c.name, c.text, got)
		}
	}
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRecoverECDSA uses the signature in go-ethereum's test of recovery, and invalid ones.
func TestRecoverECDSA(t *testing.T) {
	const r, s = "90f27b8b488db00b00606796d2987f6a5f59ae62ea05effe84fef5b8b0e54998",
		"4a691139ad57a3f0b906637673aa2f63d1f55cb1a69199d4009eea23ceaddc93"
	const key = "e32df42865e97135acfb65f3bae71bdc86f4d49150ad6a440b6f15878109880a" +
		"0a2b2667f7e725ceea70c673093bf67663e0312623c8e091b13cf2c0f11ef652"
	hash := [32]byte(unhex(t, "ce0677bb30baa8cf067c88db9811f4333d131bf8bcf12fe7065d211dce971008"))
	const order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"
	for _, c := range []struct{ name, sig, want string }{
		{"signature", r + s + "01", key},
		{
			"s negated, and with it the parity", r + "b596eec652a85c0f46f99c898c55d09ae8b9803508b70667bf337469018864ae" + "00",
			"",
		}, // s above n/2
		{"parity beyond 1", r + s + "02", ""},
		{"s is zero", r + strings.Repeat("00", 32) + "01", ""},
		{"r is zero", strings.Repeat("00", 32) + s + "01", ""},
		{"s is the order", r + order + "01", ""},
		{"r is the order", order + s + "01", ""},
		{"r is no point's x", strings.Repeat("00", 31) + "05" + s + "01", ""},
	} {
		got, ok := RecoverECDSA(hash, [65]byte(unhex(t, c.sig)))
		if want := c.want != ""; ok != want || want && hex.EncodeToString(got[:]) != c.want {
			t.Errorf("%s: got %x, %v", c.name, got, ok)
		}
	}
	if other, ok := RecoverECDSA(hash, [65]byte(unhex(t, r+s+"00"))); ok && hex.EncodeToString(other[:]) == key {
		t.Error("both parities give one key")
	}
}
