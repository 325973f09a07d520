package wasm

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// After each slice of gas, however it is spent, the host is asked whether the call may continue; its error ends the
// call.
func TestHostIsAskedToContinue(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	errGone := errors.New("nobody waits")
	debug := []string{"debug"}
	for name, test := range map[string]struct {
		guest *guest
		price uint64 // of a call of the host function
	}{
		"loop": {body(forever()), 0},
		"host functions": {&guest{
			pages: 1, imports: debug, functions: []guestFunction{{export: "run", body: forever(i32(0), i32(0), call(0))}},
		}, 50},
		"dear ones": {&guest{
			pages: 1, imports: debug, functions: []guestFunction{{export: "run", body: forever(i32(0), i32(0), call(0))}},
		}, 3 * vm.MaxSlice},
		"growth": {body(forever(i32(1), memoryGrow(), opDrop)), 0},
	} {
		for engine, e := range engines(t) {
			c := e.load(t, test.guest)
			asked := 0
			h := &host{
				serve: func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
					if !gas.Take(test.price) {
						return vm.OutOfGas, nil
					}
					return vm.Returned, nil
				},
				grows: func(uint32) bool { return false },
				goesOn: func() error {
					if asked++; asked == 3 {
						return errGone
					}
					return nil
				},
			}
			gas := vm.Gas{Left: 100 * vm.MaxSlice}
			if _, err := e.Run(c.hash, c.module, "run", h, &gas); !errors.Is(err, errGone) || asked != 3 {
				t.Errorf("%s, %s: error %v after being asked %d times", name, engine, err, asked)
			}
			used := 100*vm.MaxSlice - gas.Left
			if most := 3 * (2*vm.MaxSlice + test.price); used < 3*vm.MaxSlice || used > most {
				t.Errorf("%s, %s: ended after %d gas, want at most %d", name, engine, used, most)
			}
			h.goesOn = nil
			if exit, _ := e.run(t, c, "run", h, 10*vm.MaxSlice); exit != vm.OutOfGas {
				t.Errorf("%s, %s: the next call ends with exit %d, want %d", name, engine, exit, vm.OutOfGas)
			}
		}
	}
}

// A nested call uses up the slice of its caller.
func TestHostIsAskedAcrossCalls(t *testing.T) {
	e := newEngine(t, Options{})
	work := e.load(t, body(times(0, 10_000, i32(0), load8(0), opDrop)))
	outer := e.load(t, &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
		{export: "run", locals: 1, body: times(0, 100, i32(0), i32(0), call(0))},
	}})
	asked := 0
	h := &host{goesOn: func() error { asked++; return nil }}
	h.serve = func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
		return e.Run(work.hash, work.module, "run", h, gas)
	}
	_, left := e.run(t, outer, "run", h, 100*vm.MaxSlice)
	if used := 100*vm.MaxSlice - left; asked == 0 || uint64(asked) < used/(2*vm.MaxSlice) ||
		uint64(asked) > used/vm.MaxSlice {
		t.Errorf("asked %d times in %d gas", asked, used)
	}
}

// A panic of the host in Continue is a fault of the node.
func TestContinuePanics(t *testing.T) {
	e := newEngine(t, Options{})
	c := e.load(t, body(forever()))
	gas := vm.Gas{Left: 100 * vm.MaxSlice}
	if _, err := e.Run(c.hash, c.module, "run", &host{goesOn: func() error { panic("out of order") }}, &gas); err == nil {
		t.Error("no fault")
	}
}
