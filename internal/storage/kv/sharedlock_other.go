//go:build !linux

package kv

import "io"

// Lock takes the whole lock where the system has none for reading.
func (s shared) Lock(name string) (io.Closer, error) { return s.FS.Lock(name) }
