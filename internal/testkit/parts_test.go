package testkit

import (
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// TestPartsOfRandomContracts calls generated and hostile contracts with little gas and with much. simulate checks that
// the parts of every call add up to its gas.
func TestPartsOfRandomContracts(t *testing.T) {
	c := newContractChain(t, wasm.Options{})
	r := rand.New(rand.NewPCG(1, 14))
	hostile := wasmgen.Hostile(true).Encode()
	codes := [][]byte{hostile, hostile, wasmgen.Hostile(false).Encode()}
	const random = 12
	for range random {
		codes = append(codes, wasmgen.Random(r).Encode())
	}
	ids := c.deploy(0, codes...)
	calls := []action{}
	for _, a := range attacks(ids[0], ids[1], ids[2]) {
		calls = append(calls, calling(ids[0], a.function, a.args, 0, 0))
	}
	for _, id := range ids[3:] {
		calls = append(calls, calling(id, "run", nil, 0, 0))
	}
	ended := map[exec.Reason]int{}
	for _, call := range calls {
		for range 10 {
			call.gas = types.Gas(2_000_000 + r.IntN(2_000_000))
			if r.IntN(2) == 0 {
				call.gas = types.Gas(1_100_000 + r.IntN(300_000))
			}
			outcome, err := c.simulate(call, r.IntN(4) == 0)
			if err != nil {
				t.Fatalf("%+v: error %v", call.payload, err)
			}
			ended[outcome.Reason]++
		}
	}
	for _, reason := range []exec.Reason{exec.Success, exec.OutOfGas, exec.StackOverflow, exec.ViewWroteState} {
		if ended[reason] == 0 {
			t.Errorf("no call ended %q: got %v", reason, ended)
		}
	}
}
