package abi

import (
	"fmt"
	"slices"
	"strings"
)

// Type is the type of a parameter or result: a base type, in lists and optionals. The zero type is none.
type Type struct {
	base     Base
	suffixes string // of '[' for a list and '?' for an optional, the innermost first
}

// Base is a type that is not made of others.
type Base string

// The base types.
const (
	Bool    Base = "bool"
	U8      Base = "u8"
	U32     Base = "u32"
	U64     Base = "u64"
	I64     Base = "i64"
	String  Base = "string"
	Bytes   Base = "bytes"
	Account Base = "account"
	Hash    Base = "hash"
)

var bases = []Base{Bool, U8, U32, U64, I64, String, Bytes, Account, Hash}

// maxSuffixes bounds how deep lists and optionals nest.
const maxSuffixes = 8

// ParseType reads a type, such as "u64", "account[]" or "string?".
func ParseType(text string) (Type, error) {
	rest, suffixes := text, ""
	for {
		if inner, ok := strings.CutSuffix(rest, "[]"); ok {
			rest, suffixes = inner, "["+suffixes
		} else if inner, ok := strings.CutSuffix(rest, "?"); ok {
			rest, suffixes = inner, "?"+suffixes
		} else {
			break
		}
	}
	if len(suffixes) > maxSuffixes || !slices.Contains(bases, Base(rest)) {
		return Type{}, fmt.Errorf("%w: there is no type %q", ErrBad, text)
	}
	return Type{Base(rest), suffixes}, nil
}

// String is the type as [ParseType] reads it.
func (t Type) String() string { return string(t.base) + strings.ReplaceAll(t.suffixes, "[", "[]") }

// MarshalText is [Type.String].
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is [ParseType].
func (t *Type) UnmarshalText(text []byte) (err error) {
	*t, err = ParseType(string(text))
	return err
}

// Base is the type that lists and optionals are made of.
func (t Type) Base() Base { return t.base }

// List is the type of a list's elements.
func (t Type) List() (element Type, ok bool) { return t.outer('[') }

// Optional is the type of an optional's value where there is one.
func (t Type) Optional() (value Type, ok bool) { return t.outer('?') }

func (t Type) outer(suffix byte) (inner Type, ok bool) {
	last := len(t.suffixes) - 1
	if last < 0 || t.suffixes[last] != suffix {
		return Type{}, false
	}
	return Type{t.base, t.suffixes[:last]}, true
}
