package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/testkit/hunt"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// coldBlocks measures blocks of calls of which each finds its contract on disk only: the modules that take longest to load
// for the price of a call, two of them in turn, in an engine that holds one.
func coldBlocks(t *table, gas types.Gas) error {
	for _, bomb := range wasmgen.Bombs(maxBody, 1) {
		if slices.Contains([]string{"tiny functions", "types"}, bomb.Name) {
			if err := coldBlock(t, bomb, gas); err != nil {
				return fmt.Errorf("%s: %w", bomb.Name, err)
			}
		}
	}
	return nil
}

func coldBlock(t *table, bomb wasmgen.Bomb, gas types.Gas) (err error) {
	n, err := hunt.NewChain(wasm.Options{Codes: 1}, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	calls, err := n.Deploy(hunt.Candidate{Code: bomb.Code, Copies: 2})
	if err != nil {
		return err
	}
	made, err := n.Measure(calls, gas, t.runs, func(m *hunt.Made) time.Duration { return m.Took })
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(made.Receipts, func(r types.Receipt) bool { return r.Status != types.StatusSuccess }); i >= 0 {
		return fmt.Errorf("call %d failed", i)
	}
	t.row(fmt.Sprintf("%d calls of contracts on disk: %s", len(made.Receipts), bomb.Name), made.Gas, made.Took)
	return nil
}
