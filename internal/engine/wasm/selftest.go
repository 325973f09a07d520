package wasm

import (
	"errors"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// errSwap is returned if wazero does not accept another memory for an instance.
var errSwap = errors.New("this version of wazero cannot replace the memory of an instance")

// testModule has a memory of one page and a function that reads a byte:
//
//	(module (memory (export "m") 1) (func (export "f") (param i32) (result i32) (i32.load8_u (local.get 0))))
var testModule = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x06\x01\x60\x01\x7f\x01\x7f" + // type (i32) -> i32
	"\x03\x02\x01\x00" + // one function
	"\x05\x03\x01\x00\x01" + // memory of 1 page or more
	"\x07\x09\x02\x01m\x02\x00\x01f\x00\x00" +
	"\x0a\x09\x01\x07\x00\x20\x00\x2d\x00\x00\x0b")

// tryWazero tests that wazero has the properties on which the engine relies.
func (e *Engine) tryWazero() (err error) {
	compiled, err := e.loadTest()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compiled.Close(ctx)) }()
	var lent [2]*region
	for i := range lent {
		if lent[i], err = e.regions.take(); err != nil {
			return err
		}
		defer e.regions.put(lent[i], regionSize)
	}
	m := newMemory(1)
	m.region = lent[0]
	module, err := e.generation.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, m), compiled, anonymous)
	if err != nil {
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
	return testSwap(m, lent, module.ExportedMemory("m"), load)
}

// loadTest prepares the test module like any other.
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

// testSwap tests that an instance accepts another memory of its initial size, even after it has grown to the maximum.
func testSwap(m *memory, lent [2]*region, seen api.Memory, load api.Function) error {
	read := func(address uint64) (byte, bool) {
		stack := []uint64{address}
		err := load.CallWithStack(ctx, stack)
		return byte(stack[0]), err == nil
	}
	for i, pages := range []uint32{1, maxMemoryPages - 2} {
		end := uint64(1+pages) * wasmPage
		_, ok := seen.Grow(pages)
		_, inside := read(end - 1)
		_, outside := read(end)
		if !ok || !inside || outside {
			return errors.New("wazero reports the old size of a memory that has grown")
		}
		next, mark := lent[1-i], byte(1+i)
		next.bytes[wasmPage-1] = mark
		swapped := m.swap(next, seen)
		last, inside := read(wasmPage - 1)
		if _, outside := read(wasmPage); !swapped || !inside || last != mark || outside {
			return errSwap
		}
	}
	return nil
}
