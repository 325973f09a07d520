package jsonrpc

import (
	"bytes"
	"encoding/json"
)

var (
	nullText    = []byte("null")
	versionText = []byte("2.0")
)

// An envelope is a message of JSON-RPC 2.0 taken apart: the texts of the members it defines, nil for those absent.
type envelope struct {
	version, id, method, params, result, err []byte
}

// openEnvelope takes the valid JSON object raw apart. Members that JSON-RPC does not define are passed over; the
// result is false when one that it defines is there twice.
func openEnvelope(raw []byte) (envelope, bool) {
	var e envelope
	once := true
	for name, value := range members(raw) {
		var field *[]byte
		switch string(name) {
		case "jsonrpc":
			field = &e.version
		case "id":
			field = &e.id
		case "method":
			field = &e.method
		case "params":
			field = &e.params
		case "result":
			field = &e.result
		case "error":
			field = &e.err
		default:
			continue
		}
		once = once && *field == nil
		*field = value
	}
	return e, once
}

// isVersion reports whether the envelope says that it is of JSON-RPC 2.0.
func (e *envelope) isVersion() bool {
	return isString(e.version) && bytes.Equal(stringText(e.version), versionText)
}

// A request is one call. It aliases the body it was read from.
type request struct {
	// id is echoed byte for byte; nil makes the request a notification, which is not answered.
	id     []byte
	method string
	// params is an array or object, nil when left out.
	params []byte
}

// openRequest reads one valid JSON value as a request. With an error the request's id is the one to answer to: its
// own as far as it has a usable one, null otherwise (section 5: null when the id could not be detected).
func openRequest(raw []byte) (request, *Error) {
	invalid := func(id []byte, message, reason string) (request, *Error) {
		if id == nil {
			id = nullText
		}
		return request{id: id}, NewError(CodeInvalidRequest, message, "reason", reason)
	}
	if raw[0] != '{' {
		return invalid(nil, "a call is an object", "not_an_object")
	}
	e, once := openEnvelope(raw)
	switch {
	case e.id != nil && !isID(e.id):
		return invalid(nil, "id is a string, a number or null", "bad_id")
	case !once:
		return invalid(nil, "a member of the call is there twice", "duplicate_member")
	case !e.isVersion():
		return invalid(e.id, `jsonrpc is "2.0"`, "bad_version")
	case !isString(e.method):
		return invalid(e.id, "method is a string", "bad_method")
	case e.params != nil && e.params[0] != '[' && e.params[0] != '{':
		return invalid(e.id, "params is an array or an object", "bad_params")
	}
	return request{id: e.id, method: string(stringText(e.method)), params: e.params}, nil
}

func isString(raw []byte) bool {
	return len(raw) > 0 && raw[0] == '"'
}

// isID reports whether the valid JSON value raw may be an id: a string, a number or null.
func isID(raw []byte) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' || raw[0] == 'n'
}

// A call is a request on its way out.
type call struct {
	Version string            `json:"jsonrpc"`
	ID      uint64            `json:"id"`
	Method  string            `json:"method"`
	Params  []json.RawMessage `json:"params"`
}
