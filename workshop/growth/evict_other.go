//go:build !linux

package main

import "errors"

// evict takes a directory's files out of the page cache.
func evict(string) error { return errors.New("the page cache can be emptied on Linux only") }
