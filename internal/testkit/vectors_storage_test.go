package testkit

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
)

// storageVectors are the storage of an ABI with the types of "abi", with its keys and values in one encoding.
type storageVectors struct {
	Storage       json.RawMessage       `json:"storage"`
	Keys          []storageKeyVector    `json:"keys"`
	Values        []storageValueVector  `json:"values"`
	UnknownKeys   []bytesHex            `json:"unknown_keys"`
	RefusedValues []refusedStoredVector `json:"refused_values"`
}

// storageKeyVector is a key in storage: the cell's name, the key in a map or the index in a list, and the type of the
// value.
type storageKeyVector struct {
	Bytes bytesHex        `json:"bytes"`
	Cell  string          `json:"cell"`
	Key   json.RawMessage `json:"key,omitempty"`
	Value abi.Type        `json:"value"`
}

type storageValueVector struct {
	Type  string          `json:"type"`
	Bytes bytesHex        `json:"bytes"`
	JSON  json.RawMessage `json:"json"`
}

type refusedStoredVector struct {
	Type  string   `json:"type"`
	Bytes bytesHex `json:"bytes"`
}

const (
	storedKey   = "2542e6ff0b58095aaa0bf7228fa4ce98ed66c5774424a7bf78422fbaffc05ed7"
	storedOffer = storedKey + "0500000000000000" + "01" + "0200000000000000" + "6869"
	storedSold  = "01000000" + storedKey + "0500000000000000"
	storedCells = `[{"name":"count","kind":"cell","value":"u64"},` +
		`{"name":"balance","kind":"map","key":"account","value":"u64"},` +
		`{"name":"allowed","kind":"map","key":"(u32,account)","value":"bool"},` +
		`{"name":"by","kind":"map","key":"string","value":"Offer"},{"name":"at","kind":"map","key":"i16","value":"bytes"},` +
		`{"name":"wide","kind":"map","key":"u128","value":"string"},` +
		`{"name":"in","kind":"map","key":"State","value":"(string,bytes2)"},{"name":"deals","kind":"list","value":"State"},` +
		`{"name":"é","kind":"map","key":"bytes","value":"Offer"}]`
)

// storedBytes are keys or values of both encodings in hex, with names in quotes.
type storedBytes struct{ kind, prefixed, bare string }

var storedKeys = []storedBytes{
	{"", `05"count"`, `"count"`},
	{"", `07"balance"` + storedKey, `"balance"00` + storedKey},
	{"", `07"allowed"07000000` + storedKey, `"allowed"0007000000` + storedKey},
	{"", `02"by"0200"hi"`, `"by"00"hi"`},
	{"", `02"by"0000`, `"by"00`},
	{"", `02"by"0200"a"00`, `"by"00"a"00`},
	{"", `02"at"feff`, `"at"00fffe`},
	{"", `04"wide"01` + strings.Repeat("00", 15), `"wide"0001` + strings.Repeat("00", 15)},
	{"", `02"in"00000000`, ""},
	{"", `05"deals"`, `"deals"`},
	{"", `05"deals"02010000`, `"deals"0000000102`},
	{"", `02"é"0100ff`, `"é"00ff`},
}

var storedUnknownKeys = []storedBytes{
	{"", "", ""}, {"", "00", "00"}, {"", `05"coun"`, `"coun"`}, {"", `05"count"00`, `"count"00`},
	{"", `05"other"`, `"other"`},
	{"", `"count"`, `05"count"`}, {"", `07"balance"`, `"balance"`},
	{"", `07"balance"` + storedKey[2:], `"balance"00` + storedKey[2:]},
	{"", `07"balance"` + storedKey + "00", `"balance"00` + storedKey + "00"},
	{"", `02"by"0300"hi"`, `"by"00ff`}, {"", `02"by"0100ff`, `"by"00c080`},
	{"", `02"in"02000000`, `"in"0000000000`}, {"", `07"allowed"07000000`, `"allowed"0007000000`},
	{"", `05"deals"020100`, `"deals"00000102`},
	{"", "ff" + strings.Repeat("61", 255), `"by"00` + strings.Repeat("61", 254)},
}

var storedValues = []storedBytes{
	{"u64", "0500000000000000", "0500000000000000"},
	{"u64", "ffffffffffffffff", "ffffffffffffffff"},
	{"i8", "ff", "ff"},
	{"bool", "01", "01"},
	{"i128", strings.Repeat("ff", 16), strings.Repeat("ff", 16)},
	{"account", storedKey, storedKey},
	{"bytes2", "abcd", "abcd"},
	{"string", `0200"hi"`, `"hi"`},
	{"string", "0000", ""},
	{"bytes", `0200"hi"`, `"hi"`},
	{"(u8,string)", `010200"hi"`, `010200000000000000"hi"`},
	{"u16?", "010500", ""},
	{"string?", "00", ""},
	{"Offer", storedOffer, storedOffer},
	{"State", "00000000", "00000000"},
	{"State", storedSold, storedSold},
	{"(bool,Offer)", "01" + storedOffer, "01" + storedOffer},
}

var storedRefused = []storedBytes{
	{"u64", "05000000000000", "05000000000000"},
	{"u64", "050000000000000000", "050000000000000000"},
	{"bool", "02", "02"},
	{"u16?", "020500", "010500"},
	{"string", `0300"hi"`, "ff"},
	{"string", "0100ff", "c080"},
	{"string", `0200"hi"00`, "eda080"},
	{"(u8,string)", "01", `010200"hi"`},
	{"State", "02000000", "02000000"},
	{"Offer", storedOffer[2:], storedOffer + "00"},
	{"u8[]", "0000000000000000", "0000000000000000"},
	{"(u8,u8[])", "010000000000000000", "010000000000000080"},
	{"Gone", "00", "00"},
}

// bytes returns the bytes of a text of [storedBytes].
func (s storedBytes) bytes(t *testing.T, encoding abi.Encoding) bytesHex {
	t.Helper()
	text := s.prefixed
	if encoding == abi.Bare {
		text = s.bare
	}
	var b []byte
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			b = append(b, part...)
			continue
		}
		digits, err := hex.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, digits...)
	}
	return b
}

// describedStorage is the ABI of the vectors, with storage of the given encoding.
func describedStorage(t *testing.T, encoding abi.Encoding) (storage string, declared abi.ABI) {
	t.Helper()
	storage = `{"encoding":"` + string(encoding) + `","cells":` + storedCells + `}`
	declared, err := abi.Parse([]byte(strings.TrimSuffix(abiText, "}") + `,"storage":` + storage + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return storage, declared
}

func storageSection(t *testing.T) (sections []storageVectors) {
	t.Helper()
	for _, encoding := range []abi.Encoding{abi.Prefixed, abi.Bare} {
		text, declared := describedStorage(t, encoding)
		v := storageVectors{Storage: json.RawMessage(text)}
		for _, key := range storedKeys {
			data := key.bytes(t, encoding)
			if len(data) == 0 {
				continue // not a key of this encoding
			}
			slot, ok := declared.Slot(data)
			if !ok {
				t.Fatalf("%s %x is no key", encoding, data)
			}
			v.Keys = append(v.Keys, storageKeyVector{data, slot.Cell.Name, slot.Key, slot.Value})
		}
		for _, value := range storedValues {
			if encoding == abi.Bare && strings.HasSuffix(value.kind, "?") {
				continue
			}
			kind, data := parsedType(t, value.kind), value.bytes(t, encoding)
			stored, err := declared.Stored(kind, data)
			if err != nil {
				t.Fatal(err)
			}
			v.Values = append(v.Values, storageValueVector{value.kind, data, stored})
		}
		for _, key := range storedUnknownKeys {
			v.UnknownKeys = append(v.UnknownKeys, key.bytes(t, encoding))
		}
		for _, value := range storedRefused {
			v.RefusedValues = append(v.RefusedValues, refusedStoredVector{value.kind, value.bytes(t, encoding)})
		}
		sections = append(sections, v)
	}
	return sections
}

func parsedType(t *testing.T, text string) (kind abi.Type) {
	t.Helper()
	if err := kind.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return kind
}

// Data that the vectors declare unreadable is unreadable in Go.
func TestRefusedStorage(t *testing.T) {
	for _, encoding := range []abi.Encoding{abi.Prefixed, abi.Bare} {
		_, declared := describedStorage(t, encoding)
		for _, key := range storedUnknownKeys {
			if slot, ok := declared.Slot(key.bytes(t, encoding)); ok {
				t.Errorf("%s key %x: got %+v", encoding, key.bytes(t, encoding), slot)
			}
		}
		for _, value := range storedRefused {
			data := value.bytes(t, encoding)
			if got, err := declared.Stored(parsedType(t, value.kind), data); err == nil {
				t.Errorf("%s %s %x: got %s, want an error", encoding, value.kind, data, got)
			}
		}
	}
}
