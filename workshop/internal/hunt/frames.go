package hunt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Frame is the stack use of a function: in slots by the rule of the protocol, and in bytes of machine code.
type Frame struct{ Slots, Native int }

// ErrOtherProcessor is returned by [Frames] if the machine code is not for amd64.
var ErrOtherProcessor = errors.New("frames are read from the machine code of amd64 only")

// build identifies the program that compiled the machine code, as a test binary has no build information.
const build = "hunt"

// Frames compiles a module and returns the stack use at the entry of each function. It omits the functions that the
// engine appends to the contract's own.
func Frames(module *vm.Module) (frames []Frame, err error) {
	if runtime.GOARCH != "amd64" {
		return nil, ErrOtherProcessor
	}
	dir, err := os.MkdirTemp("", "cairn-hunt-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	engine, err := wasm.New(wasm.Options{Dir: dir, Build: build})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(engine.Compile(types.CodeHash{}, module), engine.Close()); err != nil {
		return nil, err
	}
	native, err := nativeFrames(dir)
	if err != nil {
		return nil, err
	}
	slots := countedFrames(module.Instrumented())
	if len(slots) != len(native) {
		return nil, fmt.Errorf("%d functions in the module, %d in machine code", len(slots), len(native))
	}
	for i, s := range slots {
		if s > 0 {
			frames = append(frames, Frame{s, native[i]})
		}
	}
	return frames, nil
}

// nativeFrames reads the machine code that the engine wrote to disk: wazero's magic, its version, the offsets of the
// functions, the code. Every function begins with push %rbp; mov %rsp, %rbp; sub $n, %rsp, where n is all the stack it
// may use, including that for calls and the stack check.
func nativeFrames(dir string) (sizes []int, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.code"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(err, errors.New("the engine left no machine code"))
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		at := bytes.Index(file, []byte("WAZEVO"))
		if at < 0 {
			return nil, errors.New("machine code of an unknown format")
		}
		file = file[at+6:]
		file = file[1+int(file[0]):]
		n := int(binary.LittleEndian.Uint32(file))
		offsets, code := file[4:4+8*n], file[4+8*n+8:]
		if len(files) > 1 && n < 2 {
			continue // a module with which the engine tests wazero
		}
		sizes = sizes[:0]
		for i := range n {
			entry := code[binary.LittleEndian.Uint64(offsets[8*i:]):]
			size, ok := entrySize(entry)
			if !ok {
				return nil, fmt.Errorf("function %d begins with % x", i, entry[:16])
			}
			sizes = append(sizes, size)
		}
	}
	return sizes, nil
}

func entrySize(code []byte) (int, bool) {
	if code[0] != 0x55 || code[1] != 0x48 {
		return 0, false
	}
	switch code = code[4:]; {
	case bytes.HasPrefix(code, []byte{0x48, 0x83, 0xEC}):
		return int(code[3]), true
	case bytes.HasPrefix(code, []byte{0x48, 0x81, 0xEC}):
		return int(binary.LittleEndian.Uint32(code[3:])), true
	}
	return 0, false
}

// countedFrames returns the slots that each function of an instrumented module reserves at its entry, or 0 for none.
func countedFrames(module []byte) (slots []int) {
	number := func() int {
		n, size := binary.Uvarint(module)
		module = module[size:]
		return int(n)
	}
	for module = module[8:]; len(module) > 0; {
		id := module[0]
		module = module[1:]
		size := number()
		if id != 10 {
			module = module[size:]
			continue
		}
		for range number() {
			size := number()
			rest := module[size:]
			for range number() { // locals
				number()
				module = module[1:]
			}
			frame := 0
			if module[0] == 0x23 /* global.get */ {
				module = module[1:]
				number()
				if n := signed(module[1:]); n>>32 == 1 { // one frame, in the upper half, and its slots
					frame = int(uint32(n))
				}
			}
			slots, module = append(slots, frame), rest
		}
	}
	return slots
}

// signed reads a signed LEB128 number.
func signed(b []byte) (v int64) {
	for i := 0; ; i++ {
		v |= int64(b[i]&0x7F) << (7 * i)
		if b[i] < 0x80 {
			if shift := 7 * (i + 1); shift < 64 && b[i]&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}
