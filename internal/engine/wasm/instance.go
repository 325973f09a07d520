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

// instance is a module's instance. It runs one call at a time: wazero's functions must not be entered again while they
// run, so a nested call takes another instance.
//
// It is the context of its calls too, which is how a host function finds it.
type instance struct {
	context.Context // never done

	code        *code
	module      api.Module
	memory      *memory
	wasmMemory  api.Memory // the same memory, as wazero sees it
	gasGlobal   api.MutableGlobal
	stackGlobal api.Global
	reset       api.Function
	entries     []entry // last used first
	size        int     // bytes that it keeps, about
	running
}

// running is the call that an instance runs.
type running struct {
	host  vm.Host
	gas   *vm.Gas
	asked uint64 // what gas was left when the host was asked whether to go on
	ended bool   // by a host function, with exit or fault
	exit  vm.Exit
	fault error
}

// entry is a function of the guest as wazero calls it. Its own small stack is not used: see [stacks].
type entry struct {
	name     string
	function api.Function
}

// maxEntries bounds the entries of an instance.
const maxEntries = 4

// instanceSize and entrySize are about what an instance and an entry take between calls, in bytes. It is mostly
// wazero's first stack of 10 KiB, one for each entry and one for reset.
const (
	instanceSize = 20 << 10
	entrySize    = 12 << 10
)

// errEnd unwinds the guest's stack when a host function ends the call.
var errEnd = errors.New("the call was ended by a host function")

// run calls a function. If it returns an error, the instance must not run again.
func (i *instance) run(function string, host vm.Host, gas *vm.Gas) (vm.Exit, error) {
	f := i.entry(function)
	if f == nil {
		return 0, errors.New("no such export")
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
			return 0, errors.New("a function returned with less than no gas")
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

// ran reads which blocks of a covered module ran.
func (i *instance) ran() []uint64 {
	words := make([]uint64, i.code.module.CoverWords())
	for word := range words {
		words[word] = i.global(vm.CoverName(word))
	}
	return words
}

func (i *instance) global(name string) uint64 { return i.module.ExportedGlobal(name).Get() }

// entry finds an export of the guest; nil if there is none.
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

// traps are what wazero calls the traps of WebAssembly 1.0 without floats. Its own stack overflow is none of them: the
// counters that instrumentation adds come first, so it would be a fault.
var traps = map[string]vm.Cause{
	"unreachable":                 vm.Unreachable,
	"out of bounds memory access": vm.OutOfBounds,
	"invalid table access":        vm.BadIndirect, // also a null element
	"indirect call type mismatch": vm.BadIndirect,
	"integer overflow":            vm.BadDivision,
	"integer divide by zero":      vm.BadDivision,
}

// trapOf tells a trap of the guest's code from everything else that can end a call: a Go panic is recovered by wazero
// and becomes an error like a trap.
func trapOf(err error) (cause vm.Cause, ok bool) {
	inner := errors.Unwrap(err)
	// The type is internal to wazero; an error of another type could have the same text.
	if inner == nil || reflect.TypeOf(inner).String() != "*wasmruntime.Error" {
		return cause, false
	}
	cause, ok = traps[inner.Error()]
	return cause, ok
}

// invoke serves a host function.
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

// invoke asks the host. Its panic is a fault of the node: wazero would recover it and make it look like a trap.
func (i *instance) invoke(function vm.Function, stack []uint64) (exit vm.Exit, err error) {
	defer recovered(&err)
	return i.host.Invoke(function, i.memory, stack, i.gas)
}

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("host panicked: %v\n%s", r, debug.Stack())
	}
}

// takeGas takes back what was lent to the guest, which may be a debt, and asks the host now and then whether to go on.
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

// end ends the call.
func (i *instance) end(exit vm.Exit, err error) {
	i.ended, i.exit, i.fault = true, exit, err
	panic(errEnd)
}

// refill is [vm.RefillName]: (i64) → i64.
func refill(ctx context.Context, _ api.Module, stack []uint64) {
	i := ctx.(*instance)
	i.code.engine.stats.refills.Add(1)
	i.takeGas(stack[0])
	stack[0] = i.gas.Lend()
}

// grow is [vm.GrowName]: (i32) → i32.
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

// lend gives the instance memory for a call, as it is after instantiation. If it fails the instance must be closed.
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
	if !i.code.engine.opts.Interpreter { // there the module has its data
		i.memory.begin(i.code.module.Skeleton().Data)
	}
	return nil
}

// giveBack gives the instance's memory back.
func (i *instance) giveBack() {
	if r := i.memory.region; r != nil {
		i.memory.region = nil
		i.code.engine.regions.put(r, i.memory.size)
	}
}

// restore makes the instance as it was after instantiation, but for its memory. If it reports false the instance must
// be closed.
func (i *instance) restore() bool {
	if err := i.reset.CallWithStack(i, nil); err != nil {
		return false
	}
	i.size = instanceSize + len(i.entries)*entrySize
	return true
}

func (i *instance) close() error { return i.module.Close(ctx) }
