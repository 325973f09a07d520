package wasm

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

var pressure = flag.Int("pressure", 40, "contracts under pressure: 40, 1000, or any number without a digest")

// outcome is the result of a call.
type outcome struct {
	exit   vm.Exit
	left   uint64
	memory []byte // nil if the call ran out of gas: then nobody can observe it
}

// outcome runs a contract under pressure.
func (e *Engine) outcome(t *testing.T, code []byte, gas uint64) (o outcome) {
	t.Helper()
	hash := types.CodeHash(sha256.Sum256(code))
	module, err := e.Module(hash, func() ([]byte, error) { return code, nil })
	if err != nil {
		t.Fatal(err)
	}
	i, err := e.take(hash, module, e.opts.Fresh)
	if err != nil {
		t.Fatal(err)
	}
	left := vm.Gas{Left: gas}
	o.exit, err = i.run("run", &host{serve: servePressure}, &left)
	if o.left = left.Left; o.exit != vm.OutOfGas {
		o.memory, _ = i.memory.Range(0, i.memory.Pages()*wasmPage)
		o.memory = bytes.Clone(o.memory)
	}
	if put := e.put(i, !e.opts.Fresh); err != nil || put != nil {
		t.Fatal(err, put)
	}
	return o
}

func servePressure(f vm.Function, _ vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	if !gas.Take(50) {
		return vm.OutOfGas, nil
	}
	if stack[0] = 7; f == vm.GasLeft {
		stack[0] = gas.Left
	}
	return vm.Returned, nil
}

// Functions with more live values than a processor has registers give the same results compiled and interpreted, on
// every platform. Package vm tests that its own interpreter gives the same digest for the submitted code.
func TestPressure(t *testing.T) {
	compiler, interpreter := newEngine(t, Options{Dir: t.TempDir(), Codes: 8}),
		newEngine(t, Options{Interpreter: true, Codes: 8})
	outcomes := wasmgen.NewOutcomes()
	for seed := range uint64(*pressure) {
		m, gas := wasmgen.Pressure(seed)
		code := m.Encode()
		got, want := compiler.outcome(t, code, gas), interpreter.outcome(t, code, gas)
		if same := bytes.Equal(got.memory, want.memory); got.exit != want.exit || got.left != want.left || !same {
			t.Errorf("seed %d: compiled it ends %d with %d of %d gas, same memory: %v; interpreted %d with %d",
				seed, got.exit, got.left, gas, same, want.exit, want.left)
		}
		outcomes.Add(byte(got.exit), got.left, got.memory)
	}
	got, want := outcomes.Digest(), wasmgen.PressureDigests[*pressure]
	if want != "" && got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	t.Logf("%d contracts have the digest %s", *pressure, got)
	if deeper := compiler.Stats().Deeper; deeper != 0 {
		t.Errorf("%d calls took more stack than metering allows, want 0", deeper)
	}
}
