package bindings

import (
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/abi"
)

// goBase is the Go form of a base type: its name, and the method of the encoder and decoder, if any.
type goBase struct{ name, method string }

var goBases = map[abi.Base]goBase{
	abi.Bool:    {"bool", "Option"},
	abi.U8:      {"uint8", "U8"},
	abi.U16:     {"uint16", "U16"},
	abi.U32:     {"uint32", "U32"},
	abi.U64:     {"uint64", "U64"},
	abi.U128:    {"abi.Uint128", ""},
	abi.I8:      {"int8", "U8"},
	abi.I16:     {"int16", "U16"},
	abi.I32:     {"int32", "U32"},
	abi.I64:     {"int64", "U64"},
	abi.I128:    {"abi.Int128", ""},
	abi.String:  {"string", "String"},
	abi.Bytes:   {"[]byte", "Bytes"},
	abi.Account: {"types.Account", ""},
	abi.Hash:    {"types.Digest", ""},
}

// typeOf returns a type's Go form.
func (g *golang) typeOf(t abi.Type) string {
	if element, ok := t.List(); ok {
		return "[]" + g.typeOf(element)
	}
	if value, ok := t.Optional(); ok {
		return "*" + g.typeOf(value)
	}
	if n, ok := t.FixedBytes(); ok {
		return fmt.Sprintf("[%d]byte", n)
	}
	if items, ok := t.Tuple(); ok && g.names[t.String()] == "" {
		name := "Tuple"
		for _, item := range items {
			name += camel(strings.NewReplacer("[]", "List", "?", "Or", "(", "", ")", "", ",", "_").Replace(item.String()))
		}
		g.names[t.String()] = g.top.take(name)
		g.tuples = append(g.tuples, t)
	}
	if name, ok := g.names[t.String()]; ok {
		return name
	}
	return goBases[abi.Base(t.String())].name
}

// put returns a statement that writes a value to the encoder e.
func (g *golang) put(t abi.Type, value string) string {
	goType := g.typeOf(t)
	if element, ok := t.List(); ok {
		return fmt.Sprintf("bind.PutList(e, %s, %s)", value, g.putting(element))
	}
	if inner, ok := t.Optional(); ok {
		return fmt.Sprintf("bind.PutOptional(e, %s, %s)", value, g.putting(inner))
	}
	if _, ok := g.names[t.String()]; ok {
		return fmt.Sprintf("put%s(e, %s)", goType, value)
	}
	switch base := abi.Base(t.String()); {
	case base == abi.U128:
		return fmt.Sprintf("bind.PutUint128(e, %s)", value)
	case base == abi.I128:
		return fmt.Sprintf("bind.PutUint128(e, abi.Uint128(%s))", value)
	case strings.HasPrefix(goType, "int"):
		return fmt.Sprintf("e.%s(u%s(%s))", goBases[base].method, goType, value)
	case goBases[base].method != "":
		return fmt.Sprintf("e.%s(%s)", goBases[base].method, value)
	}
	return fmt.Sprintf("e.Fixed(%s[:])", value)
}

// putting returns a function that writes a value of the type.
func (g *golang) putting(t abi.Type) string {
	goType := g.typeOf(t)
	if name, ok := g.names[t.String()]; ok {
		return "put" + name
	}
	if method := goBases[abi.Base(t.String())].method; method != "" && !strings.HasPrefix(goType, "int") {
		return "(*codec.Encoder)." + method
	}
	return fmt.Sprintf("func(e *codec.Encoder, v %s) { %s }", goType, g.put(t, "v"))
}

// get returns an expression that reads a value from the decoder d.
func (g *golang) get(t abi.Type) string {
	goType := g.typeOf(t)
	if element, ok := t.List(); ok {
		return fmt.Sprintf("bind.List(d, %s)", g.reading(element))
	}
	if inner, ok := t.Optional(); ok {
		return fmt.Sprintf("bind.Optional(d, %s)", g.reading(inner))
	}
	if _, ok := g.names[t.String()]; ok {
		return fmt.Sprintf("get%s(d)", goType)
	}
	if n, ok := t.FixedBytes(); ok {
		return fmt.Sprintf("%s(bind.Fixed(d, %d))", goType, n)
	}
	switch base := abi.Base(t.String()); {
	case base == abi.U128:
		return "bind.Uint128(d)"
	case base == abi.I128:
		return "abi.Int128(bind.Uint128(d))"
	case base == abi.String:
		return "bind.Text(d)"
	case base == abi.Bytes:
		return "bind.Bytes(d)"
	case strings.HasPrefix(goType, "int"):
		return fmt.Sprintf("%s(d.%s())", goType, goBases[base].method)
	case goBases[base].method != "":
		return fmt.Sprintf("d.%s()", goBases[base].method)
	}
	return fmt.Sprintf("%s(bind.Fixed(d, 32))", goType)
}

// reading returns a function that reads a value of the type.
func (g *golang) reading(t abi.Type) string {
	goType := g.typeOf(t)
	if name, ok := g.names[t.String()]; ok {
		return "get" + name
	}
	switch base := abi.Base(t.String()); {
	case base == abi.U128:
		return "bind.Uint128"
	case base == abi.String:
		return "bind.Text"
	case base == abi.Bytes:
		return "bind.Bytes"
	case goBases[base].method != "" && !strings.HasPrefix(goType, "int"):
		return "(*codec.Decoder)." + goBases[base].method
	}
	return fmt.Sprintf("func(d *codec.Decoder) %s { return %s }", goType, g.get(t))
}
