// Package bind supports generated contract bindings: see "cairn contract bindings" and docs/contracts.md. Generated
// code encodes and decodes the binary form; this package converts it to the form that the contract's ABI declares.
package bind

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// Viewer makes view calls: a [client.Client].
type Viewer interface {
	View(ctx context.Context, contract types.ContractID, function string, args []byte, at api.BlockRef) ([]byte, error)
}

// Declared parses the ABI embedded in generated code. It panics if the text is invalid.
func Declared(text string) abi.ABI {
	a, err := abi.Parse([]byte(text))
	if err != nil {
		panic("a generated binding has no ABI: " + err.Error())
	}
	return a
}

// Arguments returns a function's arguments in the form that the contract takes. write encodes them in order. It returns
// [abi.ErrArgument] for a value that does not fit its type: text that is not UTF-8, or an enum without a variant.
func Arguments(a abi.ABI, function string, write func(*codec.Encoder)) ([]byte, error) {
	f, ok := a.Function(function)
	if !ok {
		return nil, fmt.Errorf("%w: there is no function %s", abi.ErrBad, function)
	}
	var e codec.Encoder
	e.U8(1) // binary form
	if write != nil {
		write(&e)
	}
	object, err := a.DecodeArguments(f.Args, e.Data())
	switch {
	case err != nil || a.TakesBinary:
		return e.Data(), err
	case len(f.Args) == 0:
		return nil, nil
	}
	return object, nil
}

// Call returns a call with coins.
func Call(
	a abi.ABI, contract types.ContractID, function string, value types.Amount, write func(*codec.Encoder),
) (client.Action, error) {
	args, err := Arguments(a, function, write)
	return client.CallEncoded(contract, function, args, value), err
}

// Deploy returns the deploy of code under a name, with coins and the arguments of its function init.
func Deploy(
	a abi.ABI, name string, code []byte, value types.Amount, write func(*codec.Encoder),
) (client.Action, error) {
	args, err := Arguments(a, abi.InitFunction, write)
	return client.Action{Value: value, Payload: types.Deploy{Name: name, Code: code, InitArgs: args}}, err
}

// Instantiate returns the action that makes a contract with the code of a template, with coins and the arguments of its
// function init.
func Instantiate(
	a abi.ABI, name string, template types.ContractID, value types.Amount, write func(*codec.Encoder),
) (client.Action, error) {
	args, err := Arguments(a, abi.InitFunction, write)
	payload := types.Instantiate{Name: name, InitArgs: args}
	return client.Action{Target: types.Account(template), Value: value, Payload: payload}, err
}

// Result decodes a function's output, in either form. It returns [abi.ErrArgument] if the output does not match the
// ABI.
func Result[T any](a abi.ABI, function string, output []byte, read func(*codec.Decoder) T) (value T, err error) {
	f, _ := a.Function(function)
	packed, err := a.UnpackedResult(f, output)
	if err != nil {
		return value, err
	}
	return decode(packed, read)
}

// View calls a function in view context.
func View[T any](
	ctx context.Context, c Viewer, a abi.ABI, contract types.ContractID, function string, at api.BlockRef,
	write func(*codec.Encoder), read func(*codec.Decoder) T,
) (value T, err error) {
	args, err := Arguments(a, function, write)
	if err != nil {
		return value, err
	}
	output, err := c.View(ctx, contract, function, args, at)
	if err != nil {
		return value, err
	}
	return Result(a, function, output, read)
}

// Event decodes an event's data. It returns [abi.ErrArgument] if the data does not match the ABI.
func Event[T any](a abi.ABI, name string, data []byte, read func(*codec.Decoder) T) (value T, err error) {
	e, _ := a.Event(name)
	packed, err := a.Unpacked(e.Args, data)
	if err != nil {
		return value, err
	}
	return decode(packed, read)
}

// Error decodes revert data as the typed error called name. ok is false if the data is another error, or none.
func Error[T any](a abi.ABI, name string, data []byte, read func(*codec.Decoder) T) (value T, ok bool) {
	revert := a.Revert(data)
	e, declared := a.Error(name)
	if !declared || revert.Name != name || revert.By != nil {
		return value, false
	}
	fields := revert.Data
	if fields == nil {
		fields = []byte("{}")
	}
	packed, err := a.Unpacked(e.Fields, fields)
	if err != nil {
		return value, false
	}
	value, err = decode(packed, read)
	return value, err == nil
}

// RevertData returns the revert data in an error returned by a [client.Client].
func RevertData(err error) (data []byte, ok bool) {
	var failed *client.Error
	if !errors.As(err, &failed) {
		return nil, false
	}
	switch data := failed.Data["revertData"].(type) {
	case api.Data:
		return data, true
	case string:
		decoded, err := hex.DecodeString(strings.TrimPrefix(data, "0x"))
		return decoded, err == nil
	}
	return nil, false
}

func decode[T any](packed []byte, read func(*codec.Decoder) T) (value T, err error) {
	d := codec.NewDecoder(packed)
	value = read(d)
	if err := d.Finish(); err != nil {
		return value, fmt.Errorf("%w: %w", abi.ErrArgument, err)
	}
	return value, nil
}

// PutList writes a list.
func PutList[T any](e *codec.Encoder, list []T, put func(*codec.Encoder, T)) {
	e.U64(uint64(len(list)))
	for _, item := range list {
		put(e, item)
	}
}

// PutOptional writes an optional value, nil if absent.
func PutOptional[T any](e *codec.Encoder, value *T, put func(*codec.Encoder, T)) {
	e.Option(value != nil)
	if value != nil {
		put(e, *value)
	}
}

// PutUint128 writes a u128.
func PutUint128(e *codec.Encoder, v abi.Uint128) {
	e.U64(v.Lo)
	e.U64(v.Hi)
}

// PutNoVariant writes an invalid variant for an enum that is nil or of another enum, so that encoding fails later.
func PutNoVariant(e *codec.Encoder) { e.U32(math.MaxUint32) }

// List reads a list.
func List[T any](d *codec.Decoder, get func(*codec.Decoder) T) []T {
	list := make([]T, 0, d.Length(math.MaxInt32, 1))
	for range cap(list) {
		list = append(list, get(d))
	}
	return list
}

// Optional reads an optional value, nil if absent.
func Optional[T any](d *codec.Decoder, get func(*codec.Decoder) T) *T {
	if !d.Option() {
		return nil
	}
	value := get(d)
	return &value
}

// Uint128 reads a u128.
func Uint128(d *codec.Decoder) abi.Uint128 {
	lo := d.U64()
	return abi.Uint128{Hi: d.U64(), Lo: lo}
}

// Text reads a string.
func Text(d *codec.Decoder) string { return d.String(math.MaxInt32) }

// Bytes reads bytes, nil if there are none.
func Bytes(d *codec.Decoder) []byte { return d.Bytes(math.MaxInt32) }

// Fixed reads n bytes. It returns zeros if there are fewer.
func Fixed(d *codec.Decoder, n int) []byte {
	b := make([]byte, n)
	d.Fixed(b)
	return b
}
