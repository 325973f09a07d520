package wasm

import (
	"crypto/sha256"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// hostFunc serves host functions; a nil one serves only those without effects.
type hostFunc func(f vm.Function, m vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error)

// host is a chain of which only the parts for the engine are real.
type host struct {
	serve  hostFunc
	grows  func(pages uint32) bool // nil: always
	goesOn func() error            // nil: always
	called int
}

func (h *host) Invoke(f vm.Function, m vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	h.called++
	if h.serve == nil {
		return vm.Returned, nil
	}
	return h.serve(f, m, stack, gas)
}

func (h *host) Grow(_ vm.Memory, pages uint32) bool { return h.grows == nil || h.grows(pages) }

func (h *host) Continue() error {
	if h.goesOn == nil {
		return nil
	}
	return h.goesOn()
}

func newEngine(t testing.TB, opts Options) *Engine {
	t.Helper()
	e, err := open(opts, "build") // a test program has no build information, which names the wazero it was built with
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// contract is a checked guest.
type contract struct {
	hash   types.CodeHash
	module *vm.Module
}

func (e *Engine) load(t testing.TB, g *guest) contract {
	t.Helper()
	code := g.binary()
	hash := types.CodeHash(sha256.Sum256(code))
	m, err := e.Module(hash, func() ([]byte, error) { return code, nil })
	if err != nil {
		t.Fatalf("module of %x: %v", code, err)
	}
	return contract{hash, m}
}

// run calls a function with an amount of gas, and returns the exit and the remaining gas.
func (e *Engine) run(t testing.TB, c contract, function string, h vm.Host, gas uint64) (vm.Exit, uint64) {
	t.Helper()
	left := vm.Gas{Left: gas}
	exit, err := e.Run(c.hash, c.module, function, h, &left)
	if err != nil {
		t.Fatal(err)
	}
	return exit, left.Left
}

// engines are all ways to run a module. A call sees and does the same in each.
func engines(t testing.TB) map[string]*Engine {
	everything := map[string]*Engine{
		"pooled":              newEngine(t, Options{}),
		"fresh":               newEngine(t, Options{Fresh: true}),
		"interpreter":         newEngine(t, Options{Interpreter: true}),
		"page table unknown":  newEngine(t, Options{}),
		"machine code loaded": newEngine(t, Options{Dir: t.TempDir(), Codes: 1}),
	}
	everything["page table unknown"].hidePageTable()
	return everything
}

func (e *Engine) hidePageTable() {
	if e.regions.written != nil {
		e.regions.written.close()
		e.regions.written = nil
	}
}
