package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// The exit codes of the program.
const (
	ExitDone        = 0
	ExitFailed      = 1 // the operation failed
	ExitUsage       = 2 // wrong command line or setting, or an error that a restart does not fix
	ExitUnreachable = 3 // no node answers
)

// usageError marks an error as a usage error.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// Usage marks an error as a usage error, for which the program exits with [ExitUsage]. It returns nil for nil.
func Usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// detailedError is an error with data for programs.
type detailedError struct {
	error
	data map[string]any
}

func (e detailedError) Unwrap() error { return e.error }

// WithData adds data to an error, which --json shows beside the message.
func WithData(err error, data map[string]any) error { return detailedError{err, data} }

// ExitCode returns the exit code of a command that ended with err, which may be nil. A node that refuses a request with
// an HTTP status from 400 to 499 counts as reached.
func ExitCode(err error) int {
	var usage usageError
	var final *emergency.Emergency
	var status *jsonrpc.StatusError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage), errors.As(err, &final) && final.Final:
		return ExitUsage
	case asRPC(err) != nil:
		return ExitFailed
	case errors.As(err, &status) && status.Status < http.StatusInternalServerError:
		return ExitFailed
	case errors.Is(err, jsonrpc.ErrUnreachable):
		return ExitUnreachable
	default:
		return ExitFailed
	}
}

func asRPC(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return nil
}

// failure is the JSON form of an error.
type failure struct {
	// Code is the negative JSON-RPC code, if the error has one; otherwise the exit code.
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    map[string]any `json:"data"` // never null
}

func failureOf(err error) failure {
	f := failure{Code: ExitCode(err), Message: oneLine(err.Error()), Data: map[string]any{}}
	if detailed, ok := errors.AsType[detailedError](err); ok {
		f.Data = detailed.data
	}
	if e := asRPC(err); e != nil {
		f.Code, f.Message = e.Code, oneLine(e.Message)
		if e.Data != nil {
			f.Data = e.Data
		}
	}
	return f
}

// oneLine joins the lines of a text from other software.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// sentence formats the failure for people, including the code and the data of a node's error that its message lacks.
func (f failure) sentence() string {
	if f.Code >= 0 {
		return f.Message
	}
	text := f.Message
	if detail, ok := f.Data[detailMember].(string); ok {
		text += ": " + oneLine(detail)
	}
	notes := []string{fmt.Sprintf("code %d", f.Code)}
	for _, name := range slices.Sorted(maps.Keys(f.Data)) {
		if value := noteText(f.Data[name]); value != "" && !slices.Contains(spoken, name) {
			notes = append(notes, name+" "+value)
		}
	}
	return text + " (" + strings.Join(notes, ", ") + ")"
}

// detailMember is the member of an error's data that continues the message.
const detailMember = "detail"

// spoken lists the members of an error's data that the message already contains.
var spoken = []string{
	detailMember, "reason", "balance", "needed", "revertData", "status", "position", "oldest", "newest",
}

// noteText formats a member of an error's data if it is short: a text, a number, or a hex quantity as a number.
func noteText(value any) string {
	raw, err := json.Marshal(value)
	var text string
	switch {
	case err != nil || raw[0] == '{' || raw[0] == '[' || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &text) != nil:
		return string(raw)
	}
	if digits, isHex := strings.CutPrefix(text, "0x"); isHex {
		if quantity, err := strconv.ParseUint(digits, 16, 64); err == nil {
			return strconv.FormatUint(quantity, 10)
		}
	}
	return oneLine(text)
}
