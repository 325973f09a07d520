package api

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

func TestBlockRef(t *testing.T) {
	for text, want := range map[string]types.Height{
		`"latest"`: 9, `"earliest"`: 0, `"0x0"`: 0, `"0xA"`: 10, `"0x07"`: 7, `"0x0000000000000000000000000a"`: 10,
		`7`: 7, `0`: 0, `18446744073709551615`: 1<<64 - 1,
		`"lates\u0074"`: 9,
	} {
		var ref BlockRef
		if err := json.Unmarshal([]byte(text), &ref); err != nil || ref.Resolve(9) != want {
			t.Errorf("%s: got %v, %v, want Resolve %v", text, ref, err, want)
		}
		again, err := json.Marshal(ref)
		if err != nil {
			t.Fatal(err)
		}
		var second BlockRef
		if err := json.Unmarshal(again, &second); err != nil || second != ref {
			t.Errorf("%s became %s", text, again)
		}
	}
}

func TestBlockRefRefuses(t *testing.T) {
	for _, text := range []string{`"pending"`, `"Latest"`, `""`, `"7"`, `-1`, `1.0`, `1e3`, `true`, `null`, `{}`,
		`[]`,
		`18446744073709551616`, `"0x10000000000000000"`, `"0x"`, `"07"`, ``} {
		for _, ref := range []json.Unmarshaler{new(BlockRef), new(NonceRef)} {
			if _, nonce := ref.(*NonceRef); nonce && text == `"pending"` {
				continue
			}
			var e *jsonrpc.Error
			if err := ref.UnmarshalJSON([]byte(text)); !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("%T of %s: got %v", ref, text, err)
			}
		}
	}
}

func TestNonceRef(t *testing.T) {
	for text, want := range map[string]NonceRef{
		`"pending"`: Pending(), `"latest"`: {}, `"0x3"`: {Block: AtHeight(3)}, `3`: {Block: AtHeight(3)},
	} {
		var ref NonceRef
		if err := json.Unmarshal([]byte(text), &ref); err != nil || ref != want {
			t.Errorf("%s: got %v, want %v, %v", text, ref, want, err)
		}
		again, err := json.Marshal(ref)
		if err != nil || json.Unmarshal(again, &ref) != nil || ref != want {
			t.Errorf("%s became %s, error %v", text, again, err)
		}
	}
}

func FuzzBlockRef(f *testing.F) {
	for _, s := range []string{`"latest"`, `"earliest"`, `"0x1f"`, `12`, `"pending"`, `null`, `-1`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var ref, again BlockRef
		if ref.UnmarshalJSON([]byte(s)) != nil {
			return
		}
		text, err := json.Marshal(ref)
		if err != nil || again.UnmarshalJSON(text) != nil || again != ref {
			t.Errorf("%q became %s, error %v", s, text, err)
		}
	})
}
