package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const marketABI = `{"abi":2,"binary":true,"types":[
	{"name":"Offer","kind":"record","fields":[{"name":"seller","type":"account"},{"name":"price","type":"u64"},{"name":"note","type":"string?"}]},
	{"name":"State","kind":"enum","variants":[{"name":"Open"},{"name":"Sold","fields":[{"name":"to","type":"account"},{"name":"price","type":"u64"}]}]}],
	"functions":[{"name":"best","mode":"read","args":[],"returns":"Offer[]"},{"name":"offer","mode":"write","payable":true,"args":[{"name":"o","type":"Offer"}]}],
	"events":[],"errors":[{"name":"TooLow","code":2,"fields":[{"name":"have","type":"u64"},{"name":"need","type":"u64"}]},{"name":"Closed","code":3}]}`

const (
	person      = "2542e6ff0b58095aaa0bf7228fa4ce98ed66c5774424a7bf78422fbaffc05ed7"
	personText  = `"0x` + person + `"`
	offerText   = `{"seller":` + personText + `,"price":5,"note":"hi"}`
	offerBinary = person + "0500000000000000" + "01" + "0200000000000000" + "6869"
)

// forms are values in JSON and their binary form, as docs/protocol.md lists them.
var forms = []struct{ kind, json, binary string }{
	{"bool", `true`, "01"},
	{"u8", `255`, "ff"},
	{"u16", `513`, "0102"},
	{"i8", `-1`, "ff"},
	{"i16", `-2`, "feff"},
	{"i32", `-2147483648`, "00000080"},
	{"u64", `1000`, "e803000000000000"},
	{"u64", `"18446744073709551615"`, "ffffffffffffffff"},
	{"i64", `"-9223372036854775808"`, "0000000000000080"},
	{"u128", `"2000000000000000000000000000"`, "000000d07900a13f795c760600000000"},
	{"u128", `"0"`, strings.Repeat("00", 16)},
	{"i128", `"-1"`, strings.Repeat("ff", 16)},
	{"string", `"hé"`, "0300000000000000" + "68c3a9"},
	{"bytes", `"0xab"`, "0100000000000000" + "ab"},
	{"bytes4", `"0xdeadbeef"`, "deadbeef"},
	{"hash", personText, person},
	{"u64?", `null`, "00"},
	{"u64?", `7`, "01" + "0700000000000000"},
	{"(u64,bool)[]", `[[1,false],[2,true]]`, "0200000000000000" + "010000000000000000" + "020000000000000001"},
	{"Offer", offerText, offerBinary},
	{"Offer[]", `[` + offerText + `]`, "0100000000000000" + offerBinary},
	{"State", `"Open"`, "00000000"},
	{"State", `{"Sold":{"to":` + personText + `,"price":5}}`, "01000000" + person + "0500000000000000"},
}

func TestBothForms(t *testing.T) {
	a := parsed(t, marketABI)
	for _, test := range forms {
		parameters := []Parameter{{Name: "v", Type: Type{test.kind}}}
		object := `{"v":` + test.json + `}`
		encoded, err := a.EncodeJSON(parameters, []byte(object), Hex)
		if err != nil || string(encoded) != object {
			t.Fatalf("%s %s: got %s, want %s, error %v", test.kind, test.json, encoded, object, err)
		}
		binary, err := a.Arguments(parameters, encoded)
		if err != nil || hex.EncodeToString(binary) != "01"+test.binary {
			t.Fatalf("%s %s: got %x, error %v", test.kind, test.json, binary, err)
		}
		for _, data := range [][]byte{binary, encoded} {
			if back, err := a.DecodeArguments(parameters, data); err != nil || string(back) != object {
				t.Errorf("%s %x: got %s, want %s, error %v", test.kind, data, back, object, err)
			}
		}
		result := Function{Returns: Type{test.kind}}
		for _, data := range [][]byte{binary, []byte(test.json)} {
			if back, err := a.Result(result, data); err != nil || string(back) != test.json {
				t.Errorf("result %s %x: got %s, want %s, error %v", test.kind, data, back, test.json, err)
			}
		}
		for _, bad := range [][]byte{binary[:len(binary)-1], append(bytes.Clone(binary), 0)} {
			if back, err := a.DecodeArguments(parameters, bad); !errors.Is(err, ErrArgument) {
				t.Errorf("%s %x: got %s, error %v, want %v", test.kind, bad, back, err, ErrArgument)
			}
		}
	}
}

func TestFormOfACall(t *testing.T) {
	a := parsed(t, marketABI)
	if data, err := a.Arguments(nil, nil); err != nil || hex.EncodeToString(data) != "01" {
		t.Errorf("no parameters: got %x, error %v", data, err)
	}
	a.TakesBinary = false
	if data, err := a.Arguments(nil, nil); err != nil || len(data) != 0 {
		t.Errorf("no parameters, JSON only: got %x, error %v, want 0 data", data, err)
	}
}

func TestBinaryRefuses(t *testing.T) {
	a := parsed(t, marketABI)
	for _, test := range []struct{ kind, binary string }{
		{"bool", "02"}, {"u64?", "02" + "0700000000000000"}, {"State", "02000000"}, {"u8[]", "0000000000000080"},
		{"string", "0200000000000000" + "c080"}, {"bytes", "ffffffffffffffff"}, {"u8[]", "0300000000000000" + "0102"},
	} {
		data, err := hex.DecodeString("01" + test.binary)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.DecodeArguments([]Parameter{{Name: "v", Type: Type{test.kind}}}, data)
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s %s: got %s, error %v, want %v", test.kind, test.binary, got, err, ErrArgument)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	a := parsed(t, marketABI)
	for _, test := range []struct{ kind, json string }{
		{"u64", `01`}, {"u64", `"+1"`}, {"i64", `-0`}, {"u64", `"0x1"`}, {"u8", `1e1`}, {"i8", `-129`}, {"i8", `128`},
		{"u128", `"340282366920938463463374607431768211456"`}, {"i128", `"-170141183460469231731687303715884105729"`},
		{"string", `"\ud800"`}, {"string", `"\udc00\ud800"`}, {"string", `"\ud800\ud800"`}, {"bytes4", `"0xdeadbe"`},
		{"(u64,bool)", `[1]`}, {"(u64,bool)", `[1,true,2]`}, {"Offer", `{"seller":` + personText + `}`},
		{"Offer", `{"seller":` + personText + `,"price":5,"x":1}`}, {"Offer", `{"price":5,"seller":` + personText + `,"price":5}`},
		{"Offer", `[]`}, {"Offer", `null`}, {"State", `"Sold"`}, {"State", `"Gone"`}, {"State", `{"Open":{}}`}, {"State", `{}`}, {"State", `{"Sold":{}}`},
		{"State", `{"Open":{},"Sold":{}}`}, {"State", `0`}, {"Offer[]", `null`},
	} {
		got, err := a.EncodeJSON([]Parameter{{Name: "v", Type: Type{test.kind}}}, []byte(`{"v":`+test.json+`}`), Hex)
		if !errors.Is(err, ErrArgument) {
			t.Errorf("%s %s: got %s, error %v, want %v", test.kind, test.json, got, err, ErrArgument)
		}
	}
	text := []Parameter{{Name: "v", Type: Type{"string"}}}
	if got, err := a.EncodeJSON(text, []byte(`{"v":"\ud83d\ude00 \\ud800"}`), Hex); err != nil {
		t.Errorf("a pair, and a backslash: got %s, error %v", got, err)
	}
	number := []Parameter{{Name: "v", Type: Type{"u8"}}}
	if got, err := a.EncodeJSON(number, []byte(`{"v":1,"v":1}`), Hex); !errors.Is(err, ErrArgument) {
		t.Errorf("an argument twice: got %s, error %v, want %v", got, err, ErrArgument)
	}
}

func TestReverts(t *testing.T) {
	a := parsed(t, marketABI)
	tooLow := "01" + "02000000" + "0700000000000000" + "0a00000000000000"
	for _, test := range []struct{ data, want string }{
		{"the price is too low", "the price is too low"},
		{"", ""},
		{`{"error":"TooLow","code":2,"data":{"have":7,"need":10}}`, `TooLow {"have":7,"need":10}`},
		{`{"error":"Closed","code":3}`, "Closed"},
		{`{"error":"Closed","code":2}`, `{"error":"Closed","code":2}`},
		{unhex(tooLow), `TooLow {"have":7,"need":10}`},
		{unhex("0103000000"), "Closed"},
		{unhex("0104000000"), "0x0104000000"},
		{unhex(tooLow + "00"), "0x" + tooLow + "00"},
		{unhex("02" + person + tooLow), "0x" + tooLow + " (from 0x" + person + ")"},
		{"\x1b[2J", "0x1b5b324a"},
	} {
		if got := a.Revert([]byte(test.data)).String(); got != test.want {
			t.Errorf("%q: %q, want %q", test.data, got, test.want)
		}
	}
}

func unhex(text string) string {
	b, err := hex.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestParseTypesRefuses(t *testing.T) {
	record := func(name, field string) string {
		return `{"name":"` + name + `","kind":"record","fields":[{"name":"a","type":"` + field + `"}]}`
	}
	var deep []string
	for i := range 16 {
		deep = append(deep, record("T"+string(rune('A'+i)), "T"+string(rune('B'+i))))
	}
	for name, types := range map[string]string{
		"itself":          record("A", "A"),
		"in a circle":     record("A", "B[]") + "," + record("B", "A?"),
		"not there":       record("A", "B"),
		"small letter":    record("a", "u8"),
		"twice":           record("A", "u8") + "," + record("A", "u8"),
		"no fields":       `{"name":"A","kind":"record"}`,
		"no variants":     `{"name":"A","kind":"enum"}`,
		"another kind":    `{"name":"A","kind":"union","fields":[{"name":"a","type":"u8"}]}`,
		"both":            `{"name":"A","kind":"enum","variants":[{"name":"a"}],"fields":[{"name":"a","type":"u8"}]}`,
		"same variants":   `{"name":"A","kind":"enum","variants":[{"name":"a"},{"name":"a"}]}`,
		"deep":            strings.Join(deep, ",") + "," + record("TQ", "u8"),
		"a member twice":  `{"name":"A","name":"A","kind":"enum","variants":[{"name":"a"}]}`,
		"field of a type": `{"name":"A","kind":"enum","variants":[{"name":"a","fields":[{"name":"x"}]}]}`,
	} {
		if _, err := Parse([]byte(`{"abi":2,"types":[` + types + `],"functions":[],"events":[]}`)); !errors.Is(err, ErrBad) {
			t.Errorf("%s: error %v, want %v", name, err, ErrBad)
		}
	}
	for name, text := range map[string]string{
		"a later version":      `{"abi":3}`,
		"errors of one code":   `{"errors":[{"name":"A","code":1},{"name":"B","code":1}]}`,
		"errors of one name":   `{"errors":[{"name":"A","code":1},{"name":"A","code":2}]}`,
		"a read that is payed": `{"functions":[{"name":"f","mode":"read","payable":true}]}`,
		"an unknown type":      `{"events":[{"name":"E","args":[{"name":"a","type":"Offer"}]}]}`,
		"an unknown result":    `{"functions":[{"name":"f","mode":"read","returns":"Offer"}]}`,
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrBad) {
			t.Errorf("%s: error %v, want %v", name, err, ErrBad)
		}
	}
}

// wide refers to a type from many fields at many depths. The depth of a type must be computed once.
func TestParseWideTypes(t *testing.T) {
	var types []string
	for i := range 15 {
		var fields []string
		for j := range 64 {
			fields = append(fields, `{"name":"f`+string(rune('0'+j/10))+string(rune('0'+j%10))+`","type":"T`+string(rune('B'+i))+`"}`)
		}
		types = append(types, `{"name":"T`+string(rune('A'+i))+`","kind":"record","fields":[`+strings.Join(fields, ",")+`]}`)
	}
	types = append(types, `{"name":"TP","kind":"enum","variants":[{"name":"a"}]}`)
	text := `{"types":[` + strings.Join(types, ",") + `]}`
	if _, err := Parse([]byte(text)); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeArguments(f *testing.F) {
	for _, test := range forms {
		f.Add(test.kind, []byte(unhex("01"+test.binary)))
	}
	var a ABI
	if err := json.Unmarshal([]byte(marketABI), &a); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		parsed, err := ParseType(kind)
		if err != nil || (nesting{a, map[string]int{}}).bad(parsed) {
			return
		}
		parameters := []Parameter{{Name: "v", Type: parsed}}
		object, err := a.DecodeArguments(parameters, data)
		if err != nil {
			return
		}
		binary, err := a.Binary(parameters, object)
		if err != nil || bytes.HasPrefix(data, []byte{markBinary}) && !bytes.Equal(binary, data) {
			t.Errorf("%s %x: %s, then %x, error %v", kind, data, object, binary, err)
		}
		if again, err := a.DecodeArguments(parameters, binary); err != nil || string(again) != string(object) {
			t.Errorf("%s %x: %s, then %s, want %s, error %v", kind, data, object, again, string(object), err)
		}
	})
}

// bad reports whether a type refers to a type that the ABI does not have.
func (n nesting) bad(t Type) bool {
	_, err := n.of(t)
	return err != nil
}
