package contracttest_test

import (
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/kit/contracttest"
)

// TestConstantsOf: the operands of constants are found among all other immediates.
func TestConstantsOf(t *testing.T) {
	m := wasmgen.Contract(1, 1)
	m.Export("f", wasmgen.FunctionKind, m.AddFunction(m.AddType(nil, 0), []byte{wasmgen.I64}, wasmgen.Concat(
		wasmgen.Const(wasmgen.I64, 123_457), wasmgen.Op(wasmgen.LocalSet, 0),
		wasmgen.Const(wasmgen.I32, 8), wasmgen.Const(wasmgen.I64, -5), wasmgen.Op(wasmgen.I64Store, 3), []byte{0x80, 1},
		wasmgen.Const(wasmgen.I32, -1), []byte{wasmgen.IfOp, wasmgen.Empty, wasmgen.End})...))
	got, err := contracttest.ConstantsOf(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	wantI32, wantI64 := []uint64{8, 1<<32 - 1}, []uint64{123_457, 1<<64 - 5}
	if !slices.Equal(got.I32, wantI32) || !slices.Equal(got.I64, wantI64) {
		t.Errorf("got %d and %d, want %d and %d", got.I32, got.I64, wantI32, wantI64)
	}
	if _, err := contracttest.ConstantsOf([]byte("no module")); err == nil {
		t.Error("what is no module has constants")
	}
}

// TestFaults: calls that end in a fault of the code are reported, even if their caller continues; a refusal is not a
// fault.
func TestFaults(t *testing.T) {
	m := wasmgen.Contract(1, 1)
	const texts = "the contract panicked" + "no"
	m.Data = [][]byte{wasmgen.Data(0, texts)}
	revert := m.AddImport(wasmgen.HostImport{Name: "revert", Params: []byte("\x7f\x7f")})
	export := func(name string, code ...byte) {
		m.Export(name, wasmgen.FunctionKind, m.AddFunction(m.AddType(nil, 0), nil, code...))
	}
	says := func(at, length int64) []byte {
		return wasmgen.Concat(wasmgen.Const(wasmgen.I32, at), wasmgen.Const(wasmgen.I32, length), wasmgen.Call(revert))
	}
	export("stops", wasmgen.Unreachable)
	export("panics", says(0, int64(len(texts)-2))...)
	export("refuses", says(int64(len(texts)-2), 2)...)
	c := contracttest.New(t)
	alice := c.Account("alice")
	k := c.Deploy(alice, m.Encode(), nil)
	for function, want := range map[string]string{"stops": "trap", "panics": "panic", "refuses": ""} {
		for where, r := range map[string]contracttest.Result{
			"call": k.Call(alice, function, nil), "rehearsal": c.Rehearse().Call(alice.Account, k.ID, function, nil, 0),
		} {
			got := ""
			if len(r.Faults) > 0 {
				got = r.Faults[0].Reason
			}
			if got != want || r.OK {
				t.Errorf("%s of %s: got the fault %q, want %q", where, function, got, want)
			}
		}
	}
}
