package abi

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/cairn-chain/cairn/codec"
)

// Uint128 is a u128.
type Uint128 struct{ Hi, Lo uint64 }

// Int128 is an i128 in two's complement: Hi has the sign.
type Int128 struct{ Hi, Lo uint64 }

// Uint128Of is a number as a u128. Errors: [ErrArgument], of what is none.
func Uint128Of(v *big.Int) (Uint128, error) {
	hi, lo, err := words(v, false)
	return Uint128{Hi: hi, Lo: lo}, err
}

// Int128Of is a number as an i128. Errors: [ErrArgument], of what is none.
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
	low := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1)) // of negative numbers: their two's complement
	high := new(big.Int).Rsh(v, 64)
	if high.Sign() < 0 {
		return uint64(high.Int64()), low.Uint64(), nil
	}
	return high.Uint64(), low.Uint64(), nil
}

// Big is the number.
func (u Uint128) Big() *big.Int {
	v := new(big.Int).Lsh(new(big.Int).SetUint64(u.Hi), 64)
	return v.Or(v, new(big.Int).SetUint64(u.Lo))
}

// Big is the number.
func (i Int128) Big() *big.Int {
	v := Uint128(i).Big()
	if i.Hi>>63 == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), wideBits))
	}
	return v
}

// String is the number in decimal.
func (u Uint128) String() string { return u.Big().String() }

// String is the number in decimal.
func (i Int128) String() string { return i.Big().String() }

// Unpacked gives arguments or an event's data, in either form, as the encoding of the parameters in order: the
// binary form without its first byte. Errors: [ErrArgument].
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

// UnpackedResult gives what a function returned, in either form, as the encoding of its type; nil where it returns
// nothing.
// Errors: [ErrArgument].
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

// Error is the error called name.
func (a ABI) Error(name string) (Error, bool) {
	return find(a.Errors, func(e *Error) bool { return e.Name == name })
}

// Names are all names that an ABI has, of functions, parameters, fields, variants and what else, sorted, each once.
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

// Identifier tells whether a name is an ASCII identifier of at most 64 bytes, which a program in any language may have.
func Identifier(name string) bool { return identifier(name) }

// FixedBytes is N of a type bytesN.
func (t Type) FixedBytes() (n int, ok bool) { return t.fixedBytes() }
