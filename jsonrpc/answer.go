package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// An answer is a response object of JSON-RPC 2.0 (section 5): a result, or an error.
type answer struct {
	// id is nil if it is null: the server could not tell which call failed.
	id     *uint64
	result []byte
	err    *Error
}

// openAnswer parses a message as an answer to a Client's call.
func openAnswer(e *envelope) (answer, error) {
	bad := func(what string) (answer, error) {
		return answer{}, fmt.Errorf("%w: %s", ErrBadAnswer, what)
	}
	switch {
	case !e.object:
		return bad("it is not an object")
	case e.twice:
		return bad("a member is duplicated")
	case !e.isVersion():
		return bad("it is not JSON-RPC 2.0")
	case e.id == nil:
		return bad("it has no id")
	case e.result == nil && e.err == nil:
		return bad("it has no result and no error")
	case e.result != nil && e.err != nil:
		return bad("it has a result and an error")
	}
	a := answer{result: e.result}
	if e.id[0] != 'n' {
		id, err := strconv.ParseUint(string(e.id), 10, 64)
		if err != nil {
			return bad("its id matches no request")
		}
		a.id = &id
	}
	if e.err != nil {
		var ok bool
		if a.err, ok = openError(e.err); !ok {
			return bad("its error has no code and message")
		}
	}
	return a, nil
}

// openError decodes an error object; it returns false if raw is none.
func openError(raw []byte) (*Error, bool) {
	var object struct {
		Code    *int    `json:"code"`
		Message *string `json:"message"`
		Data    any     `json:"data"`
	}
	if err := decodeExact(raw, &object); err != nil || object.Code == nil || object.Message == nil {
		return nil, false
	}
	e := &Error{Code: *object.Code, Message: *object.Message}
	switch data := object.Data.(type) {
	case nil:
	case map[string]any:
		e.Data = data
	default:
		e.Data = map[string]any{"value": data}
	}
	return e, true
}

// decode decodes the result into result, unless that is nil, or returns the error.
func (a *answer) decode(result any) error {
	if a.err != nil {
		return a.err
	}
	if result == nil {
		return nil
	}
	if raw, ok := result.(*json.RawMessage); ok { // already known to be JSON
		*raw = a.result
		return nil
	}
	if err := decodeExact(a.result, result); err != nil {
		return fmt.Errorf("%w: its result does not decode: %w", ErrBadAnswer, err)
	}
	return nil
}

// decodeExact decodes raw; numbers in interfaces keep their exact text.
func decodeExact(raw []byte, into any) error {
	if p, ok := into.(Parser); ok && p.ParseJSON(raw) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}
