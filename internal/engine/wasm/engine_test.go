package wasm

import (
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const enough = 2_500_000 // gas that spans several slices

// body is a guest of one function.
func body(parts ...any) *guest {
	return &guest{pages: 1, functions: []guestFunction{{export: "run", locals: 2, body: seq(parts...)}}}
}

func TestExits(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	recursive := body(call(0))
	wrongType := &guest{pages: 1, table: []int{1}, functions: []guestFunction{
		{export: "run", body: seq(i32(0), callTable())},
		{params: 1, body: nil},
	}}
	nullElement := &guest{
		pages: 1, table: []int{0}, functions: []guestFunction{{export: "run", body: seq(i32(1), callTable())}},
	}
	cases := map[string]struct {
		guest *guest
		exit  vm.Exit
	}{
		"end":                       {body(), vm.Returned},
		"return":                    {body(opReturn, opUnreachable), vm.Returned},
		"unreachable":               {body(opUnreachable), vm.Trapped},
		"load outside":              {body(i32(wasmPage), load8(0), opDrop), vm.Trapped},
		"load at the end":           {body(i32(wasmPage-1), load8(0), opDrop), vm.Returned},
		"load across the end":       {body(i32(wasmPage-3), load32(0), opDrop), vm.Trapped},
		"offset overflows":          {body(i32(-1), load8(1<<31), opDrop), vm.Trapped},
		"store outside":             {body(i32(-1), i32(1), store8(0)), vm.Trapped},
		"divide by zero":            {body(i32(1), i32(0), opI32DivS, opDrop), vm.Trapped},
		"division overflows":        {body(i32(-1<<31), i32(-1), opI32DivS, opDrop), vm.Trapped},
		"outside the table":         {nullElement, vm.Trapped},
		"another type in the table": {wrongType, vm.Trapped},
		"endless recursion":         {recursive, vm.StackOverflow},
		"endless loop":              {body(forever()), vm.OutOfGas},
		"endless loop that grows":   {body(forever(i32(1), memoryGrow(), opDrop)), vm.OutOfGas},
	}
	for engine, e := range engines(t) {
		for name, c := range cases {
			contract := e.load(t, c.guest)
			for range 2 {
				exit, left := e.run(t, contract, "run", &host{}, enough)
				if exit != c.exit || (left == 0) != (exit != vm.Returned) {
					t.Errorf("%s, %s: exit %d with %d gas left, want exit %d", engine, name, exit, left, c.exit)
				}
			}
			if exit, left := e.run(t, contract, "run", &host{}, 0); (exit != vm.OutOfGas || left != 0) && name != "end" {
				t.Errorf("%s, %s: exit %d with %d gas left of none", engine, name, exit, left)
			}
		}
	}
}

func TestHostEndsTheCall(t *testing.T) {
	g := &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
		{export: "run", body: seq(i32(7), i32(8), call(0), i32(1), i32(2), call(0))},
	}}
	for engine, e := range engines(t) {
		c := e.load(t, g)
		for _, exit := range []vm.Exit{vm.Reverted, vm.Trapped, vm.OutOfGas, vm.StackOverflow} {
			h := &host{serve: func(f vm.Function, _ vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
				if f != vm.Debug || uint32(stack[0]) != 7 || uint32(stack[1]) != 8 {
					t.Errorf("%s: function %d of %v", engine, f, stack)
				}
				gas.Take(1000)
				return exit, nil
			}}
			got, left := e.run(t, c, "run", h, enough)
			if got != exit || h.called != 1 || (left > 0) != (exit == vm.Reverted) {
				t.Errorf("%s: exit %d with %d gas left after %d calls, want exit %d", engine, got, left, h.called, exit)
			}
		}
		_, all := e.run(t, c, "run", &host{}, enough)
		_, some := e.run(t, c,
			"run", &host{serve: func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
				gas.Take(1000)
				return vm.Returned, nil
			}}, enough)
		if all-some != 2000 {
			t.Errorf("%s: %d gas taken by the host, want 2000", engine, all-some)
		}
	}
}

// A host function sees the exact remaining gas, however much is lent to the guest.
func TestGasIsExact(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	g := &guest{pages: 1, imports: []string{"gas_left"}, functions: []guestFunction{
		{export: "run", locals: 1, body: seq(times(0, 80_000, i32(0), load8(0), opDrop), call(0), opDrop)},
	}}
	for engine, e := range engines(t) {
		c := e.load(t, g)
		var seen uint64
		h := &host{serve: func(_ vm.Function, _ vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
			seen = gas.Left
			stack[0] = gas.Left
			return vm.Returned, nil
		}}
		exit, left := e.run(t, c, "run", h, enough)
		// Set-up 2, loop 5. One iteration: the loop's merge 7, load 13, br_if 3, seven others 7; call 12, drop 1.
		const want = enough - (2 + 5 + 80_000*(7+13+3+7) + 12 + 1)
		if exit != vm.Returned || seen != left || left != want {
			t.Errorf("%s: exit %d, %d gas seen, %d left, want %d", engine, exit, seen, left, want)
		}
		if exit, left := e.run(t, c, "run", h, enough-want); exit != vm.Returned || left != 0 {
			t.Errorf("%s: exit %d with exactly the gas it takes, %d left", engine, exit, left)
		}
		if exit, _ := e.run(t, c, "run", h, enough-want-1); exit != vm.OutOfGas {
			t.Errorf("%s: exit %d with one gas too few, want %d", engine, exit, vm.OutOfGas)
		}
	}
}

func TestMemoryGrows(t *testing.T) {
	// Writes memory.grow(n) and memory.size to the host, and reads and fills the last byte.
	report := seq(set(0), get(0), memorySize(), call(0),
		memorySize(), i32(wasmPage), opI32Mul, i32(1), opI32Sub, set(1),
		get(1), load8(0), i32(0), call(0), get(1), i32(0xFF), store8(0))
	g := &guest{pages: 1, maxPages: 3, imports: []string{"debug"}, functions: []guestFunction{
		{export: "none", locals: 2, body: seq(i32(0), memoryGrow(), report)},
		{export: "one", locals: 2, body: seq(i32(1), memoryGrow(), report)},
		{export: "most", locals: 2, body: seq(i32(2), memoryGrow(), report)},
		{export: "beyond", locals: 2, body: seq(i32(3), memoryGrow(), report)},
		{export: "overflow", locals: 2, body: seq(i32(-1), memoryGrow(), report)},
	}}
	const none = 1<<32 - 1
	for engine, e := range engines(t) {
		c := e.load(t, g)
		for _, call := range []struct {
			function     string
			before, size uint64
			refused      bool
			exit         vm.Exit
		}{
			{"one", 1, 2, false, vm.Returned}, {"most", 1, 3, false, vm.Returned}, {"none", 1, 1, true, vm.Returned},
			{"beyond", none, 1, false, vm.Returned}, {"one", none, 1, true, vm.Returned}, {"most", 1, 3, false, vm.Returned},
			{"overflow", 0, 0, false, vm.OutOfGas}, {"one", 1, 2, false, vm.Returned}, {"none", 1, 1, false, vm.Returned},
		} {
			var seen []uint64
			h := &host{grows: func(uint32) bool { return !call.refused },
				serve: func(_ vm.Function, m vm.Memory, stack []uint64, _ *vm.Gas) (vm.Exit, error) {
					seen = append(seen, uint64(uint32(stack[0])), uint64(uint32(stack[1])))
					if m.Pages() != uint32(call.size) {
						t.Errorf("%s, %s: the host sees %d pages, want %d", engine, call.function, m.Pages(), call.size)
					}
					return vm.Returned, nil
				}}
			exit, _ := e.run(t, c, call.function, h, enough)
			if exit != call.exit {
				t.Errorf("%s, %s: exit %d, want %d", engine, call.function, exit, call.exit)
			} else if exit == vm.Returned && (seen[0] != call.before || seen[1] != call.size || seen[2] != 0) {
				t.Errorf("%s, %s: saw %v", engine, call.function, seen)
			}
		}
	}
}

// A contract that calls itself through the chain runs in an instance of its own at each depth.
func TestNestedRuns(t *testing.T) {
	g := &guest{pages: 1, imports: []string{"is_view"}, globals: []int64{0}, functions: []guestFunction{
		{export: "run", body: seq(
			getG(0), i64(1), opI64Add, setG(0),
			i32(0), i32(0), load8(0), i32(1), opI32Add, store8(0), // memory[0]++
			call(0), i32(0), load8(0), opI32Add, getG(0), opWrap, opI32Add, opDrop,
			i32(0), load8(0), i32(1), 0x47 /* i32.ne */, opIf, noResult, opUnreachable, opEnd,
			getG(0), opWrap, i32(1), 0x47, opIf, noResult, opUnreachable, opEnd,
		)},
	}}
	for engine, e := range engines(t) {
		c := e.load(t, g)
		depth := 0
		h := &host{}
		h.serve = func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
			if depth++; depth == 32 {
				return vm.Returned, nil
			}
			callee := vm.Gas{Left: gas.Left - gas.Left/64}
			gas.Left -= callee.Left
			exit, err := e.Run(c.hash, c.module, "run", h, &callee)
			if exit != vm.Returned {
				t.Errorf("%s: exit %d at depth %d", engine, exit, depth)
			}
			gas.Left += callee.Left
			return vm.Returned, err
		}
		for range 2 {
			depth = 0
			if exit, left := e.run(t, c, "run", h, enough); exit != vm.Returned || enough-left > 32*100 || depth != 32 {
				t.Errorf("%s: exit %d, %d gas taken, depth %d", engine, exit, enough-left, depth)
			}
		}
	}
}

// An error in a host function is a fault of the node, and never looks like the guest's doing.
func TestHostFaults(t *testing.T) {
	g := &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
		{export: "run", body: seq(i32(0), i32(0), call(0))},
		{export: "grow", body: seq(i32(1), memoryGrow(), opDrop)},
	}}
	fault := errors.New("the disk is gone")
	for engine, e := range engines(t) {
		c := e.load(t, g)
		for name, h := range map[string]*host{
			"error": {serve: func(vm.Function, vm.Memory, []uint64, *vm.Gas) (vm.Exit, error) { return vm.Trapped, fault }},
			"panic": {serve: func(vm.Function, vm.Memory, []uint64, *vm.Gas) (vm.Exit, error) { panic("unreachable") }},
			"nil": {serve: func(vm.Function, vm.Memory, []uint64, *vm.Gas) (vm.Exit, error) {
				var h *host
				return h.serve(0, nil, nil, nil)
			}},
		} {
			gas := vm.Gas{Left: enough}
			if _, err := e.Run(c.hash, c.module, "run", h, &gas); err == nil || name == "error" && !errors.Is(err, fault) ||
				name == "panic" && !strings.Contains(err.Error(), "host panicked: unreachable") {
				t.Errorf("%s, %s: error %v", engine, name, err)
			}
		}
		h := &host{grows: func(uint32) bool { panic("growing") }}
		gas := vm.Gas{Left: enough}
		if _, err := e.Run(c.hash, c.module, "grow", h, &gas); err == nil || !strings.Contains(err.Error(), "growing") {
			t.Errorf("%s: error %v of a host that panics at growth, want an error with %q", engine, err, "growing")
		}
		if _, err := e.Run(c.hash, c.module, "missing", &host{}, &gas); err == nil {
			t.Errorf("%s: a function that is not there ran", engine)
		}
		if exit, _ := e.run(t, c, "run", &host{}, enough); exit != vm.Returned {
			t.Errorf("%s: exit %d after faults, want %d", engine, exit, vm.Returned)
		}
		if s := e.Stats(); s.Discarded < 4 {
			t.Errorf("%s: %d instances discarded after five faults", engine, s.Discarded)
		}
	}
}

// wazero's own stack overflow depends on earlier calls, so a contract must never be able to cause it.
func TestStackOverflowOfWazeroIsNoTrap(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	recursion := &guest{pages: 1, functions: []guestFunction{{export: "run", body: call(0)}}}
	runtime := wazero.NewRuntimeWithConfig(ctx, configOf(wazero.NewRuntimeConfigCompiler()))
	module, err := runtime.Instantiate(ctx, recursion.binary())
	if err != nil {
		t.Fatal(err)
	}
	err = module.ExportedFunction("run").CallWithStack(ctx, nil)
	if _, trapped := trapOf(err); err == nil || trapped {
		t.Errorf("endless recursion without counters: %v", err)
	}
	if err := runtime.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestModuleIsChecked(t *testing.T) {
	e := newEngine(t, Options{})
	hash := types.CodeHash{1}
	missing := errors.New("no such code")
	if _, err := e.Module(hash, func() ([]byte, error) { return nil, missing }); !errors.Is(err, missing) {
		t.Errorf("error %v of code that cannot be read, want %v", err, missing)
	}
	var refused *vm.Refused
	if _, err := e.Module(hash, func() ([]byte, error) {
		return []byte("\x00asm\x02\x00\x00\x00"), nil
	}); !errors.As(err, &refused) {
		t.Errorf("error %v of code that is no module", err)
	}
	if s := e.Stats(); s.Codes != 0 {
		t.Errorf("%d modules held, want 0", s.Codes)
	}
	code := body().binary()
	hash = sha256.Sum256(code)
	read := 0
	for range 3 {
		if _, err := e.Module(hash, func() ([]byte, error) { read++; return code, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if read != 1 {
		t.Errorf("the code was read %d times, want 1", read)
	}
}

func TestClosedEngine(t *testing.T) {
	e := newEngine(t, Options{})
	c := e.load(t, body())
	e.run(t, c, "run", &host{}, enough)
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	gas := vm.Gas{Left: enough}
	if _, err := e.Run(c.hash, c.module, "run", &host{}, &gas); !errors.Is(err, errClosed) {
		t.Errorf("error %v of a closed engine, want %v", err, errClosed)
	}
	if s := e.Stats(); s.Codes != 0 || s.Idle != 0 || s.Bytes != 0 {
		t.Errorf("a closed engine holds %+v", s)
	}
}
