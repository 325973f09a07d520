package vm

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Fault is returned when an engine failed on a code. It is neither the code's own doing, which has an [Exit], nor an
// error of a callback. The effects of the call must be undone; another engine may run it correctly.
type Fault struct {
	Code     types.CodeHash
	Function string // empty if the code was being loaded or compiled
	Err      error
}

// Error implements error.
func (f *Fault) Error() string {
	return fmt.Sprintf("the engine failed on code %s, function %q: %v", f.Code, f.Function, f.Err)
}

// Unwrap returns the engine's error.
func (f *Fault) Unwrap() error { return f.Err }

// ErrClosed is returned by a closed engine. It is not a [Fault], as it says nothing about a code.
var ErrClosed = errors.New("the contract engine is closed")
