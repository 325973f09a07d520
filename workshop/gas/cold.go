package main

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/workshop/internal/hunt"
)

// coldBlocks measures blocks of calls that each need another contract's machine code, which is only on disk. It uses
// the modules that take longest to load for the price of a call.
func coldBlocks(t *table) error {
	for _, bomb := range wasmgen.Bombs(maxBody, 1) {
		score, err := hunt.Cold(hunt.Candidate{Code: bomb.Code, Copies: 200}, t.runs)
		if hunt.IsRefusal(err) {
			t.skip(bomb.Name)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", bomb.Name, err)
		}
		t.row("loads: "+bomb.Name, score.Gas, score.Took)
	}
	return nil
}
