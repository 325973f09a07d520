package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Section is the name of the custom section that holds an ABI.
const Section = "cairn_abi"

// Version is the newest ABI version that this package knows.
const Version = 2

// Limits of parsing an ABI. A contract's code has at most 256 KiB.
const (
	maxBytes    = 256 << 10
	maxItems    = 1_000 // functions, events or errors; parameters of one of them
	maxName     = 128   // bytes
	maxTypes    = 256
	maxVariants = 256
)

// Errors of this package. Functions return them wrapped.
var (
	// ErrBad is returned for text that is not an ABI.
	ErrBad = errors.New("not a contract's ABI")
	// ErrNoABI is returned for code without an ABI.
	ErrNoABI = errors.New("the code carries no ABI")
	// ErrArgument is returned for an argument that does not fit its parameter, or a result that does not fit its type.
	ErrArgument = errors.New("bad argument")
)

// ABI is a contract's description of its functions, events and errors, in its code and over JSON-RPC. The doc tags
// describe the members in the OpenRPC document.
type ABI struct {
	Version     uint32     `json:"abi,omitempty" doc:"the version of the ABI; absent: 1"`
	TakesBinary bool       `json:"binary,omitempty" doc:"whether arguments are understood in the binary form too"`
	Types       []Named    `json:"types,omitempty" doc:"the records and enums that types refer to by name"`
	Functions   []Function `json:"functions" doc:"the functions that can be called, and init"`
	Events      []Event    `json:"events" doc:"the events that they emit"`
	Errors      []Error    `json:"errors,omitempty" doc:"the typed errors that they revert with"`
	Storage     *Storage   `json:"storage,omitempty" doc:"the contents of its storage, if declared"`
}

// Function is an exported function.
type Function struct {
	Name    string      `json:"name" doc:"the function's name"`
	Mode    Mode        `json:"mode" doc:"read: works in view context; write: changes the state; init: runs in the deploy"`
	Payable bool        `json:"payable,omitempty" doc:"whether it takes coins, which ABIs of version 1 do not say"`
	Args    []Parameter `json:"args" doc:"its parameters in order"`
	Returns Type        `json:"returns,omitzero" doc:"the type of its result; absent where it returns nothing"`
}

// Event is an event that the contract emits. Its data is a JSON object of the parameters.
type Event struct {
	Name string      `json:"name" doc:"the event's name"`
	Args []Parameter `json:"args" doc:"its fields in order"`
}

// Error is an error that a function reverts with.
type Error struct {
	Name   string      `json:"name" doc:"the error's name"`
	Code   uint32      `json:"code" doc:"its number, which no other error of the contract has"`
	Fields []Parameter `json:"fields,omitempty" doc:"its fields in order"`
}

// Parameter is a named value.
type Parameter struct {
	Name string `json:"name" doc:"its name"`
	Type Type   `json:"type" doc:"a base type, bytesN, a name of types, a tuple (T,U), a list T[] or an optional T?"`
}

// Mode is the way in which a function is called.
type Mode string

// Modes of functions.
const (
	Read  Mode = "read"  // changes nothing; a view call suffices
	Write Mode = "write" // needs a transaction
	Init  Mode = "init"  // runs once, in the deploy
)

// InitFunction is the name of the function that a deploy runs.
const InitFunction = "init"

// Parse parses an ABI. It ignores unknown members, so that ABIs can be extended, but refuses repeated members.
func Parse(text []byte) (ABI, error) {
	if len(text) > maxBytes {
		return ABI{}, fmt.Errorf("%w: over %d bytes", ErrBad, maxBytes)
	}
	var a ABI
	err := json.Unmarshal(text, &a)
	if err != nil && !errors.Is(err, ErrBad) {
		err = fmt.Errorf("%w: %w", ErrBad, err)
	}
	return a, err
}

// UnmarshalJSON implements [json.Unmarshaler]. Absent lists become empty.
func (a *ABI) UnmarshalJSON(text []byte) error {
	type unchecked ABI
	if err := json.Unmarshal(text, (*unchecked)(a)); err != nil {
		return err
	}
	if err := NoMemberTwice(text); err != nil {
		return fmt.Errorf("%w: %w", ErrBad, err)
	}
	a.Functions, a.Events = present(a.Functions), present(a.Events)
	for i := range a.Functions {
		a.Functions[i].Args = present(a.Functions[i].Args)
	}
	for i := range a.Events {
		a.Events[i].Args = present(a.Events[i].Args)
	}
	if a.Storage != nil && a.Storage.Encoding == "" { // unknown encoding
		a.Storage = nil
	}
	return a.check()
}

// present returns list, or an empty list if it is nil, which JSON would show as null.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Function returns the function with the given name.
func (a ABI) Function(name string) (Function, bool) {
	return find(a.Functions, func(f *Function) bool { return f.Name == name })
}

// Event returns the event with the given name.
func (a ABI) Event(name string) (Event, bool) {
	return find(a.Events, func(e *Event) bool { return e.Name == name })
}

// Type returns the record or enum with the given name.
func (a ABI) Type(name string) (Named, bool) {
	return find(a.Types, func(n *Named) bool { return n.Name == name })
}

func find[T any](list []T, is func(*T) bool) (found T, ok bool) {
	for i := range list {
		if is(&list[i]) {
			return list[i], true
		}
	}
	return found, false
}

// String returns the function's signature in readable form: transfer(to account, amount u64) bool.
func (f Function) String() string {
	text := f.Name + parameterList(f.Args)
	if f.Returns != (Type{}) {
		text += " " + f.Returns.String()
	}
	return text
}

// String returns the event in readable form.
func (e Event) String() string { return e.Name + parameterList(e.Args) }

// String returns the error in readable form: its name, fields and code.
func (e Error) String() string {
	return fmt.Sprintf("%s%s = %d", e.Name, parameterList(e.Fields), e.Code)
}

// String returns the type in readable form: Offer{seller account, price u64} or State{Open, Sold(to account)}.
func (n Named) String() string {
	if n.Kind == Record {
		list := parameterList(n.Fields)
		return n.Name + "{" + list[1:len(list)-1] + "}"
	}
	var b bytes.Buffer
	for i, v := range n.Variants {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(v.Name)
		if len(v.Fields) > 0 {
			b.WriteString(parameterList(v.Fields))
		}
	}
	return n.Name + "{" + b.String() + "}"
}

func parameterList(parameters []Parameter) string {
	var b bytes.Buffer
	b.WriteByte('(')
	for i, p := range parameters {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + " " + p.Type.String())
	}
	b.WriteByte(')')
	return b.String()
}

func sortedTwice(names []string) (string, bool) {
	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i-1] == names[i] {
			return names[i], true
		}
	}
	return "", false
}
