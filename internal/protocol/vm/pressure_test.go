package vm_test

import (
	"flag"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
)

var pressure = flag.Int("pressure", 40, "contracts under pressure: 40, 1000, or any number without a digest")

// Functions with more live values than a processor has registers give the same results everywhere. The interpreter of
// this test runs the submitted module. wazero's interpreter runs the rewritten one, and its compiler runs that with
// divisions in place of remainders, as on arm64. Traps have the same reason, too.
func TestPressure(t *testing.T) {
	compiler, interpreter := newMachine(t, wazero.NewRuntimeConfigCompiler()),
		newMachine(t, wazero.NewRuntimeConfigInterpreter())
	compiler.host, interpreter.host, compiler.divided = hostOfRandom, hostOfRandom, true
	outcomes, exits := wasmgen.NewOutcomes(), map[vm.Exit]int{}
	for seed := range uint64(*pressure) {
		m, gas := wasmgen.Pressure(seed)
		checked, err := vm.Check(m.Encode())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		in := interpret(m, gas)
		exit := in.run(uint32(len(in.functions) - 1))
		exits[exit]++
		got, other := compiler.call(checked, "run", gas), interpreter.call(checked, "run", gas)
		if exit == vm.OutOfGas { // the rewritten module detects it later
			in.memory, got.memory, other.memory = nil, "", ""
		}
		for name, got := range map[string]outcome{"compiler": got, "interpreter": other} {
			if got.exit != exit || got.left != in.gas || got.memory != string(in.memory) {
				t.Errorf("seed %d: %s ends %d with %d of %d gas, same memory: %v; want %d with %d",
					seed, name, got.exit, got.left, gas, got.memory == string(in.memory), exit, in.gas)
			}
		}
		if got.trap != other.trap {
			t.Errorf("seed %d: the compiler says %q, the interpreter %q", seed, got.trap, other.trap)
		}
		outcomes.Add(byte(exit), in.gas, in.memory)
	}
	got, want := outcomes.Digest(), wasmgen.PressureDigests[*pressure]
	if want != "" && got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	t.Logf("%d contracts have the digest %s, exits %v", *pressure, got, exits)
}
