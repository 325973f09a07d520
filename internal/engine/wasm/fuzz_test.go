package wasm

import (
	"crypto/sha256"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// FuzzEngines: any module that the rules allow runs in compiler and interpreter, and its functions have the same
// effects in both, in a new or a reused instance.
func FuzzEngines(f *testing.F) {
	random := rapid.Custom(func(t *rapid.T) []byte { return drawGuest(t).binary() })
	for seed := range 20 {
		f.Add(random.Example(seed))
	}
	f.Add(sieveGuest(1000, 168).binary())
	f.Add(large(4000).binary())
	compiler, interpreter := newEngine(f, Options{Codes: 8}), newEngine(f, Options{Interpreter: true, Codes: 8})
	f.Fuzz(func(t *testing.T, code []byte) {
		module, err := vm.Check(code)
		if err != nil || module.DeployGas() > 20_000_000 { // left to a longer run
			return
		}
		hash := types.CodeHash(sha256.Sum256(code))
		for range 2 {
			for _, function := range []string{"a", "b", "c", "run", vm.InitFunction} {
				if !module.Callable(function) && (function != vm.InitFunction || !module.HasInit()) {
					continue
				}
				run := func(e *Engine) (vm.Exit, uint64, string) {
					w, gas := newWitness(10), vm.Gas{Left: 100_000}
					exit, err := e.Run(hash, module, function, w, &gas)
					if err != nil {
						t.Fatal(err)
					}
					return exit, gas.Left, string(w.trace)
				}
				exit, left, trace := run(compiler)
				if otherExit, otherLeft, otherTrace := run(interpreter); exit != otherExit || left != otherLeft ||
					trace != otherTrace {
					t.Errorf("%s: exit %d with %d gas left, interpreted exit %d with %d; same trace: %v",
						function, exit, left, otherExit, otherLeft, trace == otherTrace)
				}
			}
		}
	})
}
