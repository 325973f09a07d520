package wasm

import (
	"errors"
	"reflect"
	"sync"
	"unsafe"

	"github.com/tetratelabs/wazero/api"
)

// A call runs on a stack that the engine lends it. So a call's cost does not depend on the depth of the instance's
// earlier calls, no call waits for wazero to grow a stack by copying it, and an instance keeps only its small initial
// stack.
const (
	// lentStack is the size of a lent stack in bytes. Metering counts at least one slot per 8 bytes of machine stack,
	// and ends a call at 65,536 slots. The extra 64 KiB are for wazero's entry code, host calls and the last frame.
	lentStack = 8*65_536 + 64<<10
	// keptStacks is the number of free stacks that an engine keeps, 18 MiB: enough for one execution of maximum
	// nesting.
	keptStacks = 32
)

// stacks lends stacks. They are mapped instead of allocated, so that only their used part takes memory, and the garbage
// collector ignores them.
type stacks struct {
	fields stackFields
	size   int

	mu     sync.Mutex
	free   [][]byte // last used last
	closed bool
}

// stackFields holds the offsets, in bytes, of the stack fields in wazero's implementation of a function.
type stackFields struct{ stack, top, bottom uintptr }

// findStackFields finds the offsets by reflection, as the types are internal to wazero.
func findStackFields(f api.Function) (fields stackFields, err error) {
	t := reflect.TypeOf(f)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return fields, errNoStack
	}
	var context, bottom reflect.StructField
	stack, ok := t.Elem().FieldByName("stack")
	top, ok1 := t.Elem().FieldByName("stackTop")
	context, ok2 := t.Elem().FieldByName("execCtx")
	if !ok || !ok1 || !ok2 || context.Type.Kind() != reflect.Struct {
		return fields, errNoStack
	}
	bottom, ok = context.Type.FieldByName("stackBottomPtr")
	if !ok || stack.Type != reflect.TypeFor[[]byte]() || top.Type != reflect.TypeFor[uintptr]() ||
		bottom.Type != reflect.TypeFor[*byte]() {
		return fields, errNoStack
	}
	return stackFields{stack.Offset, top.Offset, context.Offset + bottom.Offset}, nil
}

var errNoStack = errors.New("this version of wazero cannot call a function on a given stack")

// set replaces a function's stack and returns the previous one. The function must not be running.
func (s stackFields) set(f api.Function, stack []byte) (before []byte) {
	p := reflect.ValueOf(f).UnsafePointer()
	field := (*[]byte)(unsafe.Add(p, s.stack))
	before, *field = *field, stack
	*(*uintptr)(unsafe.Add(p, s.top)) = uintptr(unsafe.Pointer(&stack[len(stack)-1])) &^ 15
	*(**byte)(unsafe.Add(p, s.bottom)) = &stack[0]
	return before
}

// call calls a function on a lent stack. It reports whether the stack was too small, so that wazero moved to a larger
// one.
func (s *stacks) call(f func() error, of api.Function) (grew bool, err error) {
	lent, err := s.take()
	if err != nil {
		return false, err
	}
	own := s.fields.set(of, lent)
	err = f()
	used := s.fields.set(of, own)
	s.put(lent)
	return unsafe.SliceData(used) != unsafe.SliceData(lent), err
}

func (s *stacks) take() ([]byte, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		stack := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return stack, nil
	}
	s.mu.Unlock()
	return reserve(s.size)
}

func (s *stacks) put(stack []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.free) == keptStacks {
		release(stack)
		return
	}
	s.free = append(s.free, stack)
}

func (s *stacks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stack := range s.free {
		release(stack)
	}
	s.free, s.closed = nil, true
}
