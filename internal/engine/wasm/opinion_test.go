package wasm

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// Calls of the fresh engine use no idle instance and leave none; the interpreter is an engine of its own.
func TestOtherOpinions(t *testing.T) {
	e := newEngine(t, Options{})
	c := e.load(t, body(i32(5), i32(6), store8(0)))
	e.run(t, c, "run", &host{}, 1000)
	interpreter, err := e.Interpreter()
	if err != nil {
		t.Fatal(err)
	}
	for name, engine := range map[string]vm.Engine{"fresh": e.Fresh(), "interpreter": interpreter} {
		before := e.Stats()
		gas := vm.Gas{Left: 1000}
		if exit, err := engine.Run(c.hash, c.module, "run", &host{}, &gas); err != nil || exit != vm.Returned ||
			gas.Left != 1000-9 {
			t.Errorf("%s: exit %d with %d gas left, error %v", name, exit, gas.Left, err)
		}
		after := e.Stats()
		made := after.Instantiated - before.Instantiated
		if after.Reused != before.Reused || after.Idle != before.Idle || made != after.Discarded-before.Discarded ||
			(name == "fresh") != (made == 1) {
			t.Errorf("%s: before %+v, after %+v", name, before, after)
		}
	}
	if again, err := e.Interpreter(); err != nil || again != interpreter {
		t.Errorf("a second interpreter, error %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Interpreter(); !errors.Is(err, errClosed) {
		t.Errorf("a closed engine gives an interpreter: error %v, want %v", err, errClosed)
	}
	gas := vm.Gas{Left: 1000}
	if _, err := interpreter.Run(c.hash, c.module, "run", &host{}, &gas); !errors.Is(err, errClosed) {
		t.Errorf("the interpreter of a closed engine runs: error %v, want %v", err, errClosed)
	}
}

// Engines from Beside share only the files of machine code.
func TestEnginesBeside(t *testing.T) {
	e := newEngine(t, Options{Dir: t.TempDir()})
	beside, err := e.Beside(Options{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	c := e.load(t, body(i32(5), i32(6), store8(0)))
	e.run(t, c, "run", &host{}, 1000)
	before := e.Stats()
	for range 2 {
		if exit, left := beside.run(t, c, "run", &host{}, 1000); exit != vm.Returned || left != 1000-9 {
			t.Errorf("exit %d with %d gas left", exit, left)
		}
	}
	after, other := e.Stats(), beside.Stats()
	if after.Instantiated != before.Instantiated || after.Reused != before.Reused || after.Idle != before.Idle ||
		after.Bytes != before.Bytes {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if other.Instantiated != 1 || other.Reused != 1 || other.Loaded == 0 || other.DiskBytes != after.DiskBytes {
		t.Errorf("beside: %+v", other)
	}
	if err := beside.Close(); err != nil {
		t.Fatal(err)
	}
	if exit, _ := e.run(t, c, "run", &host{}, 1000); exit != vm.Returned {
		t.Errorf("exit %d after the engine beside was closed, want %d", exit, vm.Returned)
	}
}
