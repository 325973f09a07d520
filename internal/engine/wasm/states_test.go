package wasm

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// statesCorpus are modules, random, hostile and real.
func statesCorpus(t *testing.T) map[string][]byte {
	codes := map[string][]byte{
		"hostile": wasmgen.Hostile(false).Encode(), "deep": deepGuest(opReturn).binary(),
		"deep trap": deepGuest(opUnreachable).binary(),
		"table": (&guest{pages: 1, table: []int{1, 0, 2}, functions: []guestFunction{
			{export: "run", body: seq(
				i32(1), callTable(), i32(0), callTable(),
			)}, {params: 1}, {params: 30, result: true, body: i32(1)},
		}}).binary(),
		"empty table": (&guest{pages: 1, table: []int{}, functions: []guestFunction{
			{export: "run", body: seq(i32(0), callTable())}, {params: 1},
		}}).binary(),
	}
	for seed := range uint64(40) {
		codes[fmt.Sprintf("random %d", seed)] = wasmgen.Random(rand.New(rand.NewPCG(seed, 14))).Encode()
	}
	for _, bomb := range wasmgen.Bombs(2048, 4096) {
		codes["bomb: "+bomb.Name] = bomb.Code
	}
	for _, name := range []string{"nep20", "as-nep20", "pool"} {
		codes[name] = readContract(t, name)
	}
	for name, code := range codes {
		if m, err := vm.Check(code); err != nil || m.DeployGas() > 50_000_000 { // others take long to compile
			delete(codes, name)
		}
	}
	return codes
}

// statesHost answers each host function with its own number, and records its arguments.
func statesHost() (*host, *[]byte) {
	h, trace := &host{}, &[]byte{}
	h.grows = func(pages uint32) bool { return pages < 6 }
	h.serve = func(f vm.Function, m vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
		row := vm.Functions[f]
		all, ok := m.Range(0, m.Pages()*wasmPage)
		if !ok {
			return 0, errors.New("the whole memory is outside")
		}
		sum := sha256.Sum256(all)
		*trace = append(append(*trace, byte(f)), sum[:]...)
		for i, p := range row.Params {
			if p == vm.I32 {
				stack[i] = uint64(uint32(stack[i]))
			}
			*trace = binary.BigEndian.AppendUint64(*trace, stack[i])
		}
		*trace = binary.BigEndian.AppendUint64(*trace, gas.Left)
		if !gas.Take(100) {
			return vm.OutOfGas, nil
		}
		if h.called == 6 {
			return vm.Reverted, nil
		}
		if row.Result != 0 {
			stack[0] = uint64(h.called)
		}
		return vm.Returned, nil
	}
	return h, trace
}

// The effects of a call depend only on the code, the function, the gas and the host, and not on earlier calls in the
// instance or the engine, the source of the machine code, or the caller.
func TestSameFromEveryState(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	disk := newEngine(t, Options{Dir: t.TempDir(), Codes: 8})
	beside := func(o Options) *Engine {
		e, err := disk.Beside(o)
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
	pooled, short := beside(Options{}), beside(Options{})
	short.stacks.close()
	short.stacks.size, short.stacks.closed = 8<<10, false
	stops := 0
	noting := newEngine(t, Options{Fresh: true, Stopped: func(_ types.CodeHash, at []vm.Place) {
		if len(at) > 0 {
			stops++
		}
	}})
	engines := map[string]vm.Engine{
		"noting":        noting,
		"fresh":         beside(Options{Fresh: true}),
		"disk":          disk,
		"pooled":        pooled,
		"pooled, fresh": pooled.Fresh(),
		"short stacks":  short,
		"compiled now":  newEngine(t, Options{}),
		"interpreter":   newEngine(t, Options{Interpreter: true}),
	}
	codes := statesCorpus(t)
	calls := statesCalls(codes)
	type outcome struct {
		exit  vm.Exit
		left  uint64
		trace string
	}
	want := map[statesCall]outcome{}
	exits := map[vm.Exit]int{}
	for _, name := range []string{
		"fresh", "disk", "pooled", "pooled, fresh", "short stacks", "compiled now", "interpreter", "noting",
	} {
		order := rand.New(rand.NewPCG(uint64(len(name)), 15))
		for range 2 {
			order.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
			for _, c := range calls {
				code := codes[c.module]
				hash := types.CodeHash(sha256.Sum256(code))
				m, err := engines[name].Module(hash, func() ([]byte, error) { return code, nil })
				if err != nil {
					t.Fatal(err)
				}
				h, trace := statesHost()
				gas := vm.Gas{Left: 100_000}
				exit, err := engines[name].Run(hash, m, c.function, h, &gas)
				if err != nil {
					t.Fatalf("%s: %v of %s: %v", name, c.function, c.module, err)
				}
				got := outcome{exit, gas.Left, string(*trace)}
				if _, ok := want[c]; !ok {
					want[c] = got
					exits[exit]++
				}
				if got != want[c] {
					t.Errorf("%s: %s of %s: exit %d with %d gas left and %d bytes of trace, first exit %d with %d and %d",
						name, c.function, c.module, exit, gas.Left, len(*trace), want[c].exit, want[c].left, len(want[c].trace))
				}
			}
		}
	}
	for _, exit := range []vm.Exit{vm.Returned, vm.Reverted, vm.Trapped, vm.OutOfGas, vm.StackOverflow} {
		if exits[exit] == 0 {
			t.Errorf("no call ended with exit %d", exit)
		}
	}
	if failed := 2 * (len(want) - exits[vm.Returned]); stops < failed*9/10 {
		t.Errorf("of %d calls that failed it is told where %d stood", failed, stops)
	}
	d, p := disk.Stats(), pooled.Stats()
	if d.Loaded == 0 || p.Reused == 0 || p.Loaded != p.Compiled || short.Stats().Deeper == 0 {
		t.Errorf("disk: %+v\npooled: %+v", d, p)
	}
}

type statesCall struct{ module, function string }

// statesCalls are the calls of a corpus.
func statesCalls(codes map[string][]byte) (calls []statesCall) {
	for module, code := range codes {
		m, err := vm.Check(code)
		if err != nil {
			continue
		}
		for _, function := range []string{"run", "init", "loop", "recurse", "mutual", "indirect", "wide", "grow", "growAll",
			"storage", "events",
			"output", "name", "symbol", "balanceOf", "transfer"} {
			if m.Callable(function) || function == vm.InitFunction && m.HasInit() {
				calls = append(calls, statesCall{module, function})
			}
		}
	}
	slices.SortFunc(calls, func(a, b statesCall) int {
		return cmp.Or(cmp.Compare(a.module, b.module), cmp.Compare(a.function, b.function))
	})
	return calls
}
