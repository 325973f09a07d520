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

// restore returns a module and its machine code from its record, or nil if this program wrote none.
func (e *Engine) restore(hash types.CodeHash) (module *vm.Module, machine []byte) {
	r, ok := e.loadRecord(hash)
	if !ok || r.program != e.program {
		return nil, nil
	}
	module, err := vm.DecodeModule(r.module)
	if err != nil {
		e.opts.Log.Error("the cached metadata of a module is invalid", "code", hash, "error", err)
		return nil, nil
	}
	return module, r.machine
}

func (e *Engine) loadRecord(hash types.CodeHash) (r record, ok bool) {
	if e.files == nil || e.opts.Interpreter {
		return r, false
	}
	return decodeRecord(e.files.load(hash))
}

// machineOf returns the machine code of a module from its record, or compiles and records it.
func (e *Engine) machineOf(hash types.CodeHash, module *vm.Module) (machine []byte, loaded bool, err error) {
	old, ok := e.loadRecord(hash)
	if module.Instrumented() == nil { // the module came from a record
		if !ok || old.program != e.program {
			return nil, false, errors.New("the cached data of a module was lost while in use")
		}
		return old.machine, true, nil
	}
	code := compilable(module.Instrumented())
	r := record{program: e.program, rewritten: sha256.Sum256(code), module: module.Encode()}
	if loaded = ok && old.rewritten == r.rewritten; loaded {
		if old.program == r.program {
			return old.machine, true, nil
		}
		r.machine = old.machine
	} else {
		made, err := compileMachine(code)
		if err != nil {
			return nil, false, err
		}
		r.machine = made.machine
	}
	if e.files != nil {
		e.files.store(hash, r.encode())
	}
	return r.machine, loaded, nil
}
