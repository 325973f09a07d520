package main

import (
	"io"
	"testing"
)

// TestTheTwoAgree is a short run.
func TestTheTwoAgree(t *testing.T) {
	if err := mutate(io.Discard, 7, 600, 10, "../e2e/independent/judge.py"); err != nil {
		t.Error(err)
	}
}
