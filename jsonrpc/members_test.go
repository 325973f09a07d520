package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

func TestStringMembers(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                        `[]`,
		` [ ] `:                     `[]`,
		`[{"raw":"0x12"}]`:          `["0x12"]`,
		`[{"block":null,"raw":""}]`: `[""]`,
		`[ {"raw" : "a" , "b" : [ {} ] } , {"raw":"c"}]`: `["a" "c"]`,
		`[{"raw":"\u0041\n"}]`:                           `["A\n"]`,
		`[{"\u0072aw":"x"}]`:                             `["x"]`,
		`[{"Raw":"y","raw":"x"}]`:                        `["x"]`,
		`[{"block":{"raw":"no"},"raw":"yes"}]`:           `["yes"]`,
	} {
		texts, err := StringMembers([]byte(text), "raw")
		if got := fmt.Sprintf("%q", texts); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		``, `null`, `{}`, `"raw"`, `[`, `[}`, `[null]`, `["raw"]`, `[[]]`, `[{}]`, `[{"raw":null}]`, `[{"raw":1}]`, `[{"raw":["x"]}]`,
		`[{"raw":"x","raw":"x"}]`, `[{"raw":"x"},{}]`, `[{"raw":"x"}`, `[{"raw":"x"},]`, `[{"raw":"x"}] 1`, `[{"raw":"x}]`, `[{"raw" "x"}]`,
		"[{\"raw\":\"\xff\"}]", `[{"raw":"x",}]`, `[{"raw":"x"]`, `[{"raw":"\x"}]`,
	} {
		if texts, err := StringMembers([]byte(text), "raw"); !errors.Is(err, ErrBadAnswer) || texts != nil {
			t.Errorf("%s: %q, %v", text, texts, err)
		}
	}
}

// FuzzStringMembers holds what is taken to encoding/json.
func FuzzStringMembers(f *testing.F) {
	for _, seed := range []string{`[{"raw":"0x12"}]`, `[{"block":null,"raw":""},{"raw":"\u00e9"}]`, `[{"raw":1}]`, `[{"raw":"a","raw":"b"}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		texts, err := StringMembers(text, "raw")
		if err != nil {
			return
		}
		var objects []map[string]json.RawMessage
		if err := json.Unmarshal(text, &objects); err != nil || len(objects) != len(texts) {
			t.Fatalf("%q: %d texts, of %d objects: %v", text, len(texts), len(objects), err)
		}
		for i, object := range objects {
			var want string
			if err := json.Unmarshal(object["raw"], &want); err != nil || !bytes.Equal(texts[i], []byte(want)) {
				t.Errorf("%q: %q, want %q: %v", text, texts[i], want, err)
			}
		}
	})
}
