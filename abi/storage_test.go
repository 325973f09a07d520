package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/codec"
)

// storageABI is [marketABI] with cells of an encoding.
func storageABI(encoding Encoding) string {
	return strings.TrimSuffix(marketABI, "}") + `,"storage":{"encoding":"` + string(encoding) + `","cells":[
		{"name":"count","kind":"cell","value":"u64"},
		{"name":"balance","kind":"map","key":"account","value":"u64"},
		{"name":"allowed","kind":"map","key":"(u32,account)","value":"bool"},
		{"name":"by","kind":"map","key":"string","value":"Offer"},
		{"name":"at","kind":"map","key":"i16","value":"bytes"},
		{"name":"wide","kind":"map","key":"u128","value":"string"},
		{"name":"in","kind":"map","key":"State","value":"(string,bytes2)"},
		{"name":"deals","kind":"list","value":"State"}]}}`
}

func name(text string) string { return hex.EncodeToString([]byte(text)) }

// TestSlots decodes a key of each kind in both encodings of docs/protocol.md.
func TestSlots(t *testing.T) {
	prefixed, plain := parsed(t, storageABI(Prefixed)), parsed(t, storageABI(Bare))
	for _, test := range []struct{ prefixed, bare, cell, key, value string }{
		{"05" + name("count"), name("count"), "count", "", "u64"},
		{"07" + name("balance") + person, name("balance") + "00" + person, "balance", personText, "u64"},
		{
			"07" + name("allowed") + "07000000" + person, name("allowed") + "00" + "07000000" + person,
			"allowed", `[7,` + personText + `]`, "bool",
		},
		{"02" + name("by") + "0200" + "6869", name("by") + "00" + "6869", "by", `"hi"`, "Offer"},
		{"02" + name("by") + "0000", name("by") + "00", "by", `""`, "Offer"},
		{"02" + name("by") + "0200" + "6100", name("by") + "00" + "6100", "by", `"a\u0000"`, "Offer"},
		{"02" + name("at") + "feff", name("at") + "00" + "fffe", "at", `-2`, "bytes"},
		{
			"04" + name("wide") + "01" + strings.Repeat("00", 15), name("wide") + "00" + "01" + strings.Repeat("00", 15),
			"wide", `"1"`, "string",
		},
		{"02" + name("in") + "00000000", "", "in", `"Open"`, "(string,bytes2)"},
		{"05" + name("deals"), name("deals"), "deals", "", "u32"},
		{"05" + name("deals") + "02010000", name("deals") + "00" + "00000102", "deals", "258", "State"},
	} {
		for key, a := range map[string]ABI{test.prefixed: prefixed, test.bare: plain} {
			slot, ok := a.Slot([]byte(unhex(key)))
			if key == "" {
				continue
			}
			if !ok || slot.Cell.Name != test.cell || string(slot.Key) != test.key || slot.Value.String() != test.value {
				t.Errorf("%s %s: got %+v, %v", a.Storage.Encoding, key, slot, ok)
			}
			if len(test.key) > 2 && test.key[0] != '"' { // of a fixed length: neither less nor more
				for _, bad := range []string{key[:len(key)-2], key + "00"} {
					if slot, ok := a.Slot([]byte(unhex(bad))); ok {
						t.Errorf("%s %s: got %+v", a.Storage.Encoding, bad, slot)
					}
				}
			}
		}
	}
	for a, keys := range map[*ABI][]string{
		&prefixed: {
			"", "00", "05", "05" + name("coun"), "05" + name("count") + "00", "05" + name("other"), name("count"),
			"07" + name("balance"), "02" + name("by") + "0300" + "6869", "02" + name("by") + "0100" + "ff",
			"02" + name("in") + "02000000", "07" + name("allowed") + "07000000", "ff" + strings.Repeat("61", 255),
		},
		&plain: {
			"", "00", name("coun"), name("count") + "00", name("counts"), name("balance"), "05" + name("count"),
			name("by") + "00" + "ff", name("in") + "00" + "00000000", name("deals") + "00",
			name("by") + "00" + strings.Repeat("61", 254),
		},
	} {
		for _, key := range keys {
			if slot, ok := a.Slot([]byte(unhex(key))); ok {
				t.Errorf("%s %s: got %+v", a.Storage.Encoding, key, slot)
			}
		}
	}
	described := parsed(t, marketABI)
	if slot, ok := described.Slot([]byte(unhex("05" + name("count")))); ok {
		t.Errorf("without a description: got %+v", slot)
	}
}

// TestStored has values with the same form in both encodings, values with different forms, and invalid ones.
func TestStored(t *testing.T) {
	prefixed, plain := parsed(t, storageABI(Prefixed)), parsed(t, storageABI(Bare))
	for _, test := range []struct{ kind, prefixed, bare, want string }{
		{"u64", "0500000000000000", "0500000000000000", `5`},
		{"i8", "ff", "ff", `-1`},
		{"bool", "01", "01", `true`},
		{"i128", strings.Repeat("ff", 16), strings.Repeat("ff", 16), `"-1"`},
		{"account", person, person, personText},
		{"bytes2", "abcd", "abcd", `"0xabcd"`},
		{"string", "0200" + "6869", "6869", `"hi"`},
		{"bytes", "0200" + "6869", "6869", `"0x6869"`},
		{"(u8,string)", "01" + "0200" + "6869", "01" + "0200000000000000" + "6869", `[1,"hi"]`},
		{"u16?", "01" + "0500", "", `5`},
		{"string?", "00", "", `null`},
		{"Offer", offerBinary, offerBinary, offerText},
		{"State", "00000000", "00000000", `"Open"`},
		{"(bool,Offer)", "01" + offerBinary, "01" + offerBinary, `[true,` + offerText + `]`},
		{"u8[]", "", "", ""},
		{"u64", "05000000000000", "05000000000000", ""},
		{"u64", "050000000000000000", "050000000000000000", ""},
		{"bool", "02", "02", ""},
		{"u16?", "02" + "0500", "", ""},
		{"string", "0300" + "6869", "ff", ""},
		{"string", "0100" + "ff", "c080", ""},
		{"string", "0200" + "686900", "", ""},
		{"(u8,string)", "01", "01" + "0200" + "6869", ""},
		{"State", "02000000", "02000000", ""},
		{"Offer", offerBinary[2:], offerBinary + "00", ""},
		{"(u8,u8[])", "01" + "0000000000000000", "", ""},
	} {
		kind, err := ParseType(test.kind)
		if err != nil {
			t.Fatal(err)
		}
		for data, a := range map[string]ABI{test.prefixed: prefixed, test.bare: plain} {
			if data == "" && test.want != "" || test.kind == "string" && data == "" {
				continue // absent from the encoding
			}
			got, err := a.Stored(kind, []byte(unhex(data)))
			if string(got) != test.want || (test.want == "") != errors.Is(err, ErrArgument) {
				t.Errorf("%s %s %s: got %s, error %v", a.Storage.Encoding, test.kind, data, got, err)
			}
		}
	}
	if got, err := plain.Stored(Type{"bytes"}, make([]byte, maxStorageValue)); err != nil {
		t.Errorf("%d bytes: got %s, error %v", maxStorageValue, short(got), err)
	}
	if got, err := plain.Stored(Type{"bytes"}, make([]byte, maxStorageValue+1)); !errors.Is(err, ErrArgument) {
		t.Errorf("more than storage holds: got %s, error %v", short(got), err)
	}
}

func TestParseStorage(t *testing.T) {
	wrap := func(storage string) []byte { return []byte(`{"storage":` + storage + `}`) }
	cells := func(cells string) []byte { return wrap(`{"encoding":"bare","cells":[` + cells + `]}`) }
	for what, text := range map[string][]byte{
		"no name":           cells(`{"kind":"cell","value":"u8"}`),
		"a long name":       cells(`{"name":"` + strings.Repeat("n", 129) + `","kind":"cell","value":"u8"}`),
		"a byte 0":          cells(`{"name":"a\u0000b","kind":"cell","value":"u8"}`),
		"one name twice":    cells(`{"name":"a","kind":"cell","value":"u8"},{"name":"a","kind":"list","value":"u8"}`),
		"no kind":           cells(`{"name":"a","value":"u8"}`),
		"another kind":      cells(`{"name":"a","kind":"set","value":"u8"}`),
		"no value":          cells(`{"name":"a","kind":"cell"}`),
		"an unknown type":   cells(`{"name":"a","kind":"cell","value":"Offer"}`),
		"no type":           cells(`{"name":"a","kind":"cell","value":"u65"}`),
		"an unknown key":    cells(`{"name":"a","kind":"map","key":"Offer","value":"u8"}`),
		"a map without key": cells(`{"name":"a","kind":"map","value":"u8"}`),
		"a cell with a key": cells(`{"name":"a","kind":"cell","key":"u8","value":"u8"}`),
		"a list with a key": cells(`{"name":"a","kind":"list","key":"u8","value":"u8"}`),
		"a list of cells":   wrap(`[]`),
		"cells of a number": wrap(`{"encoding":"bare","cells":5}`),
		"too many": cells(strings.Repeat(`{"name":"a","kind":"cell","value":"u8"},`, maxItems) +
			`{"name":"a","kind":"cell","value":"u8"}`),
	} {
		if a, err := Parse(text); !errors.Is(err, ErrBad) {
			t.Errorf("%s: got %+v, error %v, want %v", what, a.Storage, err, ErrBad)
		}
	}
	for what, text := range map[string][]byte{
		"none":                wrap(`null`),
		"no encoding":         wrap(`{"cells":[{"name":"a"}]}`),
		"an unknown encoding": wrap(`{"encoding":"later","cells":{"a":"u8"}}`),
	} {
		if a, err := Parse(text); err != nil || a.Storage != nil {
			t.Errorf("%s: got %+v, error %v", what, a.Storage, err)
		}
	}
	a := parsed(t, storageABI(Bare))
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	again := parsed(t, string(text))
	if len(again.Storage.Cells) != 8 || again.Storage.Cells[1] != a.Storage.Cells[1] || again.Storage.Encoding != Bare {
		t.Errorf("%s", text)
	}
}

// FuzzStored: each value has one encoding, so a decoded value encodes to the same bytes.
func FuzzStored(f *testing.F) {
	for _, test := range forms {
		for _, encoding := range []Encoding{Prefixed, Bare} {
			f.Add(string(encoding), test.kind, []byte(unhex(test.binary)))
		}
	}
	f.Add(string(Prefixed), "(u8,string)", []byte("\x01\x02\x00hi"))
	f.Add(string(Bare), "string", []byte("hi"))
	f.Fuzz(func(t *testing.T, encoding, kind string, data []byte) {
		a, err := Parse([]byte(storageABI(Encoding(encoding))))
		if err != nil || a.Storage == nil {
			return
		}
		a.Slot(data)
		parsed, err := ParseType(kind)
		if err != nil || (nesting{a, map[string]int{}}).bad(parsed) {
			return
		}
		value, err := a.Stored(parsed, data)
		if err != nil {
			return
		}
		var e codec.Encoder
		if err := a.store(&e, parsed, value); err != nil || !bytes.Equal(e.Data(), data) {
			t.Errorf("%s %s %x: %s, then %x, error %v", encoding, kind, data, value, e.Data(), err)
		}
		if shown, err := a.Show(parsed, value, nil); err != nil || !bytes.Equal(shown, value) {
			t.Errorf("%s %s %x: %s is shown as %s, error %v", encoding, kind, data, value, shown, err)
		}
	})
}

// store writes a value as storage holds it.
func (a ABI) store(e *codec.Encoder, t Type, value json.RawMessage) error {
	text := Base(t.text) == String || Base(t.text) == Bytes
	if text {
		var binary codec.Encoder
		if err := encodeBase(&binary, t, value); err != nil {
			return err
		}
		data := binary.Data()[8:] // behind the length
		if a.Storage.Encoding == Prefixed {
			e.U16(uint16(len(data)))
		}
		e.Fixed(data)
		return nil
	}
	if a.Storage.Encoding == Bare {
		return a.encode(e, t, value)
	}
	if inner, ok := t.Optional(); ok {
		some := string(value) != "null"
		if e.Option(some); !some {
			return nil
		}
		return a.store(e, inner, value)
	}
	items, ok := t.Tuple()
	if !ok {
		return a.encode(e, t, value)
	}
	var values []json.RawMessage
	if err := json.Unmarshal(value, &values); err != nil {
		return err
	}
	for i, item := range items {
		if err := a.store(e, item, values[i]); err != nil {
			return err
		}
	}
	return nil
}
