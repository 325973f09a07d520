package argument

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

func TestParseBlock(t *testing.T) {
	tests := map[string]api.BlockRef{
		"latest":               api.Latest(),
		"earliest":             api.Earliest(),
		"0":                    api.AtHeight(0),
		"17":                   api.AtHeight(17),
		"0x11":                 api.AtHeight(17),
		"0x011":                api.AtHeight(17),
		"18446744073709551615": api.AtHeight(1<<64 - 1),
	}
	for text, want := range tests {
		if got, err := ParseBlock(text); err != nil || got.Hash != nil || got.Ref != want {
			t.Errorf("%q: got %+v, error %v, want Hash nil and Ref %v", text, got, err, want)
		}
	}
	for _, text := range []string{strings.Repeat("ab", 32), "0x" + strings.Repeat("AB", 32)} {
		if got, err := ParseBlock(text); err != nil || got.Hash == nil || got.Hash[31] != 0xab {
			t.Errorf("%q: got %+v, error %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "-1", "0x", "head", "1.5", "18446744073709551616", strings.Repeat("ab", 31),
	} {
		if got, err := ParseBlock(text); !errors.Is(err, ErrBadBlock) {
			t.Errorf("%q: got %+v, error %v, want %v", text, got, err, ErrBadBlock)
		}
	}
}

func TestParseTrusted(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	if height, got, err := ParseTrusted("17:0x" + hash); err != nil || height != 17 || got[31] != 0xab {
		t.Errorf("got %d, %s, error %v", height, got, err)
	}
	for _, text := range []string{
		"", ":", "17", "17:", ":0x" + hash, "0x11:0x" + hash, "-1:0x" + hash, "17:0x" + hash + "ab", "17:0x" + hash + ":",
		"17 :0x" + hash,
	} {
		if height, got, err := ParseTrusted(text); !errors.Is(err, ErrBadBlock) {
			t.Errorf("%q: got %d, %s, error %v, want %v", text, height, got, err, ErrBadBlock)
		}
	}
}

func TestParseTxID(t *testing.T) {
	want := types.TxID([]byte(strings.Repeat("\xab", 32)))
	if got, err := ParseTxID("0x" + strings.Repeat("ab", 32)); got != want || err != nil {
		t.Errorf("got %s, want %s, error %v", got, want, err)
	}
	for _, text := range []string{"", "0x", "17", strings.Repeat("ab", 33), strings.Repeat("x", 64)} {
		if _, err := ParseTxID(text); !errors.Is(err, ErrBadHash) {
			t.Errorf("%q: error %v, want %v", text, err, ErrBadHash)
		}
	}
}

func TestParseOverride(t *testing.T) {
	if height, file, err := ParseOverride("17:a:b.json"); err != nil || height != 17 || file != "a:b.json" {
		t.Errorf("got %d, %q, %v, want 17, a:b.json", height, file, err)
	}
	for _, text := range []string{"", "17", "17:", ":a.json", "0:a.json", "-1:a.json", "0x11:a.json"} {
		if height, file, err := ParseOverride(text); !errors.Is(err, ErrBadBlock) {
			t.Errorf("%q: got %d, %q, %v, want ErrBadBlock", text, height, file, err)
		}
	}
}
