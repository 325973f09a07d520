//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// wideRecursion is a contract whose function run recurses to the maximum depth, with frames of 100 values that stay in
// use.
func wideRecursion() []byte {
	m := wasmgen.Contract(1, 16)
	procedure := m.AddType(nil, 0)
	locals := bytes.Repeat([]byte{wasmgen.I64}, 98)
	var body []byte
	for i := range uint32(98) {
		body = append(body, wasmgen.Concat(wasmgen.Op(wasmgen.GlobalGet, 0), wasmgen.Op(wasmgen.LocalSet, i))...)
	}
	for i := range uint32(10) {
		body = append(body, wasmgen.Concat([]byte{
			wasmgen.BlockOp, wasmgen.Empty,
		}, wasmgen.Op(wasmgen.LocalGet, i), []byte{0x50}, wasmgen.Op(wasmgen.BrIfOp, 0),
			wasmgen.Call(0), wasmgen.Op(wasmgen.LocalGet, i+1), wasmgen.Op(wasmgen.LocalSet, i), []byte{wasmgen.End})...)
	}
	for i := range uint32(98) {
		body = append(body, wasmgen.Concat(wasmgen.Op(wasmgen.LocalGet, i), wasmgen.Op(wasmgen.GlobalSet, 0))...)
	}
	m.Globals = [][]byte{wasmgen.Global(wasmgen.I64, true, 1)}
	m.Export("run", wasmgen.FunctionKind, m.AddFunction(procedure, locals, body...))
	return m.Encode()
}

// TestViewsTakeBoundedMemory has four callers at once send views with the largest resource use, until a block has been
// made meanwhile.
func TestViewsTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "100ms")
	u := newUser(t).of(node)
	deploy := func(alias string, code []byte) types.ContractID {
		path := filepath.Join(t.TempDir(), alias+".wasm")
		if err := os.WriteFile(path, code, 0o600); err != nil {
			t.Fatal(err)
		}
		var deployed struct {
			Contract types.ContractID `json:"contractAddress"`
		}
		u.succeeds(&deployed, "deploy", path, "--from", "dev0", "--alias", alias)
		return deployed.Contract
	}
	hostile, wide := deploy("hostile", wasmgen.Hostile(true).Encode()), deploy("wide", wideRecursion())
	c := connect(t, node)
	before, err := c.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	itself := append(bytes.Clone(hostile[:]), hostile[:]...)
	after := before
	var callers sync.WaitGroup
	for caller := range 4 {
		callers.Go(func() {
			for n := 0; n < 4 || caller == 0 && after == before; n++ {
				function, contract, args := "run", wide, []byte(nil)
				if shape := (n + 2*caller) % 8; shape > 0 {
					contract, args = hostile, itself
					function = []string{"growRelay", "fork", "wide", "recurse", "grow", "output", "arguments"}[shape-1]
				}
				_, err := c.View(t.Context(), contract, function, args, api.Latest())
				// The call ended normally, or because it overflowed its stack or used up its gas.
				refused := new(jsonrpc.Error)
				if err != nil &&
					(!errors.As(err, &refused) || refused.Code != api.CodeExecutionFailed && refused.Code != api.ErrViewGas.Code) {
					t.Errorf("%s: error %v", function, err)
				}
				if caller > 0 {
					continue
				}
				if after, err = c.BlockNumber(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	peak, err := node.Peak()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d blocks were made, the node took %d MiB at most", after-before, peak>>20)
	if peak > 600<<20 {
		t.Errorf("the node took %d MiB at most", peak>>20)
	}
	values, err := node.Metrics(t.Context(), "cairn_contract_stack_exceeded_total")
	if err != nil || values["cairn_contract_stack_exceeded_total"] != 0 {
		t.Errorf("stacks too small: %v, error %v", values, err)
	}
}
