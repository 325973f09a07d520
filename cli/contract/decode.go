package contract

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/client"
)

// result returns the function's output as JSON, or nil if it is not JSON.
func (t target) result(output []byte) json.RawMessage {
	if !t.declared {
		return returned(output)
	}
	value, err := t.abi.Result(t.function, output)
	if err != nil {
		return returned(output) // does not match the ABI: show it unchanged
	}
	return value
}

// shown formats the function's output for people.
func (t target) shown(output []byte) string {
	if value := t.result(output); value != nil {
		return show.Readable(value)
	}
	return show.Readable(output)
}

// reverted adds the revert, as decoded by the contract's ABI, to the error of a reverted call.
func (t target) reverted(err error) error {
	var answer *client.Error
	if !t.declared || !errors.As(err, &answer) || answer.Code != api.CodeExecutionFailed {
		return err
	}
	outcome, failed := failed(err)
	if failed != nil {
		return err
	}
	revert := t.abi.Revert(outcome.Output)
	if revert.Name == "" && revert.By == nil {
		return err
	}
	data := map[string]any{"error": revert}
	maps.Copy(data, answer.Data)
	return &client.Error{Code: answer.Code, Message: withReason(answer.Message, revert), Data: data}
}

// withReason replaces the end of a message after "reverted" by a description of the revert.
func withReason(message string, revert abi.Revert) string {
	const words = "reverted"
	if at := strings.LastIndex(message, words); at >= 0 {
		message = message[:at+len(words)]
	}
	return message + ": " + revert.String()
}
