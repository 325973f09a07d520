package wasm

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// deepGuest recurses through 300 wide frames.
func deepGuest(end int) *guest {
	wide := seq()
	for range 40 {
		wide = seq(wide, get(0))
	}
	for range 39 {
		wide = seq(wide, opI32Add)
	}
	return &guest{pages: 1, functions: []guestFunction{
		{export: "run", body: seq(i32(300), call(1))},
		{params: 1, locals: 40, body: seq(wide, set(1), get(0), opI32Eqz, opIf, noResult, end, opEnd,
			get(0), i32(1), opI32Sub, call(1), get(1), set(2))},
	}}
}

// ownStacks are the sizes of the stacks that wazero keeps for idle instances.
func (e *Engine) ownStacks() (sizes []int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for element := e.recent.Front(); element != nil; element = element.Next() {
		for _, i := range element.Value.(*code).idle {
			for _, entry := range i.entries {
				small := make([]byte, 64)
				own := e.stacks.fields.set(entry.function, small)
				e.stacks.fields.set(entry.function, own)
				sizes = append(sizes, len(own))
			}
		}
	}
	return sizes
}

// A call leaves no deep stack in its instance, however it ended.
func TestStacksAreGivenBack(t *testing.T) {
	e := newEngine(t, Options{})
	for end, want := range map[int]vm.Exit{opReturn: vm.Returned, opUnreachable: vm.Trapped} {
		c := e.load(t, deepGuest(end))
		for range 2 {
			if exit, _ := e.run(t, c, "run", &host{}, enough); exit != want {
				t.Fatalf("exit %d, want %d", exit, want)
			}
		}
	}
	if sizes := e.ownStacks(); len(sizes) != 2 || sizes[0] > 10<<10 || sizes[1] > 10<<10 {
		t.Errorf("stacks of %d bytes are kept", sizes)
	}
	if s := e.Stats(); s.Deeper != 0 || s.Reused != 2 || len(e.stacks.free) != 1 {
		t.Errorf("%d stacks are free after %+v", len(e.stacks.free), s)
	}
}

// A call that needs more stack than the rules of metering allow has the same outcome as with enough stack, and is
// reported.
func TestStackTooSmall(t *testing.T) {
	for end, want := range map[int]vm.Exit{opReturn: vm.Returned, opUnreachable: vm.Trapped} {
		var log bytes.Buffer
		e := newEngine(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		other := newEngine(t, Options{Fresh: true})
		e.stacks.close()
		e.stacks.size, e.stacks.closed = 8<<10, false
		c := e.load(t, deepGuest(end))
		_, wantLeft := other.run(t, other.load(t, deepGuest(end)), "run", &host{}, enough)
		for range 3 {
			if exit, left := e.run(t, c, "run", &host{}, enough); exit != want || left != wantLeft {
				t.Errorf("exit %d with %d gas left, want %d with %d", exit, left, want, wantLeft)
			}
		}
		if s := e.Stats(); s.Deeper != 3 || strings.Count(log.String(), "level=ERROR") != 1 || other.Stats().Deeper != 0 {
			t.Errorf("%d calls counted, log:\n%s", s.Deeper, &log)
		}
		if sizes := e.ownStacks(); len(sizes) != 1 || sizes[0] > 10<<10 {
			t.Errorf("stacks of %d bytes are kept", sizes)
		}
	}
}

// The engine keeps as many stacks as one execution uses at once.
func TestStacksAreBounded(t *testing.T) {
	e := newEngine(t, Options{})
	c := e.load(t, &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
		{export: "run", body: seq(i32(0), i32(0), call(0))}}})
	const depth = keptStacks + 8
	h, below := &host{}, depth
	h.serve = func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
		if below--; below == 0 {
			return vm.Returned, nil
		}
		return e.Run(c.hash, c.module, "run", h, gas)
	}
	if exit, _ := e.run(t, c, "run", h, enough); exit != vm.Returned || len(e.stacks.free) != keptStacks {
		t.Errorf("exit %d, want %d, %d stacks are kept, want %d", exit, vm.Returned, len(e.stacks.free), keptStacks)
	}
	if err := e.Close(); err != nil || len(e.stacks.free) != 0 {
		t.Errorf("%d stacks are kept by a closed engine, error %v", len(e.stacks.free), err)
	}
}
