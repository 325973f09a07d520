package wasm

import (
	"errors"
	"reflect"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// abilities are what this wazero was found to do at the start and does not promise.
type abilities struct {
	shrinks    bool // a memory that grew can be made short again; else an instance that grew is closed
	stackField int  // index of the stack's field in a function; -1: not known
}

// stackSize is how many bytes of stack wazero keeps for a function, about.
func (a abilities) stackSize(f api.Function) int {
	if a.stackField < 0 {
		return 64 << 10
	}
	return reflect.ValueOf(f).Elem().Field(a.stackField).Len()
}

func findStack(f api.Function) int {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return -1
	}
	field, ok := v.Elem().Type().FieldByName("stack")
	if !ok || field.Type.Kind() != reflect.Slice {
		return -1
	}
	return field.Index[0]
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

// test tries wazero out.
func (g *generation) test() (found abilities, err error) {
	compiled, err := g.compile(testModule)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, compiled.Close(ctx)) }()
	m, err := newMemory(1, maxMemoryPages-1)
	if err != nil {
		return found, err
	}
	module, err := g.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, m), compiled, anonymous)
	if err != nil {
		m.Free()
		return found, err
	}
	defer func() { err = errors.Join(err, module.Close(ctx)) }()
	load := module.ExportedFunction("f")
	found.stackField = findStack(load)
	found.shrinks, err = testShrink(m, module.ExportedMemory("m"), load)
	return found, err
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
