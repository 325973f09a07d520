package trace_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/types"
)

// longCause has the maximum length of a cause.
var longCause = vm.Cause{Name: "event_name_size_and_more", Limit: math.MaxUint32}

// answerBytes returns the length of a node's encoded answer with the trace.
func answerBytes(t *testing.T, shown *api.Trace) int {
	t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(map[string]any{"jsonrpc": "2.0", "id": uint64(math.MaxUint64), "result": shown}); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

// TestTraceOfEndlessDebug: a contract that prints control characters until its gas is used up fills the trace, and no
// more.
func TestTraceOfEndlessDebug(t *testing.T) {
	for _, message := range [][]byte{
		make([]byte, 1024), bytes.Repeat([]byte("x"), 1024), bytes.Repeat([]byte{0xff, 1}, 512),
	} {
		tracer := trace.New()
		tracer.Enter(exec.CallInfo{Function: "run"})
		tracer.Enter(exec.CallInfo{Function: "inner"})
		for range 20_000 {
			tracer.Debug(message)
		}
		tracer.Exit(exec.Success, vm.Cause{}, nil, 1)
		tracer.Exit(exec.Success, vm.Cause{}, nil, 1)
		shown := tracer.Trace(1, exec.Success)
		got := answerBytes(t, shown)
		if least := api.MaxPageBytes - 512<<10; got > api.MaxPageBytes || got < least {
			t.Errorf("debug of %d bytes %.2x: got an answer of %d bytes, want %d to %d",
				len(message), message, got, least, api.MaxPageBytes)
		}
		if !shown.Truncated || len(shown.Root.Calls) != 1 || len(shown.Root.Calls[0].Debug) == 0 {
			t.Errorf("got truncated %t and %d calls, want the inner call with what it said first, truncated",
				shown.Truncated, len(shown.Root.Calls))
		}
	}
}

// TestTraceOfDeepCalls: nested calls with the longest arguments and results stay within the bound too.
func TestTraceOfDeepCalls(t *testing.T) {
	const depth = 32
	tracer, long := trace.New(), make([]byte, types.MaxArgsBytes)
	for range depth {
		tracer.Enter(exec.CallInfo{
			Function: string(make([]byte, types.MaxFunctionBytes)), Args: long, Gas: math.MaxUint64,
		})
		for f := range vm.Functions {
			tracer.Host(vm.Function(f), math.MaxUint64)
		}
	}
	for range depth {
		tracer.Exit(exec.Trap, longCause, long, math.MaxUint64)
	}
	shown := tracer.Trace(math.MaxUint64, exec.Trap)
	if got := answerBytes(t, shown); got > api.MaxPageBytes {
		t.Errorf("got an answer of %d bytes, want at most %d", got, api.MaxPageBytes)
	}
	if shown.Root == nil || !shown.Truncated {
		t.Errorf("got root %v, truncated %t; want the root of a truncated trace", shown.Root, shown.Truncated)
	}
}

// TestTraceOfBatch: each step's call is shown, and the gas adds up.
func TestTraceOfBatch(t *testing.T) {
	tracer := trace.New()
	tracer.Charge(exec.Intrinsic, 100)
	for i := range 3 {
		tracer.Charge(exec.CallPrice, 10)
		tracer.Enter(exec.CallInfo{Function: string(rune('a' + i))})
		tracer.Charge(exec.Instructions, types.Gas(i))
		tracer.Exit(exec.Success, vm.Cause{}, nil, types.Gas(i))
	}
	shown := tracer.Trace(133, exec.Success)
	if shown.Root == nil || shown.Root.Function != "a" || len(shown.Further) != 2 ||
		shown.Further[0].Function != "b" || shown.Further[1].GasUsed != 2 || shown.Parts["call"] != 30 || shown.Truncated {
		t.Errorf("got %+v", shown)
	}
	if shown := trace.New().Trace(0, exec.Success); shown.Root != nil || shown.Further == nil {
		t.Errorf("a transaction without calls has %+v", shown)
	}
}

// TestTraceOfManySteps: a batch of calls with the longest arguments stays within the bound.
func TestTraceOfManySteps(t *testing.T) {
	tracer, long := trace.New(), make([]byte, types.MaxArgsBytes)
	for range types.MaxBatchSteps {
		tracer.Enter(exec.CallInfo{Function: string(make([]byte, types.MaxFunctionBytes)), Args: long, Gas: math.MaxUint64})
		tracer.Exit(exec.Success, vm.Cause{}, long, math.MaxUint64)
	}
	shown := tracer.Trace(math.MaxUint64, exec.Success)
	if got := answerBytes(t, shown); got > api.MaxPageBytes || !shown.Truncated || len(shown.Further) == 0 {
		t.Errorf("got an answer of %d bytes with %d further calls, truncated %t", got, len(shown.Further), shown.Truncated)
	}
}

// FuzzTraceBound makes the events of a transaction in an order that the input chooses. The trace is never longer than a
// page, and complete unless it says that it is truncated.
func FuzzTraceBound(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x01\x02\x03\x04\x05"), []byte("plain"))
	f.Add(uint64(2), []byte{2, 4, 4, 4, 4, 4, 4}, []byte{0, 0x1f, 0xff, 0xc0, '"', '\\', 0xe2, 0x80, 0xa8})
	f.Add(uint64(3), bytes.Repeat([]byte{2, 3, 4, 5, 0}, 40), []byte("\x01"))
	f.Fuzz(func(t *testing.T, seed uint64, steps, text []byte) {
		r := rand.New(rand.NewPCG(seed, seed))
		tracer, depth, did := trace.New(), 1, 0
		some := func(most int) []byte { return bytes.Repeat(text, r.IntN(1+most/max(1, len(text)))) }
		tracer.Enter(exec.CallInfo{Args: some(types.MaxArgsBytes)})
		for range 1 + r.IntN(20) {
			for _, step := range steps {
				switch step % 6 {
				case 0:
					if depth > 1 {
						tracer.Exit(exec.Trap, longCause, some(types.MaxArgsBytes), types.Gas(r.Uint64()))
						depth--
					}
				case 1:
					tracer.Charge(exec.Part(r.IntN(int(exec.Parts))), types.Gas(r.Uint64()))
					tracer.Host(vm.Function(r.IntN(len(vm.Functions))), types.Gas(r.Uint64()))
				case 2:
					if depth < 32 {
						tracer.Enter(exec.CallInfo{
							Function: string(some(types.MaxFunctionBytes)), Args: some(types.MaxArgsBytes),
						})
						depth, did = depth+1, did+1
					}
				case 3:
					tracer.Storage(some(types.MaxStorageKeyBytes), some(types.MaxStorageValueBytes), some(100))
					did++
				case 4:
					tracer.Debug(some(1024))
					did++
				case 5:
					tracer.Event(types.Log{
						Name:   string(some(types.MaxLogNameBytes)),
						Topics: make([][32]byte, r.IntN(4)),
						Data:   some(types.MaxLogDataBytes),
					})
					did++
				}
			}
		}
		for ; depth > 0; depth-- {
			tracer.Exit(exec.Success, vm.Cause{}, some(types.MaxArgsBytes), types.Gas(r.Uint64()))
		}
		shown := tracer.Trace(math.MaxUint64, exec.Success)
		if got := answerBytes(t, shown); got > api.MaxPageBytes {
			t.Errorf("got an answer of %d bytes, want at most %d", got, api.MaxPageBytes)
		}
		if got := items(shown.Root); !shown.Truncated && got != did {
			t.Errorf("got %d items that were not truncated, want %d", got, did)
		}
	})
}

// items counts the items in the lists of a call and of those below it.
func items(c *api.TraceCall) int {
	n := len(c.Storage) + len(c.Events) + len(c.Debug) + len(c.Calls)
	for i := range c.Calls {
		n += items(&c.Calls[i])
	}
	return n
}
