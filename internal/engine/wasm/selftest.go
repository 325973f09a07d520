package wasm

import (
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// abilities are what this wazero was found to do at the start and does not promise.
type abilities struct {
	shrinks bool // a memory that grew can be made short again; else an instance that grew is closed
}

// testModule has a memory of one page and a function that reads a byte:
//
//	(module (memory (export "m") 1) (func (export "f") (param i32) (result i32) (i32.load8_u (local.get 0))))
var testModule = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x06\x01\x60\x01\x7f\x01\x7f" + // type (i32) -> i32
	"\x03\x02\x01\x00" + // one function
	"\x05\x03\x01\x00\x01" + // memory of 1 page or more
	"\x07\x09\x02\x01m\x02\x00\x01f\x00\x00" +
	"\x0a\x09\x01\x07\x00\x20\x00\x2d\x00\x00\x0b")

// tryWazero tries wazero out.
func (e *Engine) tryWazero() (err error) {
	compiled, err := e.loadTest()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close(ctx)) }()
	m, err := newMemory(1, maxMemoryPages-1)
	if err != nil {
		return err
	}
	module, err := e.generation.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, m), compiled, anonymous)
	if err != nil {
		m.Free()
		return err
	}
	defer func() { err = errors.Join(err, module.Close(ctx)) }()
	load := module.ExportedFunction("f")
	if !e.opts.Interpreter {
		fields, err := findStackFields(load)
		if err != nil {
			return err
		}
		e.stacks = &stacks{fields: fields, size: lentStack}
		grew, err := e.stacks.call(func() error { return load.CallWithStack(ctx, []uint64{0}) }, load)
		if grew || err != nil {
			return errors.Join(errNoStack, err)
		}
	}
	e.wazero.shrinks, err = testShrink(m, module.ExportedMemory("m"), load)
	return err
}

// loadTest makes the test module ready as others are.
func (e *Engine) loadTest() (wazero.CompiledModule, error) {
	if e.opts.Interpreter {
		return e.generation.compile(testModule)
	}
	made, err := compileMachine(testModule)
	if err != nil {
		return nil, err
	}
	return e.generation.load(types.CodeHash{}, &vm.Skeleton{Module: testModule, Functions: []uint32{0}}, made.machine)
}

// testShrink tries whether memory.grow can be undone, also when it grew to the most.
func testShrink(m *memory, seen api.Memory, load api.Function) (bool, error) {
	loads := func(address uint64) bool { return load.CallWithStack(ctx, []uint64{address}) == nil }
	for _, pages := range []uint32{1, maxMemoryPages - 2} {
		end := uint64(1+pages) * wasmPage
		if _, ok := seen.Grow(pages); !ok || !loads(end-1) || loads(end) {
			return false, errors.New("wazero: a memory that grew has not its new size")
		}
		if !shrink(m, seen) || !loads(wasmPage-1) || loads(wasmPage) {
			return false, nil
		}
	}
	return true, nil
}
