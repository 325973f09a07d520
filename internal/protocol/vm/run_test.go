package vm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

var (
	errOutOfGas = errors.New("out of gas")
	errHost     = errors.New("host")
)

// machine runs instrumented modules in the simplest way that satisfies vm.Engine, with a fresh instance for each call.
// The reference for the counted gas in this package's tests must not depend on an engine's pooling.
type machine struct {
	t       *testing.T
	runtime wazero.Runtime
	divided bool // whether it runs modules without remainders
	module  *vm.Module
	gas     vm.Gas
	refills int
	grown   func(pages uint32) bool
	host    func(f vm.Function, memory api.Memory, stack []uint64, gas *vm.Gas) vm.Exit
	exit    vm.Exit
	inside  api.Module
}

// newMachine makes a runtime. config is wazero's compiler or interpreter.
func newMachine(t *testing.T, config wazero.RuntimeConfig) *machine {
	ctx := t.Context()
	m := &machine{t: t, runtime: wazero.NewRuntimeWithConfig(
		ctx, config.WithCoreFeatures(api.CoreFeaturesV1|api.CoreFeatureSignExtensionOps),
	)}
	t.Cleanup(func() {
		if err := m.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	engine := m.runtime.NewHostModuleBuilder(vm.EngineModule)
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	engine.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(m.refill), i64, i64).Export(vm.RefillName)
	engine.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(m.grow), i32, i32).Export(vm.GrowName)
	if _, err := engine.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	host := m.runtime.NewHostModuleBuilder(vm.HostModule)
	for i, f := range vm.Functions {
		var results []api.ValueType
		if f.Result != 0 {
			results = []api.ValueType{f.Result}
		}
		host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(
			_ context.Context, inside api.Module, stack []uint64,
		) {
			m.invoke(vm.Function(i), inside, stack)
		}), f.Params, results).Export(f.Name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) refill(_ context.Context, _ api.Module, stack []uint64) {
	m.refills++
	if !m.gas.Return(stack[0]) {
		panic(errOutOfGas)
	}
	stack[0] = m.gas.Lend()
}

func (m *machine) global() api.MutableGlobal {
	return m.inside.ExportedGlobal(vm.GasName).(api.MutableGlobal)
}

// settled runs f with exact gas.
func (m *machine) settled(inside api.Module, f func() vm.Exit) {
	m.inside = inside
	if !m.gas.Return(m.global().Get()) {
		panic(errOutOfGas)
	}
	switch m.exit = f(); m.exit {
	case vm.Returned:
		m.global().Set(m.gas.Lend())
	case vm.OutOfGas:
		panic(errOutOfGas)
	default:
		panic(errHost)
	}
}

func (m *machine) grow(_ context.Context, inside api.Module, stack []uint64) {
	m.settled(inside, func() vm.Exit {
		pages := uint32(stack[0])
		stack[0] = uint64(^uint32(0))
		grow, exit := m.module.Grow(memory{inside.Memory()}, pages, m, &m.gas)
		if grow {
			before, ok := inside.Memory().Grow(pages)
			if !ok {
				m.t.Errorf("wazero does not grow %d by %d pages", inside.Memory().Size()>>16, pages)
			}
			stack[0] = uint64(before)
		}
		return exit
	})
}

func (m *machine) invoke(f vm.Function, inside api.Module, stack []uint64) {
	m.settled(inside, func() vm.Exit { return m.host(f, inside.Memory(), stack, &m.gas) })
}

// Continue, Grow and Invoke make the machine a vm.Host.
func (m *machine) Continue() error                     { return nil }
func (m *machine) Grow(_ vm.Memory, pages uint32) bool { return m.grown == nil || m.grown(pages) }

func (m *machine) Invoke(vm.Function, vm.Memory, []uint64, *vm.Gas) (vm.Exit, error) {
	return vm.Trapped, errHost
}

// memory is the memory of an instance as vm's interface.
type memory struct{ api.Memory }

func (m memory) Range(pointer, n uint32) ([]byte, bool) { return m.Read(pointer, n) }
func (m memory) Pages() uint32                          { return m.Size() >> 16 }

// outcome is everything observable of a call.
type outcome struct {
	exit    vm.Exit
	left    uint64
	refills int
	memory  string
	trap    string // wazero's name for it
}

// call runs a function of a module with some gas in a fresh instance.
func (m *machine) call(code *vm.Module, function string, gas uint64) outcome {
	m.t.Helper()
	ctx := m.t.Context()
	rewritten := code.Instrumented()
	if m.divided {
		rewritten = vm.DivideRemainders(rewritten)
	}
	compiled, err := m.runtime.CompileModule(ctx, rewritten)
	if err != nil {
		m.t.Fatalf("wazero refuses what Check accepts: %v", err)
	}
	inside, err := m.runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(inside.Close(ctx), compiled.Close(ctx)); err != nil {
			m.t.Error(err)
		}
	}()
	m.module, m.gas, m.refills, m.exit, m.inside = code, vm.Gas{Left: gas}, 0, vm.Returned, inside
	m.global().Set(m.gas.Lend())
	_, err = inside.ExportedFunction(vm.GuestPrefix + function).Call(ctx)
	out := outcome{refills: m.refills}
	switch {
	case err == nil, m.exit == vm.Reverted:
		out.exit = m.exit
		if err == nil && !m.gas.Return(m.global().Get()) {
			m.t.Error("the gas global is below 0 after a call")
		}
		out.left = m.gas.Left
	case errors.Is(err, errOutOfGas):
		out.exit = vm.OutOfGas
	default:
		out.exit = m.gas.Trapped(m.global().Get(), inside.ExportedGlobal(vm.StackName).Get())
		out.trap = errors.Unwrap(err).Error()
	}
	bytes, _ := inside.Memory().Read(0, inside.Memory().Size())
	out.memory = string(bytes)
	return out
}
