package testkit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
)

// abiVectors are an ABI, with its arguments, results and errors in both forms.
type abiVectors struct {
	ABI     json.RawMessage   `json:"abi"`
	Values  []abiValueVector  `json:"values"`
	Refused []abiValueVector  `json:"refused"`
	Reverts []abiRevertVector `json:"reverts"`
	Storage []storageVectors  `json:"storage"`
}

// abiValueVector is a value of a type: its JSON, and its binary form without the leading byte 1. An invalid value has
// only one of the two.
type abiValueVector struct {
	Type   string          `json:"type"`
	JSON   json.RawMessage `json:"json,omitempty"`
	Binary *bytesHex       `json:"binary,omitempty"`
}

type abiRevertVector struct {
	Data   bytesHex   `json:"data"`
	Revert abi.Revert `json:"revert"`
}

const abiText = `{"abi":2,"binary":true,"types":[` +
	`{"name":"Offer","kind":"record","fields":[{"name":"seller","type":"account"},{"name":"price","type":"u64"},{"name":"note","type":"string?"}]},` +
	`{"name":"State","kind":"enum","variants":[{"name":"Open"},{"name":"Sold","fields":[{"name":"to","type":"account"},{"name":"price","type":"u64"}]}]}],` +
	`"functions":[{"name":"offer","mode":"write","payable":true,"args":[{"name":"v","type":"Offer"}],"returns":"State"}],"events":[],` +
	`"errors":[{"name":"TooLow","code":2,"fields":[{"name":"have","type":"u64"},{"name":"need","type":"u64"}]},{"name":"Closed","code":3}]}`

func abiSection(t *testing.T) abiVectors {
	t.Helper()
	declared, err := abi.Parse([]byte(abiText))
	if err != nil {
		t.Fatal(err)
	}
	const key = "2542e6ff0b58095aaa0bf7228fa4ce98ed66c5774424a7bf78422fbaffc05ed7"
	account := `"0x` + key + `"`
	offer := `{"seller":` + account + `,"price":5,"note":"hi"}`
	v := abiVectors{ABI: json.RawMessage(abiText), Storage: storageSection(t)}
	for _, value := range [][2]string{
		{"bool", `true`}, {"u8", `255`}, {"u16", `513`}, {"u32", `4294967295`}, {"u64", `1000`}, {"u64", `9007199254740991`},
		{"u64", `"18446744073709551615"`}, {"u128", `"0"`}, {"u128", `"2000000000000000000000000000"`},
		{"u128", `"340282366920938463463374607431768211455"`}, {"i8", `-1`}, {"i16", `-2`}, {"i32", `-2147483648`},
		{"i64", `"-9223372036854775808"`}, {"i128", `"-1"`}, {"i128", `"-170141183460469231731687303715884105728"`},
		{"string", `""`},
		{"string", `"hé \"q\" \\"`}, {"bytes", `"0x"`}, {"bytes", `"0xab"`}, {"bytes4", `"0xdeadbeef"`}, {"account", account},
		{"hash", account},
		{"u64?", `null`}, {"u64?", `7`}, {"(u64,bool)[]", `[]`}, {"(u64,bool)[]", `[[1,false],[2,true]]`}, {"Offer", offer},
		{"Offer[]", `[` + offer + `]`}, {"State", `"Open"`}, {"State", `{"Sold":{"to":` + account + `,"price":5}}`},
	} {
		of := []abi.Parameter{{Name: "v"}}
		if err := of[0].Type.UnmarshalText([]byte(value[0])); err != nil {
			t.Fatal(err)
		}
		binary, err := declared.Arguments(of, []byte(`{"v":`+value[1]+`}`))
		if err != nil {
			t.Fatal(err)
		}
		form := bytesHex(binary[1:])
		v.Values = append(v.Values, abiValueVector{value[0], json.RawMessage(value[1]), &form})
	}
	v.Refused = refusedValues(account)
	for _, data := range []string{
		"balance is too low", `{"error":"TooLow","code":2,"data":{"have":7,"need":10}}`, `{"error":"Closed","code":3}`,
		"\x01\x02\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x00\x00\x00\x00\x00", "\x01\x03\x00\x00\x00",
		"\x01\x04\x00\x00\x00",
		"\x02" + strings.Repeat("\xaa", 32) + "\x01\x03\x00\x00\x00",
	} {
		v.Reverts = append(v.Reverts, abiRevertVector{bytesHex(data), declared.Revert([]byte(data))})
	}
	return v
}

// refusedValues are values that every decoder must refuse.
func refusedValues(account string) (refused []abiValueVector) {
	for _, value := range [][2]string{
		{"u64", `01`}, {"u64", `"+1"`}, {"u64", `1e1`}, {"u64", `1.0`}, {"u64", `-1`}, {"u64", `18446744073709551616`},
		{"i64", `-0`}, {"u8", `256`},
		{"u128", `"340282366920938463463374607431768211456"`}, {"i8", `128`}, {"string", `"\ud800"`}, {"string", `1`},
		{"bytes", `"0xa"`},
		{"bytes", `"ab"`}, {"bytes4", `"0xdeadbe"`}, {"account", `"0x1f"`}, {"(u64,bool)[]", `[[1]]`},
		{"(u64,bool)[]", `[[1,true,2]]`},
		{"Offer", `{"seller":` + account + `}`}, {"Offer", `{"seller":` + account +
			`,"price":5,"price":5}`}, {"Offer", `{"seller":` + account + `,"price":5,"x":1}`},
		{"State", `"Sold"`}, {"State", `{"Open":{}}`}, {"State", `"Gone"`}, {"State", `{}`},
	} {
		// Some of it is not JSON that the writer of the vectors keeps unchanged.
		refused = append(refused, abiValueVector{Type: value[0], JSON: quoted(value[1])})
	}
	for _, value := range []struct {
		kind string
		data string
	}{
		{"bool", "\x02"}, {"bool", ""}, {"bool", "\x01\x00"}, {"u64?", "\x02\x07\x00\x00\x00\x00\x00\x00\x00"},
		{"State", "\x02\x00\x00\x00"},
		{"string", "\x02\x00\x00\x00\x00\x00\x00\x00\xc0\x80"}, {"bytes", "\x00\x00\x00\x00\x00\x00\x00\x80"},
		{"(u64,bool)[]", "\x00\x00\x00\x00\x00\x00\x00\x80"},
	} {
		data := bytesHex(value.data)
		refused = append(refused, abiValueVector{Type: value.kind, Binary: &data})
	}
	return refused
}

// quoted returns a text as a JSON string.
func quoted(text string) json.RawMessage {
	b, _ := json.Marshal(text) // a string can always be encoded
	return b
}

func TestRefusedValues(t *testing.T) {
	declared, err := abi.Parse([]byte(abiText))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range abiSection(t).Refused {
		of := []abi.Parameter{{Name: "v"}}
		if err := of[0].Type.UnmarshalText([]byte(v.Type)); err != nil {
			t.Fatal(err)
		}
		data := []byte{1}
		if v.Binary != nil {
			data = append(data, *v.Binary...)
		} else {
			var text string
			if err := json.Unmarshal(v.JSON, &text); err != nil {
				t.Fatal(err)
			}
			data = []byte(`{"v":` + text + `}`)
		}
		if got, err := declared.DecodeArguments(of, data); err == nil {
			t.Errorf("%s %s was read as %s", v.Type, data, got)
		}
	}
}
