package vm

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Fault is the error of an engine that failed on a code. It is neither the code's own doing, which has an [Exit], nor
// an error of what the engine asks of others. What the call did is to be undone; another engine may run it well.
type Fault struct {
	Code     types.CodeHash
	Function string // empty where the code was loaded or compiled
	Err      error
}

// Error implements error.
func (f *Fault) Error() string {
	return fmt.Sprintf("the engine failed on code %s, function %q: %v", f.Code, f.Function, f.Err)
}

// Unwrap is what the engine said.
func (f *Fault) Unwrap() error { return f.Err }

// ErrClosed is the error of an engine that was closed. It is no [Fault]: it says nothing of a code.
var ErrClosed = errors.New("the contract engine is closed")
