package abi

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/codec"
)

// encodeFields appends the binary form of an object in canonical JSON.
func (a ABI) encodeFields(e *codec.Encoder, parameters []Parameter, object json.RawMessage) error {
	given, err := members(object)
	if err != nil {
		return err
	}
	for _, p := range parameters {
		if len(given[p.Name]) == 0 {
			return fmt.Errorf("%s is missing", p.Name)
		}
		if err := a.encode(e, p.Type, given[p.Name]); err != nil {
			return err
		}
	}
	return nil
}

// encode appends the binary form of a value in canonical JSON.
func (a ABI) encode(e *codec.Encoder, t Type, raw json.RawMessage) error {
	if inner, ok := t.Optional(); ok {
		some := string(raw) != "null"
		if e.Option(some); !some {
			return nil
		}
		return a.encode(e, inner, raw)
	}
	element, list := t.List()
	items, tuple := t.Tuple()
	if list || tuple {
		var values []json.RawMessage
		if err := json.Unmarshal(raw, &values); err != nil {
			return err
		}
		if list {
			e.U64(uint64(len(values)))
			items = slices.Repeat([]Type{element}, len(values))
		}
		for i, v := range values {
			if err := a.encode(e, items[i], v); err != nil {
				return err
			}
		}
		return nil
	}
	if named, ok := a.Type(t.text); ok {
		if named.Kind == Record {
			return a.encodeFields(e, named.Fields, raw)
		}
		return a.encodeVariant(e, named, raw)
	}
	return encodeBase(e, t, raw)
}

func (a ABI) encodeVariant(e *codec.Encoder, enum Named, raw json.RawMessage) error {
	name, fields := strings.Trim(string(raw), `"`), json.RawMessage("{}")
	if raw[0] == '{' {
		given, err := members(raw)
		if err != nil {
			return err
		}
		for name, fields = range given {
		}
	}
	at := slices.IndexFunc(enum.Variants, func(v Variant) bool { return v.Name == name })
	if at < 0 {
		return fmt.Errorf("%s is not a variant of %s", short(raw), enum.Name)
	}
	e.U32(uint32(at))
	return a.encodeFields(e, enum.Variants[at].Fields, fields)
}

func encodeBase(e *codec.Encoder, t Type, raw json.RawMessage) error {
	if Base(t.text) == Bool {
		e.Option(string(raw) == "true") // also one byte, 0 or 1
		return nil
	}
	text := string(raw)
	if raw[0] == '"' {
		var err error
		if text, err = unquote(raw); err != nil {
			return err
		}
	}
	if width, _, ok := t.integer(); ok {
		v, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return fmt.Errorf("%s is not an integer", short(raw))
		}
		if v.Sign() < 0 {
			v.Add(v, new(big.Int).Lsh(big.NewInt(1), width)) // two's complement
		}
		b := v.FillBytes(make([]byte, width/8))
		slices.Reverse(b)
		e.Fixed(b)
		return nil
	}
	if Base(t.text) == String {
		e.String(text)
		return nil
	}
	decoded, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if Base(t.text) == Bytes {
		e.Bytes(decoded)
	} else {
		e.Fixed(decoded)
	}
	return err
}

// maxList bounds the elements of a decoded list. A list also has at most as many elements as bytes.
const maxList = math.MaxInt32

// decodeFields reads the binary form of parameters and returns them as a JSON object.
func (a ABI) decodeFields(d *codec.Decoder, parameters []Parameter) json.RawMessage {
	out := []byte{'{'}
	for i, p := range parameters {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quote(p.Name)...), ':'), a.decode(d, p.Type)...)
	}
	return append(out, '}')
}

// decode reads the binary form of a value and returns its canonical JSON, or nil after an error of the decoder.
func (a ABI) decode(d *codec.Decoder, t Type) json.RawMessage {
	if d.Err() != nil {
		return nil
	}
	if inner, ok := t.Optional(); ok {
		if !d.Option() {
			return json.RawMessage("null")
		}
		return a.decode(d, inner)
	}
	items, tuple := t.Tuple()
	element, list := t.List()
	if list {
		items = slices.Repeat([]Type{element}, d.Length(maxList, 1))
	}
	if list || tuple {
		values := make([]json.RawMessage, 0, len(items))
		for _, item := range items {
			values = append(values, a.decode(d, item))
		}
		return array(values)
	}
	named, ok := a.Type(t.text)
	if !ok {
		return decodeBase(d, t)
	}
	if named.Kind == Record {
		return a.decodeFields(d, named.Fields)
	}
	at := d.Variant(uint32(len(named.Variants)))
	if d.Err() != nil {
		return nil
	}
	v := named.Variants[at]
	if len(v.Fields) == 0 {
		return quote(v.Name)
	}
	return append(append(append([]byte{'{'}, quote(v.Name)...), ':'), append(a.decodeFields(d, v.Fields), '}')...)
}

func decodeBase(d *codec.Decoder, t Type) json.RawMessage {
	if width, signed, ok := t.integer(); ok {
		b := make([]byte, width/8)
		d.Fixed(b)
		negative := signed && b[len(b)-1] >= 0x80
		slices.Reverse(b)
		v := new(big.Int).SetBytes(b)
		if negative {
			v.Sub(v, new(big.Int).Lsh(big.NewInt(1), width))
		}
		return number(v, width)
	}
	switch Base(t.text) {
	case Bool:
		if d.Option() {
			return json.RawMessage("true")
		}
		return json.RawMessage("false")
	case String:
		return quote(d.String(math.MaxInt32))
	case Bytes:
		return quote("0x" + hex.EncodeToString(d.Bytes(math.MaxInt32)))
	}
	n, fixed := t.fixedBytes()
	if !fixed {
		n = 32 // account or hash
	}
	b := make([]byte, n)
	d.Fixed(b)
	return quote("0x" + hex.EncodeToString(b))
}
