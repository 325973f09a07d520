package vm_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// tableContract has types of many params, functions that are not exported, and some in its table.
func tableContract() *wasmgen.Module {
	m := contract()
	wide := m.AddType(bytes.Repeat([]byte{vm.I64}, 100), 0)
	empty := m.AddType(nil, 0)
	for range 10 {
		m.AddFunction(empty, nil)
	}
	in := m.AddFunction(wide, nil)
	out := m.AddFunction(empty, nil)
	m.Export("enter", wasmgen.FunctionKind, out)
	m.Export("_hidden", wasmgen.FunctionKind, 1)
	m.Tables = [][]byte{{0x70, 0, 4}}
	m.Elements = [][]byte{wasmgen.Element(1, in, in)}
	m.Data = [][]byte{wasmgen.Data(100, "first"), wasmgen.Data(102, "second")}
	return m
}

// A skeleton is valid, and has the functions that are exported or in the table.
func TestSkeleton(t *testing.T) {
	m, err := vm.Check(tableContract().Encode())
	if err != nil {
		t.Fatal(err)
	}
	s := m.Skeleton()
	if _, err := vm.RewriteCore(s.Module); err != nil {
		t.Errorf("the skeleton is not valid: %v", err)
	}
	// init and run, those in the table and exported, and the engine's reset after settle and grow.
	if want := []uint32{0, 1, 12, 13, 16}; !slices.Equal(s.Functions, want) {
		t.Errorf("functions %d, want %d", s.Functions, want)
	}
	if len(s.Data) != 2 || s.Data[0].Offset != 100 || string(s.Data[1].Bytes) != "second" {
		t.Errorf("data %v", s.Data)
	}
	if bytes.Contains(s.Module, bytes.Repeat([]byte{vm.I64}, 9)) || bytes.Contains(s.Module, []byte("_hidden")) ||
		bytes.Contains(s.Module, []byte("second")) {
		t.Errorf("a skeleton of %d bytes has what nobody needs", len(s.Module))
	}
	if !bytes.Contains(s.Module, []byte(vm.GuestPrefix+"enter")) || !bytes.Contains(s.Module, []byte(vm.ResetName)) {
		t.Error("a skeleton without its exports")
	}
}

func TestEncodedModule(t *testing.T) {
	m, err := vm.Check(tableContract().Encode())
	if err != nil {
		t.Fatal(err)
	}
	encoded := m.Encode()
	again, err := vm.DecodeModule(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Callable("enter") || again.Callable("_hidden") || again.HasInit() != m.HasInit() ||
		again.Reentrant() != m.Reentrant() ||
		again.DeployGas() != m.DeployGas() || again.Pages() != m.Pages() || again.MaxPages() != m.MaxPages() ||
		again.CodeSize() != m.CodeSize() ||
		again.Instrumented() != nil {
		t.Error("another module came back")
	}
	for n := range encoded {
		if _, err := vm.DecodeModule(encoded[:n]); err == nil {
			t.Fatalf("%d of %d bytes are a module", n, len(encoded))
		}
	}
	if _, err := vm.DecodeModule(append(slices.Clone(encoded), 0)); err == nil {
		t.Error("a byte more is a module")
	}
	padded := append([]byte{encoded[0] | 0x80, 0}, encoded[1:]...)
	if encoded[0] < 0x80 {
		if _, err := vm.DecodeModule(padded); err == nil {
			t.Error("a number with a byte too many is a module")
		}
	}
}

// FuzzDecodeModule: whatever decodes is an output of Encode, and nothing panics.
func FuzzDecodeModule(f *testing.F) {
	for _, code := range [][]byte{contract().Encode(), tableContract().Encode()} {
		m, err := vm.Check(code)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.Encode())
	}
	f.Fuzz(func(t *testing.T, encoded []byte) {
		if m, err := vm.DecodeModule(encoded); err == nil && !bytes.Equal(m.Encode(), encoded) {
			t.Fatal("two encodings of one module")
		}
	})
}
