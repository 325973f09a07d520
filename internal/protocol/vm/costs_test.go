package vm_test

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// TestFunctionCosts: the functions' parts add up to the deploy's gas without the module's own part.
func TestFunctionCosts(t *testing.T) {
	const opNop = 0x01
	m := wasmgen.Contract(1, 1)
	procedure := m.AddType(nil, 0)
	m.AddFunction(procedure, nil)
	dear := m.AddFunction(procedure, nil)
	for range 100 {
		m.AddFunction(procedure, nil, opNop)
	}
	m.Export("dear", wasmgen.FunctionKind, dear)
	code := m.Encode()
	module, err := vm.Check(code)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := vm.FunctionCosts(code)
	if err != nil {
		t.Fatal(err)
	}
	sum := types.Gas(800_000)
	for i, c := range costs {
		sum += c.Gas
		if i > 0 && c.Gas > costs[i-1].Gas {
			t.Errorf("got %d gas behind %d, want the dearest first", c.Gas, costs[i-1].Gas)
		}
		if (c.Export == "dear") != (c.Function == 1) {
			t.Errorf("got the export %q of function %d", c.Export, c.Function)
		}
	}
	if sum != module.DeployGas() || len(costs) != 102 {
		t.Errorf("got %d functions with %d gas, want 102 with %d", len(costs), sum, module.DeployGas())
	}
	if _, err := vm.FunctionCosts([]byte("none")); err == nil {
		t.Error("got no error of what is no module, want one")
	}
}
