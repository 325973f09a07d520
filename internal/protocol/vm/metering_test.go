package vm_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostOfRandom answers what random contracts import.
func hostOfRandom(f vm.Function, _ api.Memory, stack []uint64, gas *vm.Gas) vm.Exit {
	if !gas.Take(50) {
		return vm.OutOfGas
	}
	if stack[0] = 7; f == vm.GasLeft {
		stack[0] = gas.Left
	}
	return vm.Returned
}

// Random contracts end the same way with the same gas and memory in the interpreter of this test, which runs what was
// submitted, and in both engines of wazero, which run what was rewritten. Nobody sees the memory of a call that ran out
// of gas, and what was rewritten finds out later.
func TestRandomContracts(t *testing.T) {
	compiler, interpreter := newMachine(t, wazero.NewRuntimeConfigCompiler()), newMachine(t, wazero.NewRuntimeConfigInterpreter())
	compiler.host, interpreter.host = hostOfRandom, hostOfRandom
	exits := map[vm.Exit]int{}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := wasmgen.Random(r)
		checked, err := vm.Check(m.Encode())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		gas := r.Uint64N(1 << (8 + r.IntN(14)))
		in := interpret(m, gas)
		want := outcome{exit: in.run(uint32(len(in.functions) - 1))}
		want.left, want.memory = in.gas, string(in.memory)
		exits[want.exit]++
		if got, want := uint64(checked.DeployGas()), 50_000+250*in.weight; got != want {
			t.Errorf("seed %d: a deploy takes %d gas, want %d", seed, got, want)
		}
		for name, machine := range map[string]*machine{"compiler": compiler, "interpreter": interpreter} {
			got := machine.call(checked, "run", gas)
			if got.exit != want.exit || got.left != want.left || got.memory != want.memory && got.exit != vm.OutOfGas {
				t.Errorf("seed %d: %s ends %d with %d of %d gas, same memory: %v; want %d with %d",
					seed, name, got.exit, got.left, gas, got.memory == want.memory, want.exit, want.left)
			}
		}
	}
	for _, exit := range []vm.Exit{vm.Returned, vm.Trapped, vm.OutOfGas, vm.StackOverflow} {
		if exits[exit] == 0 {
			t.Errorf("no contract ends with exit %d: %v", exit, exits)
		}
	}
}
