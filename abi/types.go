package abi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a parameter or result, by its text. It is a base type, the name of a record or an enum, a tuple,
// a list or an optional of a type. The zero type is none.
type Type struct{ text string }

// Base is a type that is not made of others. There is also bytesN, N bytes.
type Base string

// The base types.
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
	maxDepth      = 16  // of lists, optionals, tuples, records and enums in each other
	maxFixedBytes = 256 // N of bytesN
	maxTuple      = 8
)

// ParseType reads a type, such as "u64", "account[]", "(u64,string?)" or "Offer".
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
		_, twice := value.Optional() // null would mean two things
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

// String is the type as [ParseType] reads it.
func (t Type) String() string { return t.text }

// MarshalText is [Type.String].
func (t Type) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// UnmarshalText is [ParseType].
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}

// List is the type of a list's elements.
func (t Type) List() (element Type, ok bool) {
	text, ok := strings.CutSuffix(t.text, "[]")
	return Type{text}, ok
}

// Optional is the type of an optional's value where there is one.
func (t Type) Optional() (value Type, ok bool) {
	text, ok := strings.CutSuffix(t.text, "?")
	return Type{text}, ok
}

// Tuple are the types of a tuple's items.
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

// Named tells whether the type is the name of one of the ABI's: such a name begins with a capital letter.
func (t Type) Named() bool { return identifier(t.text) && t.text[0] >= 'A' && t.text[0] <= 'Z' }

// identifier tells whether a text is an ASCII identifier of at most 64 bytes.
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

// fixedBytes is N of bytesN.
func (t Type) fixedBytes() (n int, ok bool) {
	digits, ok := strings.CutPrefix(t.text, string(Bytes))
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 1 && n <= maxFixedBytes && strconv.Itoa(n) == digits
}

// integer is the width in bits of an integer type, and whether it has a sign.
func (t Type) integer() (width uint, signed, ok bool) {
	switch Base(t.text) {
	case U8, U16, U32, U64, U128, I8, I16, I32, I64, I128:
		width, err := strconv.ParseUint(t.text[1:], 10, 8)
		return uint(width), t.text[0] == 'i', err == nil
	}
	return 0, false, false
}

// Named is a record or an enum that types refer to by its name.
type Named struct {
	Name     string      `json:"name" doc:"its name, which begins with a capital letter"`
	Kind     Kind        `json:"kind" doc:"record or enum"`
	Fields   []Parameter `json:"fields,omitempty" doc:"of a record: its fields in order"`
	Variants []Variant   `json:"variants,omitempty" doc:"of an enum: its variants in order"`
}

// Kind says what a named type is.
type Kind string

// The kinds of named types.
const (
	Record Kind = "record" // all of its fields
	Enum   Kind = "enum"   // one of its variants, with that one's fields
)

// Variant is one of an enum's.
type Variant struct {
	Name   string      `json:"name" doc:"its name"`
	Fields []Parameter `json:"fields,omitempty" doc:"its fields in order"`
}
