//go:build !linux

package machine

import "errors"

// LowerPriority returns an error: it is implemented for Linux only.
func LowerPriority() error { return errors.New("not supported on this system") }
