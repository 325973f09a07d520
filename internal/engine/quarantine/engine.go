package quarantine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Guard returns e with its failures, panics included, quarantined and returned as a [*vm.Fault]. Errors of the host are
// not failures. Quarantined code still runs.
func (l *List) Guard(e vm.Engine) vm.Engine { return guarded{engine: e, list: l} }

// Divert is [List.Guard] for executing a received block: code that is in quarantine now runs in another engine. other is
// called only if there is such code.
func (l *List) Divert(e vm.Engine, other func() (vm.Engine, error)) (vm.Engine, error) {
	quarantined := l.Codes()
	if len(quarantined) == 0 {
		return l.Guard(e), nil
	}
	o, err := other()
	if err != nil {
		return nil, err
	}
	return diverting{l.Guard(e), l.Guard(o), quarantined}, nil
}

// Deny is [List.Guard] for work that this node need not do, such as views and blocks that it makes: quarantined code
// gives a [*vm.Fault] of [ErrQuarantined].
func (l *List) Deny(e vm.Engine) vm.Engine { return denying{guarded{engine: e, list: l}} }

// DenyOnly is [List.Deny] without quarantining anything. It is for an engine that runs code in another form than blocks
// do, whose failures say nothing about blocks.
func (l *List) DenyOnly(e vm.Engine) vm.Engine {
	return denying{guarded{engine: e, list: l, denyOnly: true}}
}

type guarded struct {
	engine   vm.Engine
	list     *List
	denyOnly bool
}

type denying struct{ guarded }

// diverting uses the quarantine as it was when the block began, because an engine cannot run a module that another
// engine loaded.
type diverting struct {
	engine, other vm.Engine
	quarantined   map[types.CodeHash]Quarantined
}

func (d diverting) of(hash types.CodeHash) vm.Engine {
	if _, there := d.quarantined[hash]; there {
		return d.other
	}
	return d.engine
}

// Module implements [vm.Engine].
func (d diverting) Module(hash types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	return d.of(hash).Module(hash, code)
}

// Compile implements [vm.Engine].
func (d diverting) Compile(hash types.CodeHash, module *vm.Module) error {
	return d.of(hash).Compile(hash, module)
}

// Run implements [vm.Engine].
func (d diverting) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	return d.of(hash).Run(hash, module, function, host, gas)
}

// Module implements [vm.Engine].
func (w guarded) Module(hash types.CodeHash, code func() ([]byte, error)) (module *vm.Module, err error) {
	var own error // error of the function code
	err = w.guard(hash, "", &own, func() (err error) {
		module, err = w.engine.Module(hash, func() ([]byte, error) {
			var binary []byte
			binary, own = code()
			return binary, own
		})
		return err
	})
	return module, err
}

// Compile implements [vm.Engine].
func (w guarded) Compile(hash types.CodeHash, module *vm.Module) error {
	return w.guard(hash, "", new(error), func() error { return w.engine.Compile(hash, module) })
}

// Run implements [vm.Engine].
func (w guarded) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (exit vm.Exit, err error) {
	h := &guardedHost{Host: host}
	err = w.guard(hash, function, &h.own, func() (err error) {
		exit, err = w.engine.Run(hash, module, function, h, gas)
		return err
	})
	return exit, err
}

// guard calls do. A panic is the engine's fault. An error is too, unless own is set: then it is an error of the
// function or host that the engine called.
func (w guarded) guard(hash types.CodeHash, function string, own *error, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		} else if err == nil || *own != nil || errors.Is(err, vm.ErrClosed) {
			return
		}
		fault := &vm.Fault{Code: hash, Function: function, Err: err}
		if !w.denyOnly {
			w.list.failed(fault)
		}
		err = fault
	}()
	return do()
}

// guardedHost keeps the error of the host, for which the engine is not to blame. A panic of the host leaves none.
type guardedHost struct {
	vm.Host
	own error
}

// Invoke implements [vm.Host].
func (h *guardedHost) Invoke(function vm.Function, memory vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	exit, err := h.Host.Invoke(function, memory, stack, gas)
	if err != nil {
		h.own = err
	}
	return exit, err
}

// Continue implements [vm.Host].
func (h *guardedHost) Continue() error {
	err := h.Host.Continue()
	if err != nil {
		h.own = err
	}
	return err
}

// Module implements [vm.Engine].
func (r denying) Module(hash types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	if r.list.Quarantined(hash) {
		return nil, &vm.Fault{Code: hash, Err: ErrQuarantined}
	}
	return r.guarded.Module(hash, code)
}

// Compile implements [vm.Engine].
func (r denying) Compile(hash types.CodeHash, module *vm.Module) error {
	if r.list.Quarantined(hash) {
		return &vm.Fault{Code: hash, Err: ErrQuarantined}
	}
	return r.guarded.Compile(hash, module)
}
