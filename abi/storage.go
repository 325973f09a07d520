package abi

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairn-chain/cairn/codec"
)

// Storage describes a contract's storage, as far as the contract does.
type Storage struct {
	Encoding Encoding `json:"encoding" doc:"how keys and values are encoded: prefixed or bare"`
	Cells    []Cell   `json:"cells" doc:"the names in storage that are described"`
}

// Encoding is the encoding of keys and values in storage.
type Encoding string

// Encodings, one for each SDK (docs/protocol.md, "Storage in the ABI").
const (
	Prefixed Encoding = "prefixed" // Rust: names, strings and bytes are preceded by their length
	Bare     Encoding = "bare"     // AssemblyScript: a string or bytes is the whole value, or the rest of the key
)

// Cell is a name in storage.
type Cell struct {
	Name  string   `json:"name" doc:"the name"`
	Kind  CellKind `json:"kind" doc:"cell: one value; map: values by key; list: values by index"`
	Key   Type     `json:"key,omitzero" doc:"of a map: the type of its keys"`
	Value Type     `json:"value" doc:"the type of the value, or of each"`
}

// CellKind is the kind of content under a name in storage.
type CellKind string

// Kinds of names in storage.
const (
	OneValue CellKind = "cell" // one value
	ByKey    CellKind = "map"  // values by key
	ByIndex  CellKind = "list" // values by index, and their number under the name alone
)

// The protocol's limits on storage, in bytes.
const (
	maxStorageKey   = 256
	maxStorageValue = 16 << 10
)

var errNotStored = errors.New("storage holds no such type")

// UnmarshalJSON implements [json.Unmarshaler]. It decodes nothing for an unknown encoding, whose cells may have another
// form.
func (s *Storage) UnmarshalJSON(text []byte) error {
	var encoding struct{ Encoding Encoding }
	if err := json.Unmarshal(text, &encoding); err != nil {
		return err
	}
	if encoding.Encoding != Prefixed && encoding.Encoding != Bare {
		*s = Storage{}
		return nil
	}
	type known Storage
	err := json.Unmarshal(text, (*known)(s))
	s.Cells = present(s.Cells)
	return err
}

func (a ABI) checkStorage(depths nesting) error {
	if a.Storage == nil {
		return nil
	}
	if len(a.Storage.Cells) > maxItems {
		return fmt.Errorf("%w: more than %d names in storage", ErrBad, maxItems)
	}
	for _, c := range a.Storage.Cells {
		known := c.Kind == OneValue || c.Kind == ByKey || c.Kind == ByIndex
		if !known || (c.Kind == ByKey) != (c.Key != Type{}) || c.Value == (Type{}) || strings.Contains(c.Name, "\x00") {
			return fmt.Errorf("%w: %q in storage is not a cell, map or list with its types", ErrBad, short([]byte(c.Name)))
		}
		for _, t := range []Type{c.Key, c.Value} {
			if t == (Type{}) {
				continue
			}
			if _, err := depths.of(t); err != nil {
				return err
			}
		}
	}
	return checkNames("names in storage", a.Storage.Cells, func(c Cell) string { return c.Name })
}

// Slot is the meaning of a storage key.
type Slot struct {
	Cell Cell
	Key  json.RawMessage // a map's key or a list's index; nil for a cell and for a list's length
	// Value is the type of the stored value.
	Value Type
}

// Slot decodes a storage key. It returns false if the ABI does not describe the key.
func (a ABI) Slot(key []byte) (Slot, bool) {
	if a.Storage == nil || len(key) > maxStorageKey {
		return Slot{}, false
	}
	name, rest, alone := a.Storage.Encoding.cut(key)
	cell, ok := find(a.Storage.Cells, func(c *Cell) bool { return c.Name == string(name) })
	slot := Slot{Cell: cell, Value: cell.Value}
	switch {
	case !ok:
		return Slot{}, false
	case alone:
		if cell.Kind == ByIndex {
			slot.Value = Type{string(U32)} // the length
		}
		return slot, cell.Kind != ByKey
	case cell.Kind == ByKey:
		var err error
		slot.Key, err = a.storedKey(cell.Key, rest)
		return slot, err == nil
	}
	if cell.Kind != ByIndex || len(rest) != 4 {
		return Slot{}, false
	}
	index := binary.LittleEndian.Uint32(rest)
	if a.Storage.Encoding == Bare {
		index = binary.BigEndian.Uint32(rest)
	}
	slot.Key = strconv.AppendUint(nil, uint64(index), 10)
	return slot, true
}

// cut splits a key into the name of its cell and the rest. alone reports whether the rest is absent.
func (e Encoding) cut(key []byte) (name, rest []byte, alone bool) {
	if e == Bare {
		name, rest, more := bytes.Cut(key, []byte{0})
		return name, rest, !more
	}
	if len(key) == 0 || len(key)-1 < int(key[0]) {
		return nil, nil, false
	}
	end := 1 + int(key[0]) // a length in a byte, plus one: up to 256
	return key[1:end], key[end:], end == len(key)
}

// Stored decodes a value of type t from storage to JSON. It returns an error that wraps [ErrArgument] for other bytes.
func (a ABI) Stored(t Type, value []byte) (json.RawMessage, error) {
	if a.Storage == nil || len(value) > maxStorageValue {
		return nil, fmt.Errorf("%w: the ABI describes no storage, or %d bytes are over the limit", ErrArgument, len(value))
	}
	if a.Storage.Encoding == Bare {
		return a.bare(t, value)
	}
	return stored(t, value, a.prefixed)
}

// storedKey decodes the key of a map.
func (a ABI) storedKey(t Type, key []byte) (json.RawMessage, error) {
	if a.Storage.Encoding == Prefixed {
		return stored(t, key, a.prefixed)
	}
	if named, ok := a.Type(t.text); ok && named.Kind == Enum {
		return nil, fmt.Errorf("%w: an enum is no key: %w", ErrArgument, errNotStored)
	}
	if width, _, ok := t.integer(); ok && width <= 64 {
		key = slices.Clone(key)
		slices.Reverse(key)
	}
	return a.bare(t, key)
}

// bare decodes a value without a length: a string or bytes takes all of data; other types are in the binary form.
func (a ABI) bare(t Type, data []byte) (json.RawMessage, error) {
	_, list := t.List()
	_, optional := t.Optional()
	switch {
	case list || optional:
		return nil, fmt.Errorf("%w: %s: %w", ErrArgument, t, errNotStored)
	case Base(t.text) == Bytes:
		return quote("0x" + hex.EncodeToString(data)), nil
	case Base(t.text) == String:
		if !utf8.Valid(data) {
			return nil, fmt.Errorf("%w: what is stored is not a string: %w", ErrArgument, codec.ErrBadUTF8)
		}
		return quote(string(data)), nil
	}
	return stored(t, data, a.decode)
}

// prefixed decodes a value in which a string or bytes is preceded by its length as u16. The contract's own types are in
// the binary form.
func (a ABI) prefixed(d *codec.Decoder, t Type) json.RawMessage {
	if d.Err() != nil {
		return nil
	}
	if _, list := t.List(); list {
		d.Fail(errNotStored)
		return nil
	}
	if inner, ok := t.Optional(); ok {
		if !d.Option() {
			return json.RawMessage("null")
		}
		return a.prefixed(d, inner)
	}
	if items, ok := t.Tuple(); ok {
		values := make([]json.RawMessage, len(items))
		for i, item := range items {
			values[i] = a.prefixed(d, item)
		}
		return array(values)
	}
	if Base(t.text) != String && Base(t.text) != Bytes {
		return a.decode(d, t)
	}
	data := make([]byte, d.U16()) // 64 KiB at most
	d.Fixed(data)
	if Base(t.text) == Bytes {
		return quote("0x" + hex.EncodeToString(data))
	}
	if !utf8.Valid(data) {
		d.Fail(codec.ErrBadUTF8)
	}
	return quote(string(data))
}

// stored decodes all of data as one value.
func stored(t Type, data []byte, decode func(*codec.Decoder, Type) json.RawMessage) (json.RawMessage, error) {
	d := codec.NewDecoder(data)
	value := decode(d, t)
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: what is stored is not a %s: %w", ErrArgument, t, err)
	}
	return value, nil
}
