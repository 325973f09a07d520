//go:build !unix

package main

import "errors"

var errUnknown = errors.New("not known on this system")

func openFilesLimit() (uint64, error) { return 0, errUnknown }

func freeDisk(string) (uint64, error) { return 0, errUnknown }
