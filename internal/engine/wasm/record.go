package wasm

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// record is the cache's content for a code: enough to run it without reading the code.
type record struct {
	// program is the hash of the program that wrote the record. Another program's rules or prices may differ. That
	// program uses only the machine code, and only if it rewrites the module to the same bytes.
	program   [32]byte
	rewritten [32]byte // hash of the compiled bytes: see compilable
	module    []byte   // vm.Module.Encode
	machine   []byte   // in wazero's format
	buffer    *[]byte  // the slices are in it, unless it is nil
}

// free gives the record's memory to later ones.
func (r *record) free() {
	if r.buffer != nil {
		fileBuffers.Put(r.buffer)
	}
}

const recordPrefix = 32 + 32 + 4

func (r *record) encode() []byte {
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(r.module)))
	return slices.Concat(r.program[:], r.rewritten[:], length, r.module, r.machine)
}

// decodeRecord decodes a record, whose slices alias b.
func decodeRecord(b []byte) (r record, ok bool) {
	if len(b) < recordPrefix {
		return r, false
	}
	n := binary.LittleEndian.Uint32(b[64:])
	if uint64(len(b)-recordPrefix) < uint64(n) {
		return r, false
	}
	return record{
		program: [32]byte(b[:32]), rewritten: [32]byte(b[32:64]), module: b[recordPrefix : recordPrefix+
			n], machine: b[recordPrefix+n:],
	}, true
}

// restore returns a module and its record. It returns nil, and no machine code, if this program wrote none.
func (e *Engine) restore(hash types.CodeHash) (module *vm.Module, r record) {
	r, ok := e.loadRecord(hash)
	if !ok || r.program != e.program {
		return nil, record{buffer: r.buffer}
	}
	module, err := vm.DecodeModule(r.module)
	if err != nil {
		e.opts.Log.Error("the cached metadata of a module is invalid", "code", hash, "error", err)
		return nil, record{buffer: r.buffer}
	}
	return module, r
}

func (e *Engine) loadRecord(hash types.CodeHash) (r record, ok bool) {
	if e.files == nil || e.opts.Interpreter {
		return r, false
	}
	content, buffer := e.files.load(hash)
	r, ok = decodeRecord(content)
	r.buffer = buffer
	return r, ok
}

// machineOf returns a record with the machine code of a module, which it loads, or compiles and stores.
func (e *Engine) machineOf(hash types.CodeHash, module *vm.Module) (r record, loaded bool, err error) {
	old, ok := e.loadRecord(hash)
	if module.Instrumented() == nil { // the module came from a record
		if !ok || old.program != e.program {
			return r, false, errors.New("the cached data of a module was lost while in use")
		}
		return old, true, nil
	}
	code := compilable(module.Instrumented())
	r = record{program: e.program, rewritten: sha256.Sum256(code), module: module.Encode()}
	if loaded = ok && old.rewritten == r.rewritten; loaded {
		if old.program == r.program {
			return old, true, nil
		}
		r.machine, r.buffer = old.machine, old.buffer
	} else {
		made, err := compileMachine(code)
		if err != nil {
			return r, false, err
		}
		r.machine = made.machine
	}
	if e.files != nil {
		e.files.store(hash, r.encode())
	}
	return r, loaded, nil
}
