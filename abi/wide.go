package abi

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/cairn-chain/cairn/codec"
)

// Uint128 is a u128.
type Uint128 struct{ Hi, Lo uint64 }

// Int128 is an i128 in two's complement: Hi has the sign bit.
type Int128 struct{ Hi, Lo uint64 }

// Uint128Of converts a number to a u128. It returns an error that wraps [ErrArgument] if the number is out of range.
func Uint128Of(v *big.Int) (Uint128, error) {
	hi, lo, err := words(v, false)
	return Uint128{Hi: hi, Lo: lo}, err
}

// Int128Of converts a number to an i128. It returns an error that wraps [ErrArgument] if the number is out of range.
func Int128Of(v *big.Int) (Int128, error) {
	hi, lo, err := words(v, true)
	return Int128{Hi: hi, Lo: lo}, err
}

// wideBits is the width of the wide integers.
const wideBits = 128

func words(v *big.Int, signed bool) (hi, lo uint64, err error) {
	least, most := limits(wideBits, signed)
	if v == nil || v.Cmp(least) < 0 || v.Cmp(most) > 0 {
		return 0, 0, fmt.Errorf("%w: %v is not from %s to %s", ErrArgument, v, least, most)
	}
	low := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)) // two's complement for negative numbers
	high := new(big.Int).Rsh(v, 64)
	if high.Sign() < 0 {
		return uint64(high.Int64()), low.Uint64(), nil
	}
	return high.Uint64(), low.Uint64(), nil
}

// Big returns the number as a big.Int.
func (u Uint128) Big() *big.Int {
	v := new(big.Int).Lsh(new(big.Int).SetUint64(u.Hi), 64)
	return v.Or(v, new(big.Int).SetUint64(u.Lo))
}

// Big returns the number as a big.Int.
func (i Int128) Big() *big.Int {
	v := Uint128(i).Big()
	if i.Hi>>63 == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), wideBits))
	}
	return v
}

// String returns the number in decimal.
func (u Uint128) String() string { return u.Big().String() }

// String returns the number in decimal.
func (i Int128) String() string { return i.Big().String() }

// Unpacked converts arguments or an event's data, in either form, to the encoding of the parameters in order: the
// binary form without its first byte. The errors wrap [ErrArgument].
func (a ABI) Unpacked(parameters []Parameter, data []byte) ([]byte, error) {
	object, err := a.DecodeArguments(parameters, data)
	if err != nil {
		return nil, err
	}
	packed, err := a.Binary(parameters, object)
	if err != nil {
		return nil, err
	}
	return packed[1:], nil
}

// UnpackedResult converts a function's output, in either form, to the encoding of its type, or nil if it returns
// nothing. The errors wrap [ErrArgument].
func (a ABI) UnpackedResult(f Function, output []byte) ([]byte, error) {
	value, err := a.Result(f, output)
	if value == nil || err != nil {
		return nil, err
	}
	var e codec.Encoder
	if err := a.encode(&e, f.Returns, value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	return e.Data(), nil
}

// Error returns the error with the given name.
func (a ABI) Error(name string) (Error, bool) {
	return find(a.Errors, func(e *Error) bool { return e.Name == name })
}

// Names returns all names in an ABI, of types, functions, events, errors, parameters, fields and variants, sorted and
// without duplicates.
func (a ABI) Names() []string {
	var names []string
	add := func(name string, parameters []Parameter) {
		names = append(names, name)
		for _, p := range parameters {
			names = append(names, p.Name)
		}
	}
	for _, n := range a.Types {
		add(n.Name, n.Fields)
		for _, v := range n.Variants {
			add(v.Name, v.Fields)
		}
	}
	for _, f := range a.Functions {
		add(f.Name, f.Args)
	}
	for _, e := range a.Events {
		add(e.Name, e.Args)
	}
	for _, e := range a.Errors {
		add(e.Name, e.Fields)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Identifier reports whether a name is an ASCII identifier of at most 64 bytes, which is valid in any programming
// language.
func Identifier(name string) bool { return identifier(name) }

// FixedBytes returns the N of a type bytesN.
func (t Type) FixedBytes() (n int, ok bool) { return t.fixedBytes() }
