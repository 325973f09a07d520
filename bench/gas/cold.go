package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
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
	dir, err := os.MkdirTemp("", "cairn-gas-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // of the system's temporary directory
	m, err := newMeter(wasm.Options{Dir: dir, Codes: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	var calls [2]types.Payload
	for i := range calls {
		another := append(slices.Clone(bomb.Code), 0, 2, 1, byte('a'+i)) // by a custom section
		deployed, _, err := m.block(params.DefaultGasLimit, 1, types.Deploy{Code: another})
		if err != nil {
			return err
		}
		if deployed[0].Contract == nil {
			return errors.New("the contract is not deployed")
		}
		calls[i] = types.Call{Contract: *deployed[0].Contract, Function: "run"}
	}
	first, _, err := m.block(gas, len(calls), calls[:]...)
	if err != nil {
		return err
	}
	n, least := int(gas/first[0].GasUsed), time.Duration(math.MaxInt64)
	for range t.runs {
		receipts, took, err := m.block(first[0].GasUsed, n, calls[:]...)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(receipts, func(r types.Receipt) bool { return r.Status != types.StatusSuccess }); i >= 0 {
			return fmt.Errorf("call %d failed", i)
		}
		least = min(least, took)
	}
	t.row(fmt.Sprintf("%d calls of contracts on disk: %s", n, bomb.Name), first[0].GasUsed*types.Gas(n), least)
	return nil
}
