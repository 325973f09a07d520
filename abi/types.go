package abi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a parameter or result, represented by its text. It is a base type, the name of a record or an
// enum, a tuple, a list, or an optional of a type. The zero Type means that there is no type.
type Type struct{ text string }

// Base is a type that is not composed of others. The base types bytesN, with N bytes, have no constants.
type Base string

// Base types.
const (
	Bool    Base = "bool"
	U8      Base = "u8"
	U16     Base = "u16"
	U32     Base = "u32"
	U64     Base = "u64"
	U128    Base = "u128"
	I8      Base = "i8"
	I16     Base = "i16"
	I32     Base = "i32"
	I64     Base = "i64"
	I128    Base = "i128"
	String  Base = "string"
	Bytes   Base = "bytes"
	Account Base = "account"
	Hash    Base = "hash"
)

var bases = []Base{Bool, U8, U16, U32, U64, U128, I8, I16, I32, I64, I128, String, Bytes, Account, Hash}

// Limits of types.
const (
	maxDepth      = 16  // nesting of lists, optionals, tuples, records and enums
	maxFixedBytes = 256 // N of bytesN
	maxTuple      = 8
)

// ParseType parses a type, such as "u64", "account[]", "(u64,string?)" or "Offer".
func ParseType(text string) (Type, error) {
	if !wellFormed(text, maxDepth) {
		return Type{}, fmt.Errorf("%w: there is no type %q", ErrBad, text)
	}
	return Type{text}, nil
}

func wellFormed(text string, depth int) bool {
	t := Type{text}
	if depth == 0 {
		return false
	}
	if element, ok := t.List(); ok {
		return wellFormed(element.text, depth-1)
	}
	if value, ok := t.Optional(); ok {
		_, twice := value.Optional() // null would be ambiguous
		return !twice && wellFormed(value.text, depth-1)
	}
	if items, ok := t.Tuple(); ok {
		for _, item := range items {
			if !wellFormed(item.text, depth-1) {
				return false
			}
		}
		return len(items) >= 2 && len(items) <= maxTuple
	}
	_, fixed := t.fixedBytes()
	return fixed || t.Named() || slices.Contains(bases, Base(text))
}

// String returns the type in the form that [ParseType] accepts.
func (t Type) String() string { return t.text }

// MarshalText returns [Type.String].
func (t Type) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// UnmarshalText calls [ParseType].
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}

// List returns the type of a list's elements.
func (t Type) List() (element Type, ok bool) {
	text, ok := strings.CutSuffix(t.text, "[]")
	return Type{text}, ok
}

// Optional returns the type of an optional's value.
func (t Type) Optional() (value Type, ok bool) {
	text, ok := strings.CutSuffix(t.text, "?")
	return Type{text}, ok
}

// Tuple returns the types of a tuple's items.
func (t Type) Tuple() (items []Type, ok bool) {
	if !strings.HasPrefix(t.text, "(") || !strings.HasSuffix(t.text, ")") {
		return nil, false
	}
	inner := t.text[1 : len(t.text)-1]
	depth, start := 0, 0
	for i := 0; i < len(inner); i++ {
		switch inner[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				items = append(items, Type{inner[start:i]})
				start = i + 1
			}
		}
		if depth < 0 {
			return nil, false
		}
	}
	return append(items, Type{inner[start:]}), depth == 0
}

// Named reports whether the type is the name of a record or an enum: such a name begins with a capital letter.
func (t Type) Named() bool { return identifier(t.text) && t.text[0] >= 'A' && t.text[0] <= 'Z' }

// identifier reports whether a text is an ASCII identifier of at most 64 bytes.
func identifier(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != "" && len(text) <= 64
}

// fixedBytes returns the N of a type bytesN.
func (t Type) fixedBytes() (n int, ok bool) {
	digits, ok := strings.CutPrefix(t.text, string(Bytes))
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 1 && n <= maxFixedBytes && strconv.Itoa(n) == digits
}

// integer returns the width in bits of an integer type, and whether it is signed.
func (t Type) integer() (width uint, signed, ok bool) {
	switch Base(t.text) {
	case U8, U16, U32, U64, U128, I8, I16, I32, I64, I128:
		width, err := strconv.ParseUint(t.text[1:], 10, 8)
		return uint(width), t.text[0] == 'i', err == nil
	}
	return 0, false, false
}

// Named is a record or an enum that types refer to by name.
type Named struct {
	Name     string      `json:"name" doc:"its name, which begins with a capital letter"`
	Kind     Kind        `json:"kind" doc:"record or enum"`
	Fields   []Parameter `json:"fields,omitempty" doc:"of a record: its fields in order"`
	Variants []Variant   `json:"variants,omitempty" doc:"of an enum: its variants in order"`
}

// Kind is the kind of a named type.
type Kind string

// Kinds of named types.
const (
	Record Kind = "record" // a value of each of its fields
	Enum   Kind = "enum"   // one of its variants, with that variant's fields
)

// Variant is a variant of an enum.
type Variant struct {
	Name   string      `json:"name" doc:"its name"`
	Fields []Parameter `json:"fields,omitempty" doc:"its fields in order"`
}
