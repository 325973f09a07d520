package wasm

import (
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Fresh returns a view of the engine that runs every call in a new instance, including nested calls, and closes it
// afterwards. The results are the same; otherwise the engine has a fault.
func (e *Engine) Fresh() vm.Engine { return fresh{e} }

type fresh struct{ *Engine }

// Run implements [vm.Engine].
func (f fresh) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	return f.call(hash, module, function, host, gas, true)
}

// Interpreter returns an engine that shares nothing with this one and runs modules in wazero's interpreter, slowly. It
// is created by the first call, and closed with this engine.
func (e *Engine) Interpreter() (vm.Engine, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if e.interpreter == nil {
		interpreter, err := New(Options{Interpreter: true, Codes: 64, Bytes: e.opts.Bytes, Log: e.opts.Log})
		if err != nil {
			return nil, err
		}
		e.interpreter = interpreter
	}
	return e.interpreter, nil
}
