package jsonrpc

import (
	"errors"
	"fmt"
	"maps"
)

// The codes that JSON-RPC 2.0 defines (section 5.1), and CodeLimit of the range it leaves to servers: a limit was
// passed, and data.reason says which.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeLimit          = -32040
)

// Error is the error object of JSON-RPC 2.0 (section 5.1). A handler returns one, wrapped or not, to say what the
// client is told; any other error becomes CodeInternal.
type Error struct {
	// Code says which kind of error this is, for programs.
	Code int `json:"code"`
	// Message is one plain sentence, for people.
	Message string `json:"message"`
	// Data holds the values that matter, for programs: among them reason, a stable word in snake_case. In an Error
	// that a Client returns, numbers are json.Number, and data that is no object is its member "value".
	Data map[string]any `json:"data,omitempty"`
}

// NewError returns an Error whose data are pairs of a name (string) and a value (anything that encodes as JSON). It
// panics when a name is missing or no string.
func NewError(code int, message string, data ...any) *Error {
	if len(data) == 0 {
		return &Error{Code: code, Message: message}
	}
	if len(data)%2 != 0 {
		panic("jsonrpc: error data are pairs of a name and a value")
	}
	members := make(map[string]any, len(data)/2)
	for i := 0; i < len(data); i += 2 {
		members[data[i].(string)] = data[i+1]
	}
	return &Error{Code: code, Message: message, Data: members}
}

// InvalidParam returns the error of a parameter that cannot be used: CodeInvalidParams with the parameter's name in
// data.param. Further data are pairs, as in NewError.
func InvalidParam(param, message string, data ...any) *Error {
	return NewError(CodeInvalidParams, message, data...).with("param", param)
}

// Error returns the message and the code.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is an Error of the same code and, when target's data name a reason, of the same reason.
func (e *Error) Is(target error) bool {
	want, ok := target.(*Error)
	if !ok || e == nil || want == nil || e.Code != want.Code {
		return false
	}
	reason, ok := want.Data["reason"].(string)
	return !ok || e.Data["reason"] == any(reason)
}

// with returns e with one more member in its data, leaving e itself alone: it may be shared between calls.
func (e *Error) with(name string, value any) *Error {
	data := maps.Clone(e.Data)
	if data == nil {
		data = make(map[string]any, 1)
	}
	data[name] = value
	return &Error{Code: e.Code, Message: e.Message, Data: data}
}

// asError returns the Error within err, nil when there is none.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// PanicError is what a handler's panic becomes on its way to Options.Incident.
type PanicError struct {
	// Value is what was passed to panic; a runtime.Error for a fault of the program.
	Value any
	// Stack is the stack of the goroutine that panicked, as debug.Stack formats it.
	Stack []byte
}

// Error returns the value and the stack. The value is not unwrapped: a panic is unexpected whatever it carries.
func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}
