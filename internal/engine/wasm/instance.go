package wasm

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/tetratelabs/wazero/api"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// instance is an instance of a module. It runs one call at a time: wazero's functions are not reentrant, so a nested
// call takes another instance.
//
// It is also the context of its calls, by which host functions find it.
type instance struct {
	context.Context // never canceled

	code        *code
	module      api.Module
	memory      *memory
	wasmMemory  api.Memory // wazero's view of the same memory
	gasGlobal   api.MutableGlobal
	stackGlobal api.Global
	reset       api.Function
	entries     []entry // last used first
	size        int     // approximate bytes that it keeps between calls
	running
}

// running is the state of an instance's call.
type running struct {
	host  vm.Host
	gas   *vm.Gas
	asked uint64 // gas that was left at the last call of host.Continue
	ended bool   // a host function ended the call, with exit or fault
	exit  vm.Exit
	fault error
}

// entry is a function of the guest with wazero's call engine. The engine's own small stack is not used: see [stacks].
type entry struct {
	name     string
	function api.Function
}

// maxEntries bounds the cached entries of an instance.
const maxEntries = 4

// instanceSize and entrySize estimate the bytes of an instance and an entry between calls. Most of them are wazero's
// initial stack of 10 KiB, one for each entry and one for reset.
const (
	instanceSize = 20 << 10
	entrySize    = 12 << 10
)

// errEnd unwinds the guest's stack when a host function ends the call.
var errEnd = errors.New("the call was ended by a host function")

// run calls a function. After an error the instance must not be used again.
func (i *instance) run(function string, host vm.Host, gas *vm.Gas) (vm.Exit, error) {
	f := i.entry(function)
	if f == nil {
		return 0, errors.New("the module has no such export")
	}
	i.running = running{host: host, gas: gas, asked: gas.Left, exit: vm.Returned}
	i.gasGlobal.Set(gas.Lend())
	err := i.code.call(i, f)
	i.host, i.gas = nil, nil
	if covered := i.code.engine.opts.Covered; covered != nil {
		covered(i.code.hash, i.ran())
	}

	exit := i.exit
	cause, trapped := trapOf(err)
	switch {
	case i.fault != nil:
		return 0, i.fault
	case i.ended:
	case err == nil:
		if !gas.Return(i.gasGlobal.Get()) {
			return 0, errors.New("a function returned with a negative amount of gas")
		}
	case !trapped:
		return 0, err
	default:
		gas.Cause = cause
		exit = gas.Trapped(i.gasGlobal.Get(), i.stackGlobal.Get())
	}
	if stopped := i.code.engine.opts.Stopped; stopped != nil && exit != vm.Returned {
		stopped(i.code.hash, i.code.module.Standing(i.global))
	}
	if exit != vm.Returned && exit != vm.Reverted {
		gas.Forfeit()
	}
	return exit, nil
}

// ran returns the blocks of a covered module that ran.
func (i *instance) ran() []uint64 {
	words := make([]uint64, i.code.module.CoverWords())
	for word := range words {
		words[word] = i.global(vm.CoverName(word))
	}
	return words
}

func (i *instance) global(name string) uint64 { return i.module.ExportedGlobal(name).Get() }

// entry returns an export of the guest, or nil if there is none.
func (i *instance) entry(name string) api.Function {
	for n, e := range i.entries {
		if e.name == name {
			copy(i.entries[1:], i.entries[:n])
			i.entries[0] = e
			return e.function
		}
	}
	f := i.module.ExportedFunction(vm.GuestPrefix + name)
	if f == nil {
		return nil
	}
	if len(i.entries) < maxEntries {
		i.entries = append(i.entries, entry{})
	}
	copy(i.entries[1:], i.entries)
	i.entries[0] = entry{name, f}
	return f
}

// traps maps wazero's names of the traps of WebAssembly 1.0 without floats. wazero's stack overflow is not among them:
// the counters of instrumentation trigger first, so an overflow is a fault of the node.
var traps = map[string]vm.Cause{
	"unreachable":                 vm.Unreachable,
	"out of bounds memory access": vm.OutOfBounds,
	"invalid table access":        vm.BadIndirect, // also a null element
	"indirect call type mismatch": vm.BadIndirect,
	"integer overflow":            vm.BadDivision,
	"integer divide by zero":      vm.BadDivision,
}

// trapOf distinguishes a trap of the guest from all other ends of a call. In particular, wazero recovers a Go panic and
// returns an error as for a trap.
func trapOf(err error) (cause vm.Cause, ok bool) {
	inner := errors.Unwrap(err)
	// The type is internal to wazero. An error of another type could have the same text.
	if inner == nil || reflect.TypeOf(inner).String() != "*wasmruntime.Error" {
		return cause, false
	}
	cause, ok = traps[inner.Error()]
	return cause, ok
}

// invoke returns the implementation of a host function.
func invoke(function vm.Function) api.GoModuleFunc {
	return func(ctx context.Context, _ api.Module, stack []uint64) {
		i := ctx.(*instance)
		i.takeGas(i.gasGlobal.Get())
		exit, err := i.invoke(function, stack)
		if err != nil || exit != vm.Returned {
			i.end(exit, err)
		}
		i.gasGlobal.Set(i.gas.Lend())
	}
}

// invoke calls the host. A panic of the host is a fault of the node: wazero would recover it and return it like a trap.
func (i *instance) invoke(function vm.Function, stack []uint64) (exit vm.Exit, err error) {
	defer recovered(&err)
	return i.host.Invoke(function, i.memory, stack, i.gas)
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("host panicked: %v\n%s", r, debug.Stack())
	}
}

// takeGas takes back the gas lent to the guest, which may be a debt, and at intervals asks the host whether to
// continue.
func (i *instance) takeGas(global uint64) {
	if !i.gas.Return(global) {
		i.end(vm.OutOfGas, nil)
	}
	if i.gas.Left+vm.MaxSlice <= i.asked {
		i.asked = i.gas.Left
		if err := i.mayContinue(); err != nil {
			i.end(0, err)
		}
	}
}

func (i *instance) mayContinue() (err error) {
	defer recovered(&err)
	return i.host.Continue()
}

// end ends the call. It does not return.
func (i *instance) end(exit vm.Exit, err error) {
	i.ended, i.exit, i.fault = true, exit, err
	panic(errEnd)
}

// refill implements [vm.RefillName]: (i64) → i64.
func refill(ctx context.Context, _ api.Module, stack []uint64) {
	i := ctx.(*instance)
	i.code.engine.refills.Add(1)
	i.takeGas(stack[0])
	stack[0] = i.gas.Lend()
}

// grow implements [vm.GrowName]: (i32) → i32.
func grow(ctx context.Context, _ api.Module, stack []uint64) {
	i := ctx.(*instance)
	i.takeGas(i.gasGlobal.Get())
	pages := uint32(stack[0])
	allowed, exit, err := i.mayGrow(pages)
	if err != nil || exit != vm.Returned {
		i.end(exit, err)
	}
	stack[0] = uint64(^uint32(0)) // -1
	if allowed {
		before, ok := i.wasmMemory.Grow(pages)
		if !ok {
			i.end(0, fmt.Errorf("memory of %d pages cannot grow by %d", i.memory.Pages(), pages))
		}
		stack[0] = uint64(before)
	}
	i.gasGlobal.Set(i.gas.Lend())
}

func (i *instance) mayGrow(pages uint32) (allowed bool, exit vm.Exit, err error) {
	defer recovered(&err)
	allowed, exit = i.code.module.Grow(i.memory, pages, i.host, i.gas)
	return allowed, exit, nil
}

// lend gives the instance its initial memory for a call. If it fails, the instance must be closed.
func (i *instance) lend() error {
	if i.memory.region == nil { // it ran before
		region, err := i.code.engine.regions.take()
		if err != nil {
			return err
		}
		if !i.memory.swap(region, i.wasmMemory) {
			return errSwap
		}
	}
	if !i.code.engine.opts.Interpreter { // the interpreter's module contains its data
		i.memory.begin(i.code.module.Skeleton().Data)
	}
	return nil
}

// giveBack returns the instance's memory to the engine.
func (i *instance) giveBack() {
	if r := i.memory.region; r != nil {
		i.memory.region = nil
		i.code.engine.regions.put(r, i.memory.size)
	}
}

// restore restores the instance's initial state, except for its memory. If it reports false, the instance must be
// closed.
func (i *instance) restore() bool {
	if err := i.reset.CallWithStack(i, nil); err != nil {
		return false
	}
	i.size = instanceSize + len(i.entries)*entrySize
	return true
}

func (i *instance) close() error { return i.module.Close(ctx) }
