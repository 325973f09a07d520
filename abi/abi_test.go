package abi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

const tokenABI = `{"functions":[
	{"name":"init","mode":"init","args":[{"name":"supply","type":"u64"}]},
	{"name":"transfer","mode":"write","args":[{"name":"to","type":"account"},{"name":"amount","type":"u64"}],"returns":"bool"},
	{"name":"name","mode":"read","args":[],"returns":"string"}],
	"events":[{"name":"Transfer","args":[{"name":"from","type":"account"}]}],"later":1}`

func parsed(t *testing.T, text string) ABI {
	t.Helper()
	a, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestParse(t *testing.T) {
	a := parsed(t, tokenABI)
	f, ok := a.Function("transfer")
	if !ok || f.String() != "transfer(to account, amount u64) bool" || f.Mode != Write {
		t.Errorf("got %+v", f)
	}
	if e, ok := a.Event("Transfer"); !ok || e.String() != "Transfer(from account)" {
		t.Errorf("got %+v", e)
	}
	if _, ok := a.Function("none"); ok {
		t.Error("a function that is not there")
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if again := parsed(t, string(text)); len(again.Functions) != 3 || again.Functions[1].String() != f.String() {
		t.Errorf("%s", text)
	}
}

func TestParseRefuses(t *testing.T) {
	function := func(text string) string { return `{"functions":[` + text + `],"events":[]}` }
	for name, text := range map[string]string{
		"no JSON":          `{`,
		"two documents":    `{"functions":[]}{}`,
		"unknown mode":     function(`{"name":"f","mode":"call"}`),
		"init that writes": function(`{"name":"init","mode":"write"}`),
		"another init":     function(`{"name":"f","mode":"init"}`),
		"no name":          function(`{"name":"","mode":"read"}`),
		"long name":        function(`{"name":"` + strings.Repeat("x", 129) + `","mode":"read"}`),
		"same name":        function(`{"name":"f","mode":"read"},{"name":"f","mode":"read"}`),
		"same parameter":   function(`{"name":"f","mode":"read","args":[{"name":"a","type":"u8"},{"name":"a","type":"u8"}]}`),
		"no type":          function(`{"name":"f","mode":"read","args":[{"name":"a"}]}`),
		"unknown type":     function(`{"name":"f","mode":"read","args":[{"name":"a","type":"u256"}]}`),
		"deep type":        function(`{"name":"f","mode":"read","returns":"u8` + strings.Repeat("[]", 16) + `"}`),
		"too long":         `{"functions":[]` + strings.Repeat(" ", maxBytes) + `}`,
		"same event":       `{"functions":[],"events":[{"name":"E"},{"name":"E"}]}`,
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrBad) {
			t.Errorf("%s: error %v, want %v", name, err, ErrBad)
		}
	}
}

func TestTypes(t *testing.T) {
	list, err := ParseType("account?[]")
	if err != nil {
		t.Fatal(err)
	}
	element, ok := list.List()
	if _, optional := list.Optional(); !ok || optional || element.String() != "account?" {
		t.Errorf("%s of %s", list, element)
	}
	value, ok := element.Optional()
	if !ok || value != (Type{string(Account)}) {
		t.Errorf("%s of %s", element, value)
	}
	for _, text := range []string{"(u64,bool)[]", "((u8,u8),string?)", "Offer[]?", "bytes4", "bytes256", "i128", "T_1"} {
		if parsed, err := ParseType(text); err != nil || parsed.String() != text {
			t.Errorf("%s: got %v, error %v", text, parsed, err)
		}
	}
	for _, text := range []string{
		"", "u64??", "(u64)", "(u64,)", "(u64, bool)", "(u64,bool", "u64,bool)", "(u8),(u8,u8)", "bytes0", "bytes257",
		"bytes04", "bytes-1", "u256",
		"offer", "Ünder", "Offer[", "[]", "?", "(u8,u8,u8,u8,u8,u8,u8,u8,u8)", "Of fer",
	} {
		if parsed, err := ParseType(text); !errors.Is(err, ErrBad) {
			t.Errorf("%q: got %v, error %v, want %v", text, parsed, err, ErrBad)
		}
	}
}

// none is an ABI that declares nothing.
var none = ABI{}

func names(text string) (types.Account, error) {
	if text == "alice" {
		return types.Account{0xA1}, nil
	}
	return Hex(text)
}

func TestArguments(t *testing.T) {
	alice := `"` + types.Account{0xA1}.String() + `"`
	for _, test := range []struct{ kind, text, want string }{
		{"bool", "true", "true"},
		{"u8", "255", "255"},
		{"u8", "256", ""},
		{"u32", "4294967295", "4294967295"},
		{"u64", "9007199254740991", "9007199254740991"},
		{"u64", "9007199254740992", `"9007199254740992"`},
		{"u64", "18446744073709551616", ""},
		{"u64", "-1", ""},
		{"u64", "1.0", ""},
		{"u64", "1e3", ""},
		{"i64", "-9223372036854775808", `"-9223372036854775808"`},
		{"i64", "-5", "-5"},
		{"string", `a "<b>"`, `"a \"<b>\""`},
		{"string", "", `""`},
		{"bytes", "0xAB", `"0xab"`},
		{"bytes", "0x", `"0x"`},
		{"bytes", "ab", ""},
		{"bytes", "0xa", ""},
		{"account", "alice", alice},
		{"account", "bob", ""},
		{"hash", "0x" + strings.Repeat("1f", 32), `"0x` + strings.Repeat("1f", 32) + `"`},
		{"hash", "0x1f", ""},
		{"u64[]", "1,2", "[1,2]"},
		{"u64[]", "[1, \"2\"]", "[1,2]"},
		{"u64[]", "", "[]"},
		{"u64[]", "1,x", ""},
		{"account[]", `["alice"]`, "[" + alice + "]"},
		{"u64?", "null", "null"},
		{"u64?", "7", "7"},
		{"u64?", "x", ""},
	} {
		kind, err := ParseType(test.kind)
		if err != nil {
			t.Fatal(err)
		}
		parameters := []Parameter{{Name: "a", Type: kind}}
		got, err := none.EncodeText(parameters, map[string]string{"a": test.text}, names)
		if test.want == "" {
			if !errors.Is(err, ErrArgument) {
				t.Errorf("%s %q: got %s, error %v, want %v", test.kind, test.text, got, err, ErrArgument)
			}
			continue
		}
		if err != nil || string(got) != `{"a":`+test.want+`}` {
			t.Errorf("%s %q: got %s, error %v", test.kind, test.text, got, err)
		}
		// An encoded ABI decodes to the same ABI.
		if again, err := none.EncodeJSON(parameters, got, Hex); err != nil || string(again) != string(got) {
			t.Errorf("%s %s: got %s, want %s, error %v", test.kind, got, again, string(got), err)
		}
		if _, err := none.Result(Function{Returns: kind}, []byte(test.want)); err != nil {
			t.Errorf("%s %s is no result: error %v", test.kind, test.want, err)
		}
	}
}

func TestArgumentsByName(t *testing.T) {
	transfer, _ := parsed(t, tokenABI).Function("transfer")
	optional := []Parameter{{Name: "a", Type: Type{"u64?"}}}
	for _, test := range []struct {
		name       string
		parameters []Parameter
		text, want string
	}{
		{"order of declaration", transfer.Args, `{"amount":"5","to":"alice"}`, `{"to":"` + types.Account{0xA1}.String() + `","amount":5}`},
		{"missing", transfer.Args, `{"amount":5}`, ""},
		{"unknown", transfer.Args, `{"amount":5,"to":"alice","x":1}`, ""},
		{"no object", transfer.Args, `[1]`, ""},
		{"a number for a string", []Parameter{{Name: "a", Type: Type{string(String)}}}, `{"a":1}`, ""},
		{"null", transfer.Args, `{"amount":null,"to":"alice"}`, ""},
		{"null list", []Parameter{{Name: "a", Type: Type{"u64[]"}}}, `{"a":null}`, ""},
		{"bool as text", []Parameter{{Name: "a", Type: Type{string(Bool)}}}, `{"a":"true"}`, ""},
		{"optional left out", optional, ``, `{"a":null}`},
	} {
		got, err := none.EncodeJSON(test.parameters, []byte(test.text), names)
		if test.want == "" && !errors.Is(err, ErrArgument) || test.want != "" && (err != nil || string(got) != test.want) {
			t.Errorf("%s: got %s, error %v", test.name, got, err)
		}
	}
	if got, err := none.EncodeJSON(nil, nil, names); err != nil || got != nil {
		t.Errorf("no parameters: got %q, error %v", got, err)
	}
}

func TestResults(t *testing.T) {
	for _, test := range []struct {
		kind   Type
		result string
		ok     bool
	}{
		{Type{string(U64)}, "5", true}, {Type{string(U64)}, "5 6", false}, {Type{string(U64)}, "", false},
		{Type{string(Bool)}, `"x"`, false}, {Type{}, "", true}, {Type{}, "1", false},
	} {
		_, err := none.Result(Function{Returns: test.kind}, []byte(test.result))
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrArgument) {
			t.Errorf("%s %q: error %v", test.kind, test.result, err)
		}
	}
	var u Uint64
	for _, text := range []string{"18446744073709551615", `"18446744073709551615"`} {
		if err := json.Unmarshal([]byte(text), &u); err != nil || u != 1<<64-1 {
			t.Errorf("%s: got %d, want 2^64 - 1, error %v", text, u, err)
		}
	}
	if err := json.Unmarshal([]byte(`"x"`), &u); err == nil {
		t.Error("x is a number")
	}
}

// module is a module of custom sections only.
func module(sections ...string) []byte {
	code := []byte(wasmHeader)
	for _, s := range sections {
		code = append(append(code, 0, byte(len(s))), s...)
	}
	return code
}

func TestFromCode(t *testing.T) {
	section := "\x09" + Section + `{"functions":[],"events":[]}`
	if _, err := FromCode(module("\x04name", section)); err != nil {
		t.Error(err)
	}
	for name, code := range map[string][]byte{
		"empty": nil, "no module": []byte("text that is none"), "none": module("\x04name"), "cut off": module(section)[:40],
	} {
		if _, err := FromCode(code); !errors.Is(err, ErrNoABI) {
			t.Errorf("%s: error %v, want %v", name, err, ErrNoABI)
		}
	}
	if _, err := FromCode(module("\x09" + Section + "x")); !errors.Is(err, ErrBad) {
		t.Error(err)
	}
}

func FuzzFromCode(f *testing.F) {
	f.Add(module("\x09" + Section + `{"functions":[{"name":"f","mode":"read"}]}`))
	f.Add([]byte(wasmHeader + "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, code []byte) {
		a, err := FromCode(code)
		if err != nil {
			return
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: error %v", text, err)
		}
	})
}

func FuzzEncodeJSON(f *testing.F) {
	f.Add("u64?[]", `{"a":[1,null]}`)
	f.Add("bytes", `{"a":"0xAA"}`)
	f.Fuzz(func(t *testing.T, kind, text string) {
		parsed, err := ParseType(kind)
		if err != nil {
			return
		}
		parameters := []Parameter{{Name: "a", Type: parsed}}
		encoded, err := none.EncodeJSON(parameters, []byte(text), Hex)
		if err != nil {
			return
		}
		if again, err := none.EncodeJSON(parameters, encoded, Hex); err != nil || string(again) != string(encoded) {
			t.Errorf("%s: %s, then %s, want %s, error %v", kind, encoded, again, string(encoded), err)
		}
	})
}
