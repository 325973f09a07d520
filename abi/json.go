package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cairn-chain/cairn/types"
)

// Resolve resolves a user's name for an account: an address, hex, or another name.
type Resolve func(text string) (types.Account, error)

// Hex is the [Resolve] that accepts only 0x and 64 digits.
func Hex(text string) (types.Account, error) { return types.ParseBytes32[types.Account](text) }

// reader converts values to their canonical JSON.
type reader struct {
	abi     ABI
	resolve Resolve
	show    func(types.Account) string // if nil, accounts are shown in hex
}

// object returns a JSON object of parameters, in their order. A missing optional becomes null.
func object[V any](parameters []Parameter, given map[string]V,
	convert func(Type, V) (json.RawMessage, error)) (json.RawMessage, error) {
	known := make(map[string]bool, len(parameters))
	for _, p := range parameters {
		known[p.Name] = true
	}
	for name := range given {
		if !known[name] {
			return nil, fmt.Errorf("there is no %q", short([]byte(name)))
		}
	}
	out := []byte{'{'}
	for i, p := range parameters {
		value := json.RawMessage("null")
		text, ok := given[p.Name]
		if ok {
			var err error
			if value, err = convert(p.Type, text); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
		} else if _, optional := p.Type.Optional(); !optional {
			return nil, fmt.Errorf("%s (%s) is missing", p.Name, p.Type)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(p.Name)...), ':'), value...)
	}
	return append(out, '}'), nil
}

// members returns the members of a JSON object. It refuses repeated members.
func members(raw json.RawMessage) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("%s is not a JSON object", short(raw))
	}
	found := map[string]json.RawMessage{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, fmt.Errorf("%s is not JSON", short(raw))
		}
		name, _ := token.(string) // the decoder accepts nothing else for a name
		if _, twice := found[name]; twice {
			return nil, fmt.Errorf("%q is given twice", short([]byte(name)))
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("%s is not JSON", short(raw))
		}
		found[name] = value
	}
	if _, err := decoder.Token(); err != nil {
		return nil, fmt.Errorf("%s is not a JSON object", short(raw))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is text behind the JSON object")
	}
	return found, nil
}

func (r reader) fields(parameters []Parameter, raw json.RawMessage) (json.RawMessage, error) {
	given, err := members(raw)
	if err != nil {
		return nil, err
	}
	return object(parameters, given, r.value)
}

// value converts a JSON value.
func (r reader) value(t Type, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if inner, ok := t.Optional(); ok {
		if string(raw) == "null" {
			return raw, nil
		}
		return r.value(inner, raw)
	}
	if element, ok := t.List(); ok {
		return r.items(raw, func(int) Type { return element }, -1)
	}
	if items, ok := t.Tuple(); ok {
		return r.items(raw, func(i int) Type { return items[i] }, len(items))
	}
	if named, ok := r.abi.Type(t.text); ok {
		if named.Kind == Record {
			return r.fields(named.Fields, raw)
		}
		return r.variant(named, raw)
	}
	_, _, integer := t.integer()
	switch {
	case Base(t.text) == Bool:
		if string(raw) != "true" && string(raw) != "false" {
			return nil, fmt.Errorf("%s is not true or false", short(raw))
		}
		return raw, nil
	case len(raw) > 0 && raw[0] == '"':
		text, err := unquote(raw)
		if err != nil {
			return nil, err
		}
		return r.scalar(t, text)
	case integer:
		return r.scalar(t, string(raw))
	}
	return nil, fmt.Errorf("%s is not a JSON string", short(raw))
}

// items converts an array, which must have exactly count items unless count is negative.
func (r reader) items(raw json.RawMessage, of func(int) Type, count int) (json.RawMessage, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil || string(raw) == "null" {
		return nil, fmt.Errorf("%s is not a JSON array", short(raw))
	}
	if count >= 0 && len(values) != count {
		return nil, fmt.Errorf("it has %d items, not %d", len(values), count)
	}
	for i := range values {
		var err error
		if values[i], err = r.value(of(i), values[i]); err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
	}
	return array(values), nil
}

// variant converts an enum's value: the name of a variant without fields, or an object with a variant's name and its
// fields.
func (r reader) variant(enum Named, raw json.RawMessage) (json.RawMessage, error) {
	name, fields := "", json.RawMessage(nil)
	if len(raw) > 0 && raw[0] == '"' {
		text, err := unquote(raw)
		if err != nil {
			return nil, err
		}
		name = text
	} else {
		given, err := members(raw)
		if err != nil || len(given) != 1 {
			return nil, fmt.Errorf("%s is not a variant of %s", short(raw), enum.Name)
		}
		for name, fields = range given {
		}
	}
	v, ok := find(enum.Variants, func(v *Variant) bool { return v.Name == name })
	if !ok || (len(v.Fields) == 0) != (fields == nil) {
		return nil, fmt.Errorf("%s is not a variant of %s with its fields", short(raw), enum.Name)
	}
	if fields == nil {
		return quote(name), nil
	}
	inner, err := r.fields(v.Fields, fields)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(append(append([]byte{'{'}, quote(name)...), ':'), append(inner, '}')...), nil
}

// text converts a user's text. A list is a JSON array or has commas between its elements.
func (r reader) text(t Type, text string) (json.RawMessage, error) {
	if inner, ok := t.Optional(); ok {
		if text == "null" {
			return json.RawMessage("null"), nil
		}
		return r.text(inner, text)
	}
	if element, ok := t.List(); ok {
		if strings.HasPrefix(strings.TrimSpace(text), "[") {
			return r.value(t, json.RawMessage(text))
		}
		var values []json.RawMessage
		if text != "" {
			for part := range strings.SplitSeq(text, ",") {
				value, err := r.text(element, part)
				if err != nil {
					return nil, err
				}
				values = append(values, value)
			}
		}
		return array(values), nil
	}
	if _, ok := t.Tuple(); ok {
		return r.value(t, json.RawMessage(text))
	}
	if named, ok := r.abi.Type(t.text); ok {
		if named.Kind == Enum && identifier(text) {
			return r.value(t, quote(text))
		}
		return r.value(t, json.RawMessage(text))
	}
	if Base(t.text) == Bool {
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not true or false", text)
		}
		return strconv.AppendBool(nil, v), nil
	}
	return r.scalar(t, text)
}

// scalar converts a string to a value of any base type except bool.
func (r reader) scalar(t Type, text string) (json.RawMessage, error) {
	if width, signed, ok := t.integer(); ok {
		return integer(text, width, signed)
	}
	switch Base(t.text) {
	case String:
		return quote(text), nil
	case Account:
		account, err := r.resolve(text)
		if r.show != nil && err == nil {
			return quote(r.show(account)), nil
		}
		return quote(account.String()), err
	case Hash:
		hash, err := types.ParseBytes32[types.Digest](text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a hash: 0x and 64 hex digits", short([]byte(text)))
		}
		return quote(hash.String()), nil
	}
	digits, ok := strings.CutPrefix(text, "0x")
	decoded, err := hex.DecodeString(digits)
	if err != nil || !ok {
		return nil, fmt.Errorf("%q is not 0x and an even number of hex digits", short([]byte(text)))
	}
	if n, fixed := t.fixedBytes(); fixed && len(decoded) != n {
		return nil, fmt.Errorf("it has %d bytes, not %d", len(decoded), n)
	}
	return quote(strings.ToLower(text)), nil
}

// integer converts decimal digits. It refuses redundant digits and signs.
func integer(text string, width uint, signed bool) (json.RawMessage, error) {
	least, most := limits(width, signed)
	v, ok := new(big.Int), false
	if len(text) <= len("-")+len(most.String()) {
		_, ok = v.SetString(text, 10)
	}
	if !ok || v.String() != text || v.Cmp(least) < 0 || v.Cmp(most) > 0 {
		return nil, fmt.Errorf("%q is not a whole number from %s to %s", short([]byte(text)), least, most)
	}
	return number(v, width), nil
}

// limits returns the minimum and the maximum of an integer type with the given width in bits.
func limits(width uint, signed bool) (least, most *big.Int) {
	one := big.NewInt(1)
	if !signed {
		return new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, width), one)
	}
	end := new(big.Int).Lsh(one, width-1)
	return new(big.Int).Neg(end), new(big.Int).Sub(end, one)
}

// maxExact is the largest integer that every JSON reader represents exactly, 2^53 − 1 (RFC 8259, section 6).
const maxExact = 1<<53 - 1

// number renders an integer: as a number if it has up to 64 bits and an absolute value up to 2^53 − 1, otherwise as a
// string.
func number(v *big.Int, width uint) json.RawMessage {
	if width > 64 || v.CmpAbs(big.NewInt(maxExact)) > 0 {
		return quote(v.String())
	}
	return json.RawMessage(v.String())
}

// unquote decodes a JSON string. It must be UTF-8 without escapes of unpaired surrogates.
func unquote(raw json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || !utf8.Valid(raw) || halfPair(raw) {
		return "", fmt.Errorf("%s is not a JSON string", short(raw))
	}
	return text, nil
}

// halfPair reports whether a well-formed JSON string has an escape of an unpaired surrogate.
func halfPair(raw []byte) bool {
	unit := func(at int) uint64 { // value of the escape \uXXXX at an offset; 0 if there is none
		if at+6 > len(raw) || raw[at] != '\\' || raw[at+1] != 'u' {
			return 0
		}
		v, err := strconv.ParseUint(string(raw[at+2:at+6]), 16, 16)
		if err != nil {
			return 0
		}
		return v
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch unit(i) >> 10 {
		case 0xd800 >> 10:
			if unit(i+6)>>10 != 0xdc00>>10 {
				return true
			}
			i += 11
		case 0xdc00 >> 10:
			return true
		default:
			i++ // skip the escaped character
		}
	}
	return false
}

// quote encodes a string as JSON without HTML escapes.
func quote(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // encoding a string to memory cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func array(values []json.RawMessage) json.RawMessage {
	parts := make([][]byte, len(values))
	for i, v := range values {
		parts[i] = v
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']')
}

// short returns the beginning of a text, for a message.
func short(text []byte) string {
	const most = 40
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}
