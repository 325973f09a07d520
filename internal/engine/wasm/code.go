package wasm

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// code is a module that the engine holds.
type code struct {
	engine *Engine
	hash   types.CodeHash
	module *vm.Module

	// Guarded by the engine's lock.
	idle    []*instance // last used last
	users   int         // calls and other holders
	evicted bool
	size    int // approximate bytes in memory

	preparing  sync.Mutex
	ready      atomic.Bool // the fields below are set
	generation *generation
	compiled   wazero.CompiledModule

	deeper atomic.Bool // a call that needed too much stack was reported
}

// codeOverhead and skeletonRatio estimate a module's memory use in bytes: a constant part, and a factor for its
// skeleton, which covers wazero's own data.
const (
	codeOverhead  = 32 << 10
	skeletonRatio = 16
)

// codeSize estimates the bytes of a module in memory, including its rewritten code, before it is prepared.
func codeSize(m *vm.Module) int {
	return codeOverhead + len(m.Instrumented()) + skeletonRatio*len(m.Skeleton().Module)
}

// prepare makes a module ready to run. The machine code is the given one, or is loaded from the cache or compiled now.
// One goroutine does this while others wait.
func (c *code) prepare(machine []byte) (err error) {
	if c.ready.Load() {
		return nil
	}
	c.preparing.Lock()
	defer c.preparing.Unlock()
	if c.ready.Load() {
		return nil
	}
	e, loaded := c.engine, machine != nil
	module := c.module.Instrumented()
	if !e.opts.Interpreter {
		module = c.module.Skeleton().Module
		if !loaded {
			var r record
			if r, loaded, err = e.machineOf(c.hash, c.module); err != nil {
				return err
			}
			defer r.free()
			machine = r.machine
		}
	} else if module == nil {
		return errors.New("the interpreter cannot run a module that is stripped for machine code")
	}
	generation, err := e.enterGeneration(len(module))
	if err != nil {
		return err
	}
	var compiled wazero.CompiledModule
	if e.opts.Interpreter {
		compiled, err = generation.compile(module)
	} else {
		compiled, err = generation.load(c.hash, c.module.Skeleton(), machine)
	}
	if err != nil {
		return errors.Join(err, generation.leave())
	}
	c.generation, c.compiled = generation, compiled
	if !e.opts.Interpreter {
		c.grow(len(machine))
	}
	e.compiled.Add(1)
	if loaded {
		e.loaded.Add(1)
	}
	c.ready.Store(true)
	return nil
}

// grow adds to the module's memory use.
func (c *code) grow(bytes int) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.size += bytes
	if !c.evicted {
		c.engine.bytes += bytes
	}
}

// call calls a function of an instance, on a lent stack if wazero is the compiler. A call that needs a larger stack
// violates the rules of metering, but has the same outcome: wazero continues on a larger stack.
func (c *code) call(i *instance, f api.Function) error {
	call := func() error { return f.CallWithStack(i, nil) }
	if c.engine.stacks == nil {
		return call()
	}
	grew, err := c.engine.stacks.call(call, f)
	if grew {
		c.engine.deeper.Add(1)
		if !c.deeper.Swap(true) {
			c.engine.opts.Log.Error("a contract call used more native stack than the metering accounts for: its "+
				"outcome is unaffected; please report the contract's code",
				"code", c.hash, "bytes", c.engine.stacks.size)
		}
	}
	return err
}

// close releases the resources of prepare. There must be no instances left.
func (c *code) close() error {
	if !c.ready.Load() {
		return nil
	}
	return errors.Join(c.compiled.Close(ctx), c.generation.leave())
}

// instantiate creates an instance.
func (c *code) instantiate() (*instance, error) {
	if err := c.prepare(nil); err != nil {
		return nil, err
	}
	region, err := c.engine.regions.take()
	if err != nil {
		return nil, err
	}
	memory := newMemory(c.module.Pages())
	memory.region = region
	i, err := c.generation.instantiate(c.compiled, memory)
	if err != nil {
		c.engine.regions.put(region, regionSize)
		return nil, err
	}
	i.code = c
	c.engine.instantiated.Add(1)
	return i, nil
}

// A generation is a wazero runtime with its compiled modules. A runtime never forgets a function type, so after
// [Engine].generationBytes of modules the engine starts a new one. The old one is closed with its last module.
type generation struct {
	engine  *Engine
	runtime wazero.Runtime
	loader  loader                  // provides machine code; unused by the interpreter
	cache   wazero.CompilationCache // nil for the interpreter
	loaded  int                     // bytes of all modules so far; guarded by the engine's lock
	users   int                     // modules, plus one while it takes new ones; guarded by the engine's lock
}

// maxMemoryPages is the memory limit given to wazero. It is one page more than any memory may have, because resetting a
// memory's size asks for one more page.
const maxMemoryPages = 17

// configOf sets the options that the compiler and the interpreter have in common.
func configOf(c wazero.RuntimeConfig) wazero.RuntimeConfig {
	return c.WithCoreFeatures(api.CoreFeaturesV1 | api.CoreFeatureSignExtensionOps).
		WithMemoryLimitPages(maxMemoryPages).WithDebugInfoEnabled(false)
}

func (e *Engine) newGeneration() (*generation, error) {
	g := &generation{engine: e, users: 1}
	config := configOf(wazero.NewRuntimeConfigInterpreter())
	if !e.opts.Interpreter {
		var ok bool
		if g.cache, ok = withFiles(&g.loader); !ok {
			return nil, errFiles
		}
		config = configOf(wazero.NewRuntimeConfigCompiler()).WithCompilationCache(g.cache)
	}
	g.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := g.addHost(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

// addHost adds the modules that guests import.
func (g *generation) addHost() error {
	host := g.runtime.NewHostModuleBuilder(vm.HostModule)
	for function, row := range vm.Functions {
		var results []api.ValueType
		if row.Result != 0 {
			results = []api.ValueType{api.ValueType(row.Result)}
		}
		params := make([]api.ValueType, len(row.Params))
		for i, p := range row.Params {
			params[i] = api.ValueType(p)
		}
		host.NewFunctionBuilder().WithGoModuleFunction(invoke(vm.Function(function)), params, results).Export(row.Name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		return fmt.Errorf("define the host functions: %w", err)
	}
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	own := g.runtime.NewHostModuleBuilder(vm.EngineModule)
	own.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(refill), i64, i64).Export(vm.RefillName)
	own.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(grow), i32, i32).Export(vm.GrowName)
	if _, err := own.Instantiate(ctx); err != nil {
		return fmt.Errorf("define the engine's own functions: %w", err)
	}
	return nil
}

// enterGeneration returns the runtime in which to compile a module of the given size.
func (e *Engine) enterGeneration(bytes int) (*generation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if e.generation.loaded+bytes > e.generationBytes && e.generation.loaded > 0 {
		next, err := e.newGeneration()
		if err != nil {
			return nil, err
		}
		old := e.generation
		e.generation = next
		if old.users--; old.users == 0 {
			if err := old.close(); err != nil {
				return nil, err
			}
		}
	}
	e.generation.loaded += bytes
	e.generation.users++
	return e.generation, nil
}

// leave undoes enterGeneration.
func (g *generation) leave() error {
	g.engine.mu.Lock()
	g.users--
	last := g.users == 0
	g.engine.mu.Unlock()
	if last {
		return g.close()
	}
	return nil
}

func (g *generation) close() error {
	err := g.runtime.Close(ctx)
	if g.cache != nil {
		err = errors.Join(err, g.cache.Close(ctx))
	}
	return err
}

// compile prepares a module for the interpreter.
func (g *generation) compile(instrumented []byte) (compiled wazero.CompiledModule, err error) {
	defer recoveredCompile(&err)
	compiled, err = g.runtime.CompileModule(ctx, instrumented)
	if err != nil {
		return nil, fmt.Errorf("wazero refused a module that passed the check: %w", err)
	}
	return compiled, nil
}

// anonymous instances can be created any number of times, and run no start function. Without noRandom, wazero would
// seed a random source for each, which takes longer than the rest.
var anonymous = wazero.NewModuleConfig().WithName("").WithStartFunctions().WithRandSource(noRandom{})

type noRandom struct{}

// Read fails: contracts cannot ask for random numbers.
func (noRandom) Read([]byte) (int, error) { return 0, errors.New("contracts have no random numbers") }

// instantiate creates an instance on a memory that holds a region.
func (g *generation) instantiate(compiled wazero.CompiledModule, memory *memory) (*instance, error) {
	module, err := g.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory), compiled, anonymous)
	if err != nil {
		return nil, fmt.Errorf("wazero cannot instantiate a checked module: %w", err)
	}
	i := &instance{Context: ctx, module: module, memory: memory, wasmMemory: module.ExportedMemory(vm.MemoryName)}
	gas, isMutable := module.ExportedGlobal(vm.GasName).(api.MutableGlobal)
	i.gasGlobal, i.stackGlobal, i.reset = gas, module.ExportedGlobal(vm.StackName), module.ExportedFunction(vm.ResetName)
	if !isMutable || i.stackGlobal == nil || i.reset == nil || i.wasmMemory == nil {
		return nil, errors.Join(errors.New("a checked module lacks the exports that instrumentation adds"), i.close())
	}
	return i, nil
}

// compilable returns a rewritten module in the form for wazero's compiler on this processor.
//
// The compiler for arm64 (1.12.0) computes remainders wrongly. It keeps the quotient in the result's register while it
// starts another block to check the divisor. If that block reloads a value from the stack, which happens from some 24
// live values on, the register may no longer hold the quotient. The interpreter and the compiler for amd64 are correct.
func compilable(module []byte) []byte {
	if runtime.GOARCH == "arm64" {
		return vm.DivideRemainders(module)
	}
	return module
}
