package aside

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Watch is an engine whose failures are told from those of what it asks, noted in the book, and returned as a
// [*vm.Fault]. A panic is one. Codes in quarantine run all the same.
func (b *Book) Watch(e vm.Engine) vm.Engine { return watched{engine: e, book: b} }

// Divert is [Book.Watch] of an engine for a block that is there: what is in quarantine now runs in another, which is
// only asked for if there is something.
func (b *Book) Divert(e vm.Engine, other func() (vm.Engine, error)) (vm.Engine, error) {
	quarantined := b.List()
	if len(quarantined) == 0 {
		return b.Watch(e), nil
	}
	o, err := other()
	if err != nil {
		return nil, err
	}
	return diverting{b.Watch(e), b.Watch(o), quarantined}, nil
}

// Refuse is [Book.Watch] of an engine that is for what this node may leave: a code in quarantine gives a [*vm.Fault] of
// [ErrQuarantined], which is not noted again.
func (b *Book) Refuse(e vm.Engine) vm.Engine { return refusing{watched{engine: e, book: b}} }

// Spare is [Book.Refuse] of an engine that runs codes in another form than blocks do: it notes nothing, since its
// failures say nothing of blocks.
func (b *Book) Spare(e vm.Engine) vm.Engine {
	return refusing{watched{engine: e, book: b, spares: true}}
}

type watched struct {
	engine vm.Engine
	book   *Book
	spares bool // notes nothing
}

type refusing struct{ watched }

// diverting keeps to what was in quarantine when a block began: an engine may not run a module that another has loaded.
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
func (w watched) Module(hash types.CodeHash, code func() ([]byte, error)) (module *vm.Module, err error) {
	var own error // of code
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
func (w watched) Compile(hash types.CodeHash, module *vm.Module) error {
	return w.guard(hash, "", new(error), func() error { return w.engine.Compile(hash, module) })
}

// Run implements [vm.Engine].
func (w watched) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (exit vm.Exit, err error) {
	h := &watchedHost{Host: host}
	err = w.guard(hash, function, &h.own, func() (err error) {
		exit, err = w.engine.Run(hash, module, function, h, gas)
		return err
	})
	return exit, err
}

// guard does something with the engine. An error is the engine's unless own, what the engine asked others for, has one.
func (w watched) guard(hash types.CodeHash, function string, own *error, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		} else if err == nil || *own != nil || errors.Is(err, vm.ErrClosed) {
			return
		}
		fault := &vm.Fault{Code: hash, Function: function, Err: err}
		if !w.spares {
			w.book.failed(fault)
		}
		err = fault
	}()
	return do()
}

// watchedHost keeps the error that the host gave: the engine is not to blame for it. A panic of the host gives none.
type watchedHost struct {
	vm.Host
	own error
}

// Invoke implements [vm.Host].
func (h *watchedHost) Invoke(function vm.Function, memory vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	exit, err := h.Host.Invoke(function, memory, stack, gas)
	if err != nil {
		h.own = err
	}
	return exit, err
}

// Continue implements [vm.Host].
func (h *watchedHost) Continue() error {
	err := h.Host.Continue()
	if err != nil {
		h.own = err
	}
	return err
}

// Module implements [vm.Engine].
func (r refusing) Module(hash types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	if r.book.Quarantined(hash) {
		return nil, &vm.Fault{Code: hash, Err: ErrQuarantined}
	}
	return r.watched.Module(hash, code)
}

// Compile implements [vm.Engine].
func (r refusing) Compile(hash types.CodeHash, module *vm.Module) error {
	if r.book.Quarantined(hash) {
		return &vm.Fault{Code: hash, Err: ErrQuarantined}
	}
	return r.watched.Compile(hash, module)
}
