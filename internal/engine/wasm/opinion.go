package wasm

import (
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Fresh is the same engine with every call in an instance of its own, nested calls too. What they leave is closed after
// them. The results are the same; if they are not, the engine has a fault.
func (e *Engine) Fresh() vm.Engine { return fresh{e} }

type fresh struct{ *Engine }

// Run is [vm.Engine].Run.
func (f fresh) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	return f.call(hash, module, function, host, gas, true)
}

// Interpreter is an engine that shares nothing with this one and runs modules in wazero's interpreter, slowly. It is
// made when it is asked for first, and closed with this one.
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
