package rpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// needed returns the most gas that a call needs, not counting the parts that nested calls keep back: the gas used, the
// reserve before a look-up, and the margin of an estimate.
func needed(r api.Receipt) api.Quantity {
	return r.GasUsed + api.Quantity(params.Prices.StorageReserve+entryRoom)
}

// chained is a contract for estimates. Its function next calls next of the first contract in its arguments, with the
// rest of them, and reverts if that fails; without arguments it spends gas by writing to storage. try continues if the
// call of next fails, and returns its code. cautious writes only if much gas is left. left returns the remaining gas.
func chained() []byte {
	const nameAt, resultAt, argsAt, i64GtU = 0, 512, 1024, 0x56
	m := wasmgen.Contract(1, 1)
	m.Data = [][]byte{wasmgen.Data(nameAt, "next")}
	i32 := func(values ...int64) (b []byte) {
		for _, v := range values {
			b = append(b, wasmgen.Const(wasmgen.I32, v)...)
		}
		return b
	}
	of := func(params string) []byte { return []byte(params) }
	const four, seven = "\x7f\x7f\x7f\x7f", "\x7f\x7f\x7f\x7f\x7f\x7e\x7e"
	length := m.AddImport(wasmgen.HostImport{Name: "args_len", Result: wasmgen.I32})
	read := m.AddImport(wasmgen.HostImport{Name: "args_read", Params: of("\x7f")})
	write := m.AddImport(wasmgen.HostImport{Name: "storage_write", Params: of(four)})
	revert := m.AddImport(wasmgen.HostImport{Name: "revert", Params: of("\x7f\x7f")})
	call := m.AddImport(wasmgen.HostImport{Name: "call", Params: of(seven), Result: wasmgen.I32})
	result := m.AddImport(wasmgen.HostImport{Name: "return_data", Params: of("\x7f\x7f")})
	left := m.AddImport(wasmgen.HostImport{Name: "gas_left", Result: wasmgen.I64})
	export := func(name string, code ...[]byte) {
		m.Export(name, wasmgen.FunctionKind, m.AddFunction(m.AddType(nil, 0), []byte{wasmgen.I32}, wasmgen.Concat(code...)...))
	}
	onward := wasmgen.Concat(
		i32(argsAt), wasmgen.Call(read),
		i32(argsAt, nameAt, 4, argsAt+32), wasmgen.Op(wasmgen.LocalGet, 0), i32(32), []byte{wasmgen.I32Sub},
		wasmgen.Const(wasmgen.I64, 0), wasmgen.Const(wasmgen.I64, -1), wasmgen.Call(call))
	put := wasmgen.Concat(i32(nameAt, 4, nameAt, 1<<10), wasmgen.Call(write))
	export("next",
		wasmgen.Call(length), wasmgen.Op(wasmgen.LocalTee, 0), []byte{wasmgen.I32Eqz, wasmgen.IfOp, wasmgen.Empty},
		put, []byte{wasmgen.Return, wasmgen.End},
		onward, []byte{wasmgen.IfOp, wasmgen.Empty}, i32(0, 0), wasmgen.Call(revert), []byte{wasmgen.End})
	export("try",
		wasmgen.Call(length), wasmgen.Op(wasmgen.LocalSet, 0), i32(resultAt), onward,
		wasmgen.Op(wasmgen.I32Store, 0), []byte{0}, i32(resultAt, 4), wasmgen.Call(result))
	export("cautious",
		wasmgen.Call(left), wasmgen.Const(wasmgen.I64, 4_000_000), []byte{i64GtU, wasmgen.IfOp, wasmgen.Empty},
		put, []byte{wasmgen.End})
	export("left", i32(resultAt), wasmgen.Call(left), wasmgen.Op(wasmgen.I64Store, 0), []byte{0},
		i32(resultAt, 8), wasmgen.Call(result))
	return m.Encode()
}

// deployChained deploys contracts of [chained], by alice's first nonces.
func deployChained(t *testing.T, count uint64) (*testChain, []types.ContractID) {
	c := newTestChain(t)
	var ids []types.ContractID
	for nonce := range count {
		c.include(c.costly(alice, nonce, 30_000_000, types.Deploy{Name: "chained", Code: chained()}))
		ids = append(ids, types.NewContractID(account(alice), nonce))
	}
	return c, ids
}

// sendEstimated sends a call with the gas limit that is estimated for it.
func (c *testChain) sendEstimated(nonce uint64, payload types.Payload) (estimate api.Quantity, receipt api.Receipt) {
	c.t.Helper()
	draft := c.draft(alice, nonce, payload)
	estimate = call[api.Quantity](c, "svc_estimateGas", api.Data(draft.EncodeUnsigned()))
	tx := c.costly(alice, nonce, types.Gas(estimate), payload)
	c.include(tx)
	return estimate, call[api.Receipt](c, "svc_getTransactionReceipt", tx.ID())
}

// TestEstimateOfNestedCalls compares the estimates of calls up to five deep with the gas that they use. They suffice,
// although each call keeps a 64th of its gas back, and are at most a fifth more than the calls need.
func TestEstimateOfNestedCalls(t *testing.T) {
	c, ids := deployChained(t, 5)
	for depth := 1; depth <= len(ids); depth++ {
		payload := types.Call{Function: "next"}
		for _, id := range ids[1:depth] {
			payload.Args = append(payload.Args, id[:]...)
		}
		estimate, receipt := c.sendEstimated(uint64(len(ids)+depth-1), calling(ids[0], 0, payload))
		if receipt.Status != 1 || 5*estimate > 6*needed(receipt) {
			t.Errorf("%d deep: estimated %d, used %d, status %d", depth, estimate, receipt.GasUsed, receipt.Status)
		}
	}
}

// TestEstimateKeepsWhatACallDoes: a contract that continues after a failed call gets enough gas for that call, and one
// that does less with little gas does as much as with plenty.
func TestEstimateKeepsWhatACallDoes(t *testing.T) {
	c, ids := deployChained(t, 4)
	nonce := uint64(len(ids))
	for depth := 2; depth <= len(ids); depth++ {
		payload := types.Call{Function: "try"}
		for _, id := range ids[1:depth] {
			payload.Args = append(payload.Args, id[:]...)
		}
		estimate, receipt := c.sendEstimated(nonce, calling(ids[0], 0, payload))
		nonce++
		if got, want := receipt.ReturnData.String(), "0x00000000"; got != want || 5*estimate > 6*needed(receipt) {
			t.Errorf("%d deep: got %s, want %s; estimated %d, used %d", depth, got, want, estimate, receipt.GasUsed)
		}
	}
	estimate, receipt := c.sendEstimated(nonce, calling(ids[1], 0, types.Call{Function: "cautious"}))
	if got := receipt.GasUsed; got < 50_000 || estimate > 5_000_000 {
		t.Errorf("cautious used %d of %d gas, want more than its look at what is left, of less than 5,000,000", got, estimate)
	}
}

// TestEstimateOfATransfer: an account that has sent transactions keeps its entry, so nothing has to be created again.
func TestEstimateOfATransfer(t *testing.T) {
	c := newTestChain(t)
	c.include(c.sign(bob, 0, transfer(account(alice), 1)))
	draft := c.draft(alice, 0, transfer(account(bob), 1))
	if got, want := call[api.Quantity](c, "svc_estimateGas", api.Data(draft.EncodeUnsigned())), api.Quantity(10_500); got != want {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestEstimateOfWhatTheGasItselfChanges: the estimate for a contract that returns its remaining gas is no higher for
// that.
func TestEstimateOfWhatTheGasItselfChanges(t *testing.T) {
	c, ids := deployChained(t, 1)
	estimate, receipt := c.sendEstimated(1, calling(ids[0], 0, types.Call{Function: "left"}))
	if receipt.Status != 1 || 5*estimate > 6*needed(receipt) {
		t.Errorf("got %d, used %d, status %d", estimate, receipt.GasUsed, receipt.Status)
	}
}

// TestEstimateTakesFewRuns: two if no call runs short of gas, since each run costs the node as much as the call.
func TestEstimateTakesFewRuns(t *testing.T) {
	s := newTokenScenario(t)
	ended := &groupOf[*submitHandlers](s.testChain).executions.ended
	before := ended.Load()
	draft := s.draft(alice, 2, s.send(poor, 5))
	call[api.Quantity](s.testChain, "svc_estimateGas", api.Data(draft.EncodeUnsigned()))
	if got := ended.Load() - before; got != 2 {
		t.Errorf("got %d runs, want 2", got)
	}
}

// TestEstimateLeavesRoom: a call is estimated when its contract has coins. It has enough gas even if another call of
// the same block has paid them all out, so that the contract's account is created again.
func TestEstimateLeavesRoom(t *testing.T) {
	c := newTestChain(t)
	code := must(os.ReadFile("../../../contracts/wasm/escrow.wasm"))(t)
	c.include(c.costly(alice, 0, 90_000_000, types.Deploy{Name: "escrow", Code: code}))
	id := types.NewContractID(account(alice), 0)
	open := calling(id, 1, types.Call{Function: "open", Args: fmt.Appendf(nil,
		`{"seller":"%s","arbiter":"%s","deadline":99999999999}`, account(bob), account(poor))})
	c.include(c.costly(alice, 1, 2_000_000, open))
	again := c.draft(alice, 3, open)
	estimate := call[api.Quantity](c, "svc_estimateGas", api.Data(again.EncodeUnsigned()))
	release := c.costly(alice, 2, 2_000_000, calling(id, 0, types.Call{Function: "release", Args: []byte(`{"deal":0}`)}))
	second := c.costly(alice, 3, types.Gas(estimate), open)
	c.include(release, second)
	for _, tx := range []types.SignedTransaction{release, second} {
		if got := call[api.Receipt](c, "svc_getTransactionReceipt", tx.ID()); got.Status != 1 {
			t.Errorf("got status %d (%s) of nonce %d, want 1; it used %d", got.Status, got.ReturnData, tx.Nonce, got.GasUsed)
		}
	}
}

func TestLeastGasEndsWithItsRequest(t *testing.T) {
	c, ids := deployChained(t, 1)
	tx := c.draft(alice, 1, calling(ids[0], 0, types.Call{Function: "next"}))
	m := must(groupOf[*submitHandlers](c).simulate(t.Context(), tx.EncodeUnsigned()))(t)
	defer m.state.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.leastGas(ctx, newEffects(1_000_000_000), 30_000, 1_000_000_000); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}
