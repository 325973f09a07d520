package abi

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// First bytes of data that is neither JSON nor text.
const (
	markBinary = 1 // arguments, results and errors in the binary form
	markPassed = 2 // a typed error of another contract, whose account follows
)

// Uint64 is a u64 in JSON: a number, or a decimal string if it is above 2^53 − 1. Decoding accepts both forms for any
// value.
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
	unquoted := string(text)
	if inner, ok := strings.CutPrefix(unquoted, `"`); ok {
		unquoted = strings.TrimSuffix(inner, `"`)
	}
	v, err := strconv.ParseUint(unquoted, 10, 64)
	*u = Uint64(v)
	return err
}

// EncodeText encodes arguments given as text, by parameter name, as JSON for a call. The result is empty for a function
// without parameters. A missing optional becomes null. The errors wrap [ErrArgument].
func (a ABI) EncodeText(parameters []Parameter, given map[string]string, resolve Resolve) ([]byte, error) {
	return arguments(object(parameters, given, reader{abi: a, resolve: resolve}.text))
}

// EncodeJSON checks arguments given as a JSON object and encodes them as [ABI.EncodeText] does. Empty text means an
// empty object. resolve resolves the names of accounts.
func (a ABI) EncodeJSON(parameters []Parameter, text []byte, resolve Resolve) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	return arguments(reader{abi: a, resolve: resolve}.fields(parameters, text))
}

func arguments(object json.RawMessage, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	if string(object) == "{}" {
		return nil, nil
	}
	return object, nil
}

// Binary returns the binary form of arguments encoded by [ABI.EncodeText] or [ABI.EncodeJSON].
func (a ABI) Binary(parameters []Parameter, object []byte) ([]byte, error) {
	var e codec.Encoder
	e.U8(markBinary)
	if len(object) == 0 {
		object = []byte("{}")
	}
	if err := a.encodeFields(&e, parameters, object); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	return e.Data(), nil
}

// Arguments returns encoded arguments in the form in which they are sent: the binary form if the contract takes it,
// otherwise the JSON unchanged.
func (a ABI) Arguments(parameters []Parameter, object []byte) ([]byte, error) {
	if !a.TakesBinary {
		return object, nil
	}
	return a.Binary(parameters, object)
}

// DecodeArguments decodes arguments in either form to a JSON object. The errors wrap [ErrArgument].
func (a ABI) DecodeArguments(parameters []Parameter, data []byte) (json.RawMessage, error) {
	if len(data) == 0 || data[0] != markBinary {
		encoded, err := a.EncodeJSON(parameters, data, Hex)
		if encoded == nil && err == nil {
			encoded = []byte("{}")
		}
		return encoded, err
	}
	d := codec.NewDecoder(data[1:])
	object := a.decodeFields(d, parameters)
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	return object, nil
}

// Result decodes a function's output, in either form, to JSON, or nil if the function returns nothing. It returns an
// error that wraps [ErrArgument] if the output does not have the function's type.
func (a ABI) Result(f Function, output []byte) (json.RawMessage, error) {
	if f.Returns == (Type{}) {
		if len(output) > 0 {
			return nil, fmt.Errorf("%w: a result of %d bytes where none was expected", ErrArgument, len(output))
		}
		return nil, nil
	}
	if len(output) > 0 && output[0] == markBinary {
		d := codec.NewDecoder(output[1:])
		value := a.decode(d, f.Returns)
		if err := d.Finish(); err != nil {
			return nil, fmt.Errorf("%w: the result is not a %s: %w", ErrArgument, f.Returns, err)
		}
		return value, nil
	}
	var whole json.RawMessage
	if err := json.Unmarshal(output, &whole); err != nil {
		return nil, fmt.Errorf("%w: the result is not a JSON value: %w", ErrArgument, err)
	}
	value, err := reader{abi: a, resolve: Hex}.value(f.Returns, whole)
	if err != nil {
		return nil, fmt.Errorf("%w: the result is not a %s: %w", ErrArgument, f.Returns, err)
	}
	return value, nil
}

// ShowFields returns a JSON object of parameters, such as arguments, in readable form: show renders the accounts, and
// nothing else that may look like one. The errors wrap [ErrArgument].
func (a ABI) ShowFields(
	parameters []Parameter, object json.RawMessage, show func(types.Account) string,
) (json.RawMessage, error) {
	shown, err := reader{a, Hex, show}.fields(parameters, object)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	return shown, nil
}

// Show is [ABI.ShowFields] for one value.
func (a ABI) Show(t Type, value json.RawMessage, show func(types.Account) string) (json.RawMessage, error) {
	shown, err := reader{a, Hex, show}.value(t, value)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	return shown, nil
}

// Revert is the reason why a call reverted: a text or a typed error.
type Revert struct {
	Text string          `json:"text,omitempty"`  // the contract's message if it is not a typed error
	Name string          `json:"error,omitempty"` // name of a typed error
	Code uint32          `json:"code,omitempty"`
	Data json.RawMessage `json:"data,omitempty"` // the error's fields; null if it has none
	By   *types.Account  `json:"by,omitempty"`   // the contract that raised the error, if it is not the called one
}

// String returns the reason in readable form.
func (r Revert) String() string {
	text := r.Text
	if r.Name != "" {
		text = r.Name
		if len(r.Data) > 0 {
			text += " " + string(r.Data)
		}
	}
	if r.By != nil {
		text += " (from " + r.By.String() + ")"
	}
	return text
}

// Revert decodes the data of a call that reverted, in either form. If the contract passed on a typed error of another
// contract, the result has that contract's account and the data in hex. To decode it, call Revert on that contract's
// ABI with the data after the account.
func (a ABI) Revert(data []byte) Revert {
	if len(data) > len(types.Account{}) && data[0] == markPassed {
		by := types.Account(data[1 : 1+len(types.Account{})])
		return Revert{Text: "0x" + hex.EncodeToString(data[1+len(by):]), By: &by}
	}
	if r, ok := a.typed(data); ok {
		return r
	}
	if !printable(data) {
		return Revert{Text: "0x" + hex.EncodeToString(data)}
	}
	return Revert{Text: string(data)}
}

// typed decodes a typed error of this contract.
func (a ABI) typed(data []byte) (Revert, bool) {
	if len(data) > 0 && data[0] == markBinary {
		d := codec.NewDecoder(data[1:])
		code := d.U32()
		e, ok := find(a.Errors, func(e *Error) bool { return e.Code == code })
		fields := a.decodeFields(d, e.Fields)
		return Revert{Name: e.Name, Code: code, Data: orNone(fields)}, ok && d.Finish() == nil
	}
	if !bytes.HasPrefix(data, []byte(`{"error":`)) {
		return Revert{}, false
	}
	var given struct {
		Error string
		Code  uint32
		Data  json.RawMessage
	}
	if json.Unmarshal(data, &given) != nil {
		return Revert{}, false
	}
	e, ok := find(a.Errors, func(e *Error) bool { return e.Name == given.Error && e.Code == given.Code })
	if len(given.Data) == 0 {
		given.Data = json.RawMessage("{}")
	}
	fields, err := reader{abi: a, resolve: Hex}.fields(e.Fields, given.Data)
	return Revert{Name: e.Name, Code: e.Code, Data: orNone(fields)}, ok && err == nil
}

// orNone returns an object, or nil if it has no members.
func orNone(object json.RawMessage) json.RawMessage {
	if string(object) == "{}" {
		return nil
	}
	return object
}

// printable reports whether data is text without control characters.
func printable(data []byte) bool {
	if !utf8.Valid(data) {
		return false
	}
	for _, r := range string(data) {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
