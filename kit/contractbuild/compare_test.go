package contractbuild

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

func TestDifferences(t *testing.T) {
	hash, other := contractsource.HashOf([]byte("a")), contractsource.HashOf([]byte("b"))
	module := func(linked []byte, source *contractsource.Hash) []byte {
		code, err := strip(linked, source)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	linked := contract(0x01)
	built := module(linked, &hash)
	if got := Differences(built, bytes.Clone(built), linked); got != nil {
		t.Errorf("the same: got %v", got)
	}
	for name, c := range map[string]struct {
		other []byte
		want  []string
	}{
		"a function": {module(contract(0x01, 0x01), &hash), []string{"section code: 1 of 2 functions, first t::deep"}},
		"the source": {module(linked, &other), []string{`section "cairn_source": 33 bytes, and 33 of the source`}},
		"both":       {module(contract(0x00), &other), []string{"first t::deep", "cairn_source"}},
		"no source":  {module(linked, nil), []string{`section "cairn_source" is missing`}},
		"one more": {
			appendCustom(bytes.Clone(built), "extra", nil), []string{`section "extra" is not in the compiled source`},
		},
		"another order": {
			module(append([]byte(wasmHeader), linked[8+13:]...), nil),
			[]string{"section function, but the source compiles to section type"},
		},
		"no module":    {[]byte("MZ"), []string{"not a WebAssembly module"}},
		"long lengths": {append(append([]byte(wasmHeader), 1, 0x8b, 0), built[10:]...), []string{"written in another way"}},
	} {
		got := Differences(built, c.other, linked)
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q", name, got)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("%s: %q, without %q", name, got[i], c.want[i])
			}
		}
	}
}
