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

// Limits of an ABI that is read; a contract's code has at most 256 KiB.
const (
	maxBytes = 256 << 10
	maxItems = 1_000 // functions, events, parameters of one
	maxName  = 128   // bytes
)

// What reading fails with, wrapped.
var (
	// ErrBad: the text is no ABI.
	ErrBad = errors.New("not a contract's ABI")
	// ErrNoABI: the code carries none.
	ErrNoABI = errors.New("the code carries no ABI")
	// ErrArgument: an argument does not fit its parameter.
	ErrArgument = errors.New("bad argument")
)

// ABI is what a contract says of its functions and events, in its code and over JSON-RPC. The tags doc describe the
// members in the OpenRPC document.
type ABI struct {
	Functions []Function `json:"functions" doc:"the functions that can be called, and init"`
	Events    []Event    `json:"events" doc:"the events that they emit"`
}

// Function is an exported function.
type Function struct {
	Name    string      `json:"name" doc:"the function's name"`
	Mode    Mode        `json:"mode" doc:"read: works in view context; write: changes the state; init: runs in the deploy"`
	Args    []Parameter `json:"args" doc:"its parameters in order"`
	Returns Type        `json:"returns,omitzero" doc:"the type of its result; absent where it returns nothing"`
}

// Event is an event that the contract emits: its data is a JSON object of the parameters.
type Event struct {
	Name string      `json:"name" doc:"the event's name"`
	Args []Parameter `json:"args" doc:"its fields in order"`
}

// Parameter is a named value.
type Parameter struct {
	Name string `json:"name" doc:"its name"`
	Type Type   `json:"type" doc:"bool, u8, u32, u64, i64, string, bytes, account or hash; T[] is a list of T, T? one that may be missing"`
}

// Mode says how a function is called.
type Mode string

// The modes of functions.
const (
	Read  Mode = "read"  // changes nothing: a view call suffices
	Write Mode = "write" // needs a transaction
	Init  Mode = "init"  // runs once, in the deploy
)

// InitFunction is the name of the function that a deploy runs.
const InitFunction = "init"

// Parse reads an ABI. Members that it does not know are passed over, so that an ABI can grow.
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

// UnmarshalJSON implements [json.Unmarshaler]. Lists that are absent are empty.
func (a *ABI) UnmarshalJSON(text []byte) error {
	type unchecked ABI
	if err := json.Unmarshal(text, (*unchecked)(a)); err != nil {
		return err
	}
	a.Functions, a.Events = present(a.Functions), present(a.Events)
	for i := range a.Functions {
		a.Functions[i].Args = present(a.Functions[i].Args)
	}
	for i := range a.Events {
		a.Events[i].Args = present(a.Events[i].Args)
	}
	return a.check()
}

// present is a list that is not nil, which JSON would show as null.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (a ABI) check() error {
	if len(a.Functions) > maxItems || len(a.Events) > maxItems {
		return fmt.Errorf("%w: more than %d functions or events", ErrBad, maxItems)
	}
	names := make([]string, len(a.Functions))
	for i, f := range a.Functions {
		names[i] = f.Name
		if f.Mode != Read && f.Mode != Write && f.Mode != Init {
			return fmt.Errorf("%w: function %q has the mode %q", ErrBad, f.Name, f.Mode)
		}
		if (f.Mode == Init) != (f.Name == InitFunction) {
			return fmt.Errorf("%w: function %q has the mode %q", ErrBad, f.Name, f.Mode)
		}
		if err := checkParameters(f.Name, f.Args); err != nil {
			return err
		}
	}
	if err := checkNames("functions", names); err != nil {
		return err
	}
	names = make([]string, len(a.Events))
	for i, e := range a.Events {
		names[i] = e.Name
		if err := checkParameters(e.Name, e.Args); err != nil {
			return err
		}
	}
	return checkNames("events", names)
}

func checkParameters(of string, parameters []Parameter) error {
	if len(parameters) > maxItems {
		return fmt.Errorf("%w: %q has more than %d parameters", ErrBad, of, maxItems)
	}
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Name
		if p.Type == (Type{}) {
			return fmt.Errorf("%w: parameter %q of %q has no type", ErrBad, p.Name, of)
		}
	}
	return checkNames("parameters of "+of, names)
}

func checkNames(what string, names []string) error {
	slices.Sort(names)
	for i, name := range names {
		if name == "" || len(name) > maxName {
			return fmt.Errorf("%w: a name of the %s has %d bytes", ErrBad, what, len(name))
		}
		if i > 0 && names[i-1] == name {
			return fmt.Errorf("%w: the %s have %q twice", ErrBad, what, name)
		}
	}
	return nil
}

// Function is the function called name.
func (a ABI) Function(name string) (Function, bool) {
	i := slices.IndexFunc(a.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return a.Functions[i], true
}

// Event is the event called name.
func (a ABI) Event(name string) (Event, bool) {
	i := slices.IndexFunc(a.Events, func(e Event) bool { return e.Name == name })
	if i < 0 {
		return Event{}, false
	}
	return a.Events[i], true
}

// String is the function as people write it: transfer(to account, amount u64) bool.
func (f Function) String() string {
	text := f.Name + parameterList(f.Args)
	if f.Returns != (Type{}) {
		text += " " + f.Returns.String()
	}
	return text
}

// String is the event as people write it.
func (e Event) String() string { return e.Name + parameterList(e.Args) }

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
