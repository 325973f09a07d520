//go:build !linux

package main

import "errors"

func lowerPriority() error { return errors.New("not on this system") }
