package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/types"
)

// Resolve reads how a user named an account: an address, hex, a name.
type Resolve func(text string) (types.Account, error)

// Hex is the [Resolve] that knows no names: 0x and 64 digits.
func Hex(text string) (types.Account, error) { return types.ParseBytes32[types.Account](text) }

// maxExact is the largest integer that every JSON reader holds exactly, 2^53 − 1 (RFC 8259, 6).
const maxExact = 1<<53 - 1

// Uint64 is a u64 in JSON: a number, or a decimal string where it is above 2^53 − 1. It reads both.
type Uint64 uint64

// MarshalJSON writes the number.
func (u Uint64) MarshalJSON() ([]byte, error) {
	text := strconv.FormatUint(uint64(u), 10)
	if u > maxExact {
		text = `"` + text + `"`
	}
	return []byte(text), nil
}

// UnmarshalJSON reads a number or a decimal string.
func (u *Uint64) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseUint(unquoted(string(text)), 10, 64)
	*u = Uint64(v)
	return err
}

func unquoted(text string) string {
	if inner, ok := strings.CutPrefix(text, `"`); ok {
		return strings.TrimSuffix(inner, `"`)
	}
	return text
}

// EncodeText encodes arguments that a user gave as text, by parameter name, to the bytes of a call; none for a function
// without parameters. An optional that is left out is null. Errors: [ErrArgument].
func EncodeText(parameters []Parameter, given map[string]string, resolve Resolve) ([]byte, error) {
	return encode(parameters, given, func(t Type, text string) (json.RawMessage, error) { return t.fromText(text, resolve) })
}

// EncodeJSON checks arguments that a user gave as a JSON object, and encodes them as [EncodeText] does; no text is an
// empty object. Accounts may be named as resolve understands.
func EncodeJSON(parameters []Parameter, text []byte, resolve Resolve) ([]byte, error) {
	given := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(text)) > 0 {
		if err := json.Unmarshal(text, &given); err != nil {
			return nil, fmt.Errorf("%w: the arguments are no JSON object: %w", ErrArgument, err)
		}
	}
	return encode(parameters, given, func(t Type, raw json.RawMessage) (json.RawMessage, error) { return t.fromJSON(raw, resolve) })
}

func encode[V any](parameters []Parameter, given map[string]V, convert func(Type, V) (json.RawMessage, error)) ([]byte, error) {
	known := make(map[string]bool, len(parameters))
	for _, p := range parameters {
		known[p.Name] = true
	}
	for name := range given {
		if !known[name] {
			return nil, fmt.Errorf("%w: there is no parameter %q", ErrArgument, name)
		}
	}
	if len(parameters) == 0 {
		return nil, nil
	}
	object := []byte{'{'}
	for i, p := range parameters {
		value := json.RawMessage("null")
		text, ok := given[p.Name]
		if ok {
			var err error
			if value, err = convert(p.Type, text); err != nil {
				return nil, fmt.Errorf("%w %s: %w", ErrArgument, p.Name, err)
			}
		} else if _, optional := p.Type.Optional(); !optional {
			return nil, fmt.Errorf("%w: %s (%s) is missing", ErrArgument, p.Name, p.Type)
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(append(append(object, quote(p.Name)...), ':'), value...)
	}
	return append(object, '}'), nil
}

// quote is a string as JSON without HTML's escapes.
func quote(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string always encodes, into memory
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// fromText converts what a user wrote: a list is a JSON array or has commas between its elements.
func (t Type) fromText(text string, resolve Resolve) (json.RawMessage, error) {
	if inner, ok := t.Optional(); ok {
		if text == "null" {
			return json.RawMessage("null"), nil
		}
		return inner.fromText(text, resolve)
	}
	if element, ok := t.List(); ok {
		if strings.HasPrefix(strings.TrimSpace(text), "[") {
			return t.fromJSON(json.RawMessage(text), resolve)
		}
		var values []json.RawMessage
		if text != "" {
			for part := range strings.SplitSeq(text, ",") {
				value, err := element.fromText(part, resolve)
				if err != nil {
					return nil, err
				}
				values = append(values, value)
			}
		}
		return array(values), nil
	}
	if t.base == Bool {
		v, err := strconv.ParseBool(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not true or false", text)
		}
		return strconv.AppendBool(nil, v), nil
	}
	return t.fromString(text, resolve)
}

// fromJSON converts a JSON value.
func (t Type) fromJSON(raw json.RawMessage, resolve Resolve) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if inner, ok := t.Optional(); ok {
		if string(raw) == "null" {
			return raw, nil
		}
		return inner.fromJSON(raw, resolve)
	}
	if element, ok := t.List(); ok {
		var values []json.RawMessage
		if err := json.Unmarshal(raw, &values); err != nil || string(raw) == "null" {
			return nil, fmt.Errorf("%s is not a JSON array", short(raw))
		}
		for i := range values {
			var err error
			if values[i], err = element.fromJSON(values[i], resolve); err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return array(values), nil
	}
	switch {
	case t.base == Bool:
		if string(raw) != "true" && string(raw) != "false" {
			return nil, fmt.Errorf("%s is not true or false", short(raw))
		}
		return raw, nil
	case len(raw) > 0 && raw[0] == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("%s is not a JSON string", short(raw))
		}
		return t.fromString(text, resolve)
	case t.integer():
		return t.fromString(string(raw), resolve)
	}
	return nil, fmt.Errorf("%s is not a JSON string", short(raw))
}

func array(values []json.RawMessage) json.RawMessage {
	parts := make([][]byte, len(values))
	for i, v := range values {
		parts[i] = v
	}
	return append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']')
}

func (t Type) integer() bool { return t.base == U8 || t.base == U32 || t.base == U64 || t.base == I64 }

// bits of the unsigned integers.
var bits = map[Base]int{U8: 8, U32: 32, U64: 64}

// fromString converts a value of any base type but bool that is written as a string.
func (t Type) fromString(text string, resolve Resolve) (json.RawMessage, error) {
	switch t.base {
	case U8, U32, U64:
		v, err := strconv.ParseUint(text, 10, bits[t.base])
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number from 0 to %d", text, uint64(math.MaxUint64)>>(64-bits[t.base]))
		}
		return Uint64(v).MarshalJSON()
	case I64:
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a whole number from %d to %d", text, math.MinInt64, math.MaxInt64)
		}
		if v > maxExact || v < -maxExact {
			return quote(strconv.FormatInt(v, 10)), nil
		}
		return strconv.AppendInt(nil, v, 10), nil
	case String:
		return quote(text), nil
	case Account:
		account, err := resolve(text)
		return quote(account.String()), err
	case Hash:
		hash, err := types.ParseBytes32[types.Digest](text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a hash: 0x and 64 hex digits", text)
		}
		return quote(hash.String()), nil
	default:
		digits, ok := strings.CutPrefix(text, "0x")
		if _, err := hex.DecodeString(digits); err != nil || !ok {
			return nil, fmt.Errorf("%q is not 0x and an even number of hex digits", text)
		}
		return quote(strings.ToLower(text)), nil
	}
}

// Check reports why a result is not one of the type; of no type there is no result. Errors: [ErrArgument].
func (t Type) Check(result []byte) error {
	if t == (Type{}) {
		if len(result) > 0 {
			return fmt.Errorf("%w: a result of %d bytes where none was expected", ErrArgument, len(result))
		}
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(result))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return fmt.Errorf("%w: the result is no JSON value: %w", ErrArgument, err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fmt.Errorf("%w: text after the result's end", ErrArgument)
	}
	if _, err := t.fromJSON(raw, Hex); err != nil {
		return fmt.Errorf("%w: the result is not a %s: %w", ErrArgument, t, err)
	}
	return nil
}

// short is the begin of a text for a message.
func short(text []byte) string {
	const most = 40
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
