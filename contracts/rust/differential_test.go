package rust

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// pieces are fragments of valid and of invalid JSON.
var pieces = []string{
	`"`, `\`, `,`, `:`, `[`, `]`, `{`, `}`, ` `, "\n", "\x00", "\x7f", "\xff", "-", "+", "0", "1", "9", ".", "e", "E",
	"null", "true", `"Open"`, `{"Sold":`, `"to":`, `"price":`, `"note":`, `"0x`, "0X", "f", "G", `\u0000`, `\ud83e`,
	`\ude99`, `\x`, "ä", "\xed\xa0\x80", "18446744073709551615", "18446744073709551616", "9007199254740993",
	"340282366920938463463374607431768211455",
}

// mutated is a text with some bytes removed, doubled, or fragments inserted.
func mutated(r *rand.Rand, text string) string {
	for range 1 + r.IntN(3) {
		from := r.IntN(len(text) + 1)
		to := from + r.IntN(min(8, len(text)-from)+1)
		switch r.IntN(4) {
		case 0:
			text = text[:from] + text[to:]
		case 1:
			text = text[:to] + text[from:]
		case 2:
			text = text[:from] + pieces[r.IntN(len(pieces))] + text[to:]
		default:
			text = text[:from] + pieces[r.IntN(len(pieces))] + text[from:]
		}
	}
	return text
}

// TestBothSDKsTakeTheSame: contracts in Rust and in AssemblyScript accept the same values, return the same bytes for
// them, and refuse the same ones.
func TestBothSDKsTakeTheSame(t *testing.T) {
	c := contracttest.New(t)
	k, other := deploy(c, t, "types", nil), deploy(c, t, "as-types", nil)
	functions, others := functionsByType(k.ABI), functionsByType(other.ABI)
	random := rand.New(rand.NewPCG(1, 2))
	shared, taken := map[string]bool{}, 0
	for _, v := range readVectors(t).ABI.Values {
		name, ok := functions[v.Type]
		counterpart, alsoOK := others[v.Type]
		if !ok || !alsoOK {
			continue
		}
		shared[v.Type] = true
		binary, err := hex.DecodeString(*v.Binary)
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{
			`{"v":` + string(v.JSON) + `}`, "\x01" + string(binary), "", "{}", `{"v":null}`,
			`{"v":` + string(v.JSON) + `,"v":1}`,
			`{"w":1,"v":` + string(v.JSON) + `}`, ` { "v" : ` + string(v.JSON) + ` } `, `{"\u0076":` + string(v.JSON) + `}`,
		}
		for range 60 {
			texts = append(texts, `{"v":`+mutated(random, string(v.JSON))+`}`, "\x01"+mutated(random, string(binary)))
			texts = append(texts, mutated(random, texts[0]))
		}
		for _, text := range texts {
			a, b := k.View(name, json.RawMessage(text)), other.View(counterpart, json.RawMessage(text))
			if a.OK != b.OK || a.OK && string(a.Output) != string(b.Output) {
				t.Errorf("%s %q: Rust %v %q, AssemblyScript %v %q", v.Type, text, a.OK, a.Output, b.OK, b.Output)
			}
			if a.OK {
				taken++
			}
		}
	}
	missing := slices.DeleteFunc(sortedTypes(functions), func(name string) bool {
		return shared[name] || !inVectors(t, name)
	})
	if len(missing) > 0 || taken < 300 {
		t.Errorf("not asked for: %s; %d values were taken", strings.Join(missing, ", "), taken)
	}
}

func sortedTypes(of map[string]string) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func inVectors(t *testing.T, name string) bool {
	return slices.ContainsFunc(readVectors(t).ABI.Values, func(v struct {
		Type   string
		JSON   json.RawMessage
		Binary *string
	}) bool {
		return v.Type == name
	})
}
