//go:build !linux

package kv

import "io"

// Lock takes an exclusive lock on systems without shared locks.
func (s shared) Lock(name string) (io.Closer, error) { return s.FS.Lock(name) }
