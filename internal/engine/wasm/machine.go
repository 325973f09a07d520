package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// A module is compiled once, as a whole, in a wazero runtime of its own, which passes the machine code to its file
// cache. To load the module, another runtime reads the module's skeleton and asks its own file cache for the module,
// which returns that machine code. So neither the code nor wazero's copy of it is read or validated again.

// errFiles is returned if wazero accepts no cache but a directory.
var errFiles = errors.New("this version of wazero accepts only a directory as its cache")

// keeper is the file cache of a runtime that compiles.
type keeper struct {
	key     [32]byte
	machine []byte // nil if nothing was compiled
}

func (k *keeper) Get([32]byte) (io.ReadCloser, bool, error) { return nil, false, nil }
func (k *keeper) Delete([32]byte) error                     { return nil }

func (k *keeper) Add(key [32]byte, r io.Reader) (err error) {
	k.key = key
	k.machine, err = io.ReadAll(r)
	return err
}

// compileMachine returns a module's machine code in wazero's format, with wazero's key of it, which covers the module
// and the features of the processor. The module was checked, so wazero's refusal or panic is a fault of the node.
func compileMachine(module []byte) (_ *keeper, err error) {
	defer recoveredCompile(&err)
	k := &keeper{}
	memory, ok := withFiles(k)
	if !ok {
		return nil, errFiles
	}
	defer func() { err = errors.Join(err, memory.Close(ctx)) }()
	runtime := wazero.NewRuntimeWithConfig(ctx, configOf(wazero.NewRuntimeConfigCompiler()).WithCompilationCache(memory))
	defer func() { err = errors.Join(err, runtime.Close(ctx)) }()
	if _, err := runtime.CompileModule(ctx, module); err != nil {
		return nil, fmt.Errorf("wazero refused a module that passed the check: %w", err)
	}
	if k.machine == nil {
		return nil, errors.New("wazero stored no machine code")
	}
	return k, nil
}

func recoveredCompile(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("wazero panicked compiling a checked module: %v\n%s", r, debug.Stack())
	}
}

// loader is the file cache of a runtime that reads skeletons. It returns the machine code for the current skeleton. No
// skeleton may ever be compiled, so any other use by wazero is an error.
type loader struct {
	mu   sync.Mutex // held while a skeleton is read
	next io.Reader  // nil if no lookup is expected
}

var errLoader = errors.New("wazero did not use the machine code of a module")

// Get returns the machine code.
func (l *loader) Get([32]byte) (io.ReadCloser, bool, error) {
	if l.next == nil {
		return nil, false, errLoader
	}
	r := l.next
	l.next = nil
	return io.NopCloser(r), true, nil
}

// Add fails: wazero calls it only if it compiled a skeleton.
func (l *loader) Add([32]byte, io.Reader) error { return errLoader }

// Delete fails: wazero calls it only if the machine code is of another version.
func (l *loader) Delete([32]byte) error { return errLoader }

// load compiles a skeleton with its machine code. Modules with the same hash have the same.
func (g *generation) load(
	hash types.CodeHash, s *vm.Skeleton, machine []byte,
) (compiled wazero.CompiledModule, err error) {
	defer recoveredCompile(&err)
	picked, err := pickFunctions(machine, s.Functions)
	if err != nil {
		return nil, err
	}
	g.loader.mu.Lock()
	defer g.loader.mu.Unlock()
	g.loader.next = picked
	defer func() { g.loader.next = nil }()
	compiled, err = g.runtime.CompileModule(ctx, named(s.Module, hash))
	if err != nil {
		return nil, fmt.Errorf("wazero cannot load a compiled module: %w", err)
	}
	return compiled, nil
}

// named adds a custom section with the code's hash, as wazero treats modules with the same bytes as one.
func named(module []byte, hash types.CodeHash) []byte {
	out := append(make([]byte, 0, len(module)+3+len(hash)), module...)
	return append(append(out, 0, byte(1+len(hash)), 0), hash[:]...)
}

// wazeroMagic begins machine code in wazero's format. Then follow its version, with a length of one byte; the number of
// functions, in 4 bytes; the offset of each in the rest, in 8 bytes; and the rest.
const wazeroMagic = "WAZEVO"

var errMachine = errors.New("the machine code of a module is not in the form that wazero writes")

// pickFunctions returns a module's machine code with only the given functions listed, by index. The others remain
// callable from these, but have no index.
func pickFunctions(machine []byte, functions []uint32) (io.Reader, error) {
	rest, ok := bytes.CutPrefix(machine, []byte(wazeroMagic))
	if !ok || len(rest) == 0 || len(rest) < 1+int(rest[0])+4 {
		return nil, errMachine
	}
	n := 1 + int(rest[0])
	head := append(make([]byte, 0, len(wazeroMagic)+n+4+8*len(functions)), machine[:len(wazeroMagic)+n]...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(functions)))
	count, rest := binary.LittleEndian.Uint32(rest[n:]), rest[n+4:]
	if uint64(len(rest)) < 8*uint64(count) {
		return nil, errMachine
	}
	for _, f := range functions {
		if f >= count {
			return nil, errMachine
		}
		head = append(head, rest[8*f:8*f+8]...)
	}
	return io.MultiReader(bytes.NewReader(head), codeReader{bytes.NewReader(rest[8*count:])}), nil
}

// codeReader reads machine code into memory that wazero has just mapped.
type codeReader struct{ *bytes.Reader }

// Read gives p its pages at once, as one page fault for each takes longer than all else about the code.
func (r codeReader) Read(p []byte) (int, error) {
	populate(p[:min(len(p), r.Len())])
	return r.Reader.Read(p)
}
