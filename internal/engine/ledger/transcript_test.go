package ledger

import (
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// spoken is an engine whose codes act as the test says.
type spoken struct {
	vm.Engine
	codes map[types.CodeHash]func(host vm.Host, gas *vm.Gas) vm.Exit
}

func (s spoken) Run(hash types.CodeHash, _ *vm.Module, _ string, host vm.Host, gas *vm.Gas) (vm.Exit, error) {
	return s.codes[hash](host, gas), nil
}

// nesting is a host that reads its arguments, and calls a code if they say so.
type nesting struct {
	vm.Host
	engine vm.Engine
	callee types.CodeHash
}

func (n nesting) Invoke(function vm.Function, memory vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	memory.Range(uint32(stack[0]), 4)
	if function == vm.Call {
		return n.engine.Run(n.callee, nil, "f", n, gas)
	}
	return vm.Returned, nil
}

// One code calls another and then emits something. Where two engines differ, the code that one of them runs wrongly is
// reported, and not its caller or a code that gets its result later.
func TestWhichCodeIsRunWrongly(t *testing.T) {
	outer, inner := types.CodeHash{1}, types.CodeHash{2}
	type words struct {
		before, called, after byte   // the transcript of the codes
		stack, gas            uint64 // additional interactions of the inner code
		exit                  vm.Exit
	}
	run := func(w words, twice bool) *transcript {
		e := newTranscript(spoken{codes: map[types.CodeHash]func(vm.Host, *vm.Gas) vm.Exit{
			outer: func(h vm.Host, gas *vm.Gas) vm.Exit {
				_, _ = h.Invoke(vm.Call, page{w.before, 0, 0, 0}, make([]uint64, 8), gas)
				_, _ = h.Invoke(vm.ReturnData, page{w.after, 0, 0, 0}, []uint64{0, 4}, gas)
				return vm.Returned
			},
			inner: func(h vm.Host, gas *vm.Gas) vm.Exit {
				_, _ = h.Invoke(vm.ReturnData, page{w.called, 0, 0, 0}, []uint64{w.stack, 4}, gas)
				gas.Left -= w.gas
				return w.exit
			},
		}})
		for range 1 + map[bool]int{true: 1}[twice] {
			if _, err := e.Run(outer, nil, "f", nesting{engine: e, callee: inner}, &vm.Gas{Left: 100}); err != nil {
				t.Fatal(err)
			}
		}
		return e
	}
	right, all := words{before: 1, called: 2, after: 3}, []types.CodeHash{outer, inner}
	for name, test := range map[string]struct {
		change func(*words)
		want   []types.CodeHash
	}{
		"nothing":                     {func(*words) {}, all},
		"what it calls with":          {func(w *words) { w.before++ }, all[:1]},
		"what is returned":            {func(w *words) { w.called++; w.after++ }, all[1:]},
		"what is made of it":          {func(w *words) { w.after++ }, all[:1]},
		"gas":                         {func(w *words) { w.gas++ }, all[1:]},
		"the exit":                    {func(w *words) { w.exit = vm.Trapped }, all[1:]},
		"bits that nobody reads":      {func(w *words) { w.stack = 1 << 32 }, all},
		"these, and something beside": {func(w *words) { w.stack = 1 << 32; w.after++ }, all[:1]},
	} {
		other := right
		test.change(&other)
		if got := run(right, false).differing(run(other, false)); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
	if got := run(right, true).differing(run(right, false)); !slices.Equal(got, all[:1]) {
		t.Errorf("the other ended before: got %v, want %v", got, all[:1])
	}
	if got := run(right, false).differing(run(right, true)); !slices.Equal(got, all[:1]) {
		t.Errorf("the other goes on: got %v, want %v", got, all[:1])
	}
	if got := run(right, false).differing(nil); !slices.Equal(got, all) {
		t.Errorf("no other: got %v, want %v", got, all)
	}
	full := newTranscript(nil)
	for range mostNotes + 1 {
		full.note(0, nil)
	}
	if len(full.notes) != mostNotes {
		t.Errorf("got %d notes, want %d", len(full.notes), mostNotes)
	}
}
