package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// CallError is an error returned by a node for a call.
type CallError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Reason string `json:"reason"`
	} `json:"data"`
}

// errorMember does not occur in a response without errors.
var errorMember = []byte(`"error"`)

// answer is the part of a call's response that matters here.
type answer struct {
	ID    *int            `json:"id"`
	Error json.RawMessage `json:"error"`
}

// failures returns the errors in the response to a request of count calls, by call index. It is for responses that
// contain an error member.
func failures(body []byte, count int) (errors map[int]CallError, err error) {
	var answers []answer
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		err = json.Unmarshal(body, &answers)
	} else {
		answers = make([]answer, 1)
		err = json.Unmarshal(body, &answers[0])
	}
	if err != nil {
		return nil, fmt.Errorf("the answer is not JSON-RPC: %w", err)
	}
	errors = map[int]CallError{}
	for _, a := range answers {
		if len(a.Error) == 0 || string(a.Error) == "null" {
			continue
		}
		e := decodeError(a.Error)
		if a.ID != nil && *a.ID >= 0 && *a.ID < count {
			errors[*a.ID] = e
			continue
		}
		for i := range count { // a response without an id refers to the request as a whole
			errors[i] = e
		}
	}
	return errors, nil
}

// decodeError decodes an error object. Its data may be any JSON; only a reason in an object is used.
func decodeError(text []byte) CallError {
	var e CallError
	if json.Unmarshal(text, &e) != nil {
		var plain struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}
		if json.Unmarshal(text, &plain) != nil {
			plain.Message = string(text)
		}
		e = CallError{Code: plain.Code, Message: plain.Message}
	}
	return e
}
