//go:build !linux

package machine

import "errors"

// LowerPriority gives the process the lowest priority, which is known for Linux only.
func LowerPriority() error { return errors.New("not on this system") }
