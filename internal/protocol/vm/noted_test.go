package vm_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// hasNotes reports whether a module notes its places. Only its form may differ.
func hasNotes(t *testing.T, code []byte) bool {
	t.Helper()
	m, err := vm.CheckNoted(code)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := vm.Check(code)
	if err != nil {
		t.Fatal(err)
	}
	if m.DeployGas() != plain.DeployGas() || m.Load() != plain.Load() {
		t.Errorf("a deploy of %d gas and a load of %d, without notes %d and %d", m.DeployGas(), m.Load(),
			plain.DeployGas(), plain.Load())
	}
	return len(m.Blocks()) > 0
}

// After each call an engine reads all globals again, and notes are globals.
func TestNotesAreBounded(t *testing.T) {
	branch := Concat(Op(LocalGet, 0), Op(IfOp), []byte{Empty, End})
	one := Concat(Const(I32, 1), Op(Drop))
	for _, c := range []struct {
		name      string
		functions int // empty ones
		bodies    int
		body      []byte
		noted     bool
	}{
		{"calls of few functions", 500, 10, bytes.Repeat(Call(0), 1_000), true},
		{"calls of many functions", 800, 10, bytes.Repeat(Call(0), 1_000), false},
		{"as many in one function", 500, 1, bytes.Repeat(Call(0), 3_200), true},
		{"too many in one function", 500, 1, bytes.Repeat(Call(0), 3_400), false},
		{"many functions that nothing calls", 1_700, 1, one, true},
		{"functions that look at their gas when they begin and end", 2_000, 1, one, false},
		{"few branches", 1, 1, bytes.Repeat(branch, 1_000), true},
		{"branches, and notes that run through all of them", 1, 1, bytes.Repeat(branch, 2_000), false},
	} {
		m := Contract(1, 1)
		procedure := m.AddType(nil, 0)
		for range c.functions {
			m.AddFunction(procedure, nil)
		}
		var last uint32
		for range c.bodies {
			last = m.AddFunction(procedure, []byte{I32}, c.body...)
		}
		m.Export("run", FunctionKind, last)
		if got := hasNotes(t, m.Encode()); got != c.noted {
			t.Errorf("%s: notes %v, want %v", c.name, got, c.noted)
		}
	}
}

func TestContractsHaveNotes(t *testing.T) {
	names, err := filepath.Glob("../../../contracts/wasm/*.wasm")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d contracts, %v", len(names), err)
	}
	for _, name := range names {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !hasNotes(t, code) {
			t.Errorf("%s has none", name)
		}
	}
}
