package main

import (
	"io"
	"testing"
)

// TestTheTwoAgree makes a short run of each attack.
func TestTheTwoAgree(t *testing.T) {
	cases := map[string]int{
		"mutation": 600, "roles": 300, "orders": 240, "replays": 200, "limits": 40, "history": 100, "schnorr": 128,
	}
	for attack := range attacks {
		t.Run(attack, func(t *testing.T) {
			if err := mutate(io.Discard, attack, 7, cases[attack], 10, "../e2e/independent/judge.py"); err != nil {
				t.Error(err)
			}
		})
	}
}
