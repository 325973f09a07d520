package jsonrpc

import (
	"errors"
	"fmt"
	"maps"
)

// Error codes of JSON-RPC 2.0 (section 5.1), and CodeLimit, from the range for servers: a limit was exceeded, which
// data.reason names.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeLimit          = -32040
)

// Error is the error object of JSON-RPC 2.0 (section 5.1). A handler returns one, possibly wrapped, for the client; any
// other error becomes CodeInternal.
type Error struct {
	// Code is the kind of error, for programs.
	Code int `json:"code"`
	// Message is one plain sentence, for people.
	Message string `json:"message"`
	// Data holds details for programs, among them reason, a stable word in snake_case. In an Error that a Client
	// returns, numbers are json.Number, and data that is not an object is stored as the member "value".
	Data map[string]any `json:"data,omitempty"`
}

// NewError returns an Error whose data are pairs of a name (string) and a value (anything that encodes as JSON). It
// panics if a name is missing or not a string.
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

// InvalidParam returns the error for an invalid parameter: CodeInvalidParams with the parameter's name in data.param.
// Further data are pairs, as in NewError.
func InvalidParam(param, message string, data ...any) *Error {
	return NewError(CodeInvalidParams, message, data...).with("param", param)
}

// Error returns the message and the code.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// Is reports whether target is an Error with the same code and, if target's data has a reason, the same reason.
func (e *Error) Is(target error) bool {
	want, ok := target.(*Error)
	if !ok || e == nil || want == nil || e.Code != want.Code {
		return false
	}
	reason, ok := want.Data["reason"].(string)
	return !ok || e.Data["reason"] == any(reason)
}

// with returns a copy of e with one more member in its data. e may be shared between calls, so it is not modified.
func (e *Error) with(name string, value any) *Error {
	data := maps.Clone(e.Data)
	if data == nil {
		data = make(map[string]any, 1)
	}
	data[name] = value
	return &Error{Code: e.Code, Message: e.Message, Data: data}
}

// asError returns the Error in err's tree, or nil.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// PanicError is the error passed to Options.Incident after a handler's panic.
type PanicError struct {
	// Value is the argument of panic; a runtime.Error for a run-time panic.
	Value any
	// Stack is the stack of the goroutine that panicked, as debug.Stack formats it.
	Stack []byte
}

// Error returns the value and the stack. The value is not unwrapped: a panic is unexpected whatever it carries.
func (e *PanicError) Error() string {
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}
