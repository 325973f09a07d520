package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// CallError is the error that a node answered a call with.
type CallError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Reason string `json:"reason"`
	} `json:"data"`
}

// errorMember is what an answer without errors does not contain.
var errorMember = []byte(`"error"`)

// answer is what matters of an answered call.
type answer struct {
	ID    *int            `json:"id"`
	Error json.RawMessage `json:"error"`
}

// failures are the errors in the answer to a request of count calls, by the calls' places. It is for answers that
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
		return nil, fmt.Errorf("the answer is no JSON-RPC: %w", err)
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
		for i := range count { // without an id it is the answer to the request as a whole
			errors[i] = e
		}
	}
	return errors, nil
}

// decodeError reads an error object. Its data is whatever a node likes: only a reason in an object is of use.
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
