package testkit

import (
	"bytes"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// attack is a call that takes all resources that it can get.
type attack struct {
	function string
	args     []byte
	reason   exec.Reason
	output   []byte
}

// attacks are calls of the first of two hostile contracts, a and b. Both allow re-entry; the contract alone does not.
func attacks(a, b, alone types.ContractID) []attack {
	code := func(n byte) []byte { return []byte{n, 0, 0, 0} }
	return []attack{
		{"loop", nil, exec.OutOfGas, nil},
		{"recurse", nil, exec.StackOverflow, nil},
		{"mutual", nil, exec.StackOverflow, nil},
		{"indirect", nil, exec.StackOverflow, nil},
		{"wide", nil, exec.StackOverflow, nil},
		{"grow", nil, exec.Success, nil},
		{"growAll", nil, exec.OutOfGas, nil},
		{"storage", nil, exec.OutOfGas, nil},
		{"bigStorage", nil, exec.OutOfGas, nil},
		{"events", nil, exec.Reverted, []byte("too many logs")},
		{"bigEvents", nil, exec.Reverted, []byte("too many logs")},
		{"output", nil, exec.OutOfGas, nil},
		{"relay", both(a, a), exec.Success, code(0)},     // the contract calls itself, down to the maximum depth
		{"relay", both(b, a), exec.Success, code(0)},     // two contracts call each other
		{"relay", both(alone, a), exec.Success, code(0)}, // a → alone → a → alone is refused
		// 2^32 calls: the callee runs out of gas, and the caller keeps a 64th
		{"fork", both(b, a), exec.Success, code(2)},
		{"growRelay", both(b, a), exec.Success, code(0)},  // 16 pages each, 256 in total
		{"arguments", both(b, a), exec.OutOfGas, nil},     // 64 KiB each time
		{"arguments", nil, exec.OutOfGas, nil},            // a call to an address without a contract
		{"sink", make([]byte, 64<<10), exec.Success, nil}, // the longest arguments
		{"nowhere", make([]byte, 64<<10), exec.NoSuchFunction, nil},
	}
}

const attackGas = 40_000_000

// TestHostileContracts lets contracts take time, stack, memory, storage, logs, arguments and calls without end. Every
// attack ends in the expected way and is billed, and its resources are released.
func TestHostileContracts(t *testing.T) {
	c := newContractChain(t, wasm.Options{})
	hostile, alone := wasmgen.Hostile(true).Encode(), wasmgen.Hostile(false).Encode()
	ids := c.deploy(0, hostile, hostile, alone)
	all := attacks(ids[0], ids[1], ids[2])
	attackOnce := func() {
		for _, a := range all {
			call := calling(ids[0], a.function, a.args, 0, attackGas)
			outcome, err := c.simulate(call, false)
			if err != nil {
				t.Fatalf("%s: error %v", a.function, err)
			}
			receipt := c.block(call).receipts[0]
			if outcome.Reason != a.reason || (receipt.Status == types.StatusSuccess) != (a.reason == exec.Success) {
				t.Errorf(
					"%s ended %q in a simulation and with status %d in a block, want %q", a.function, outcome.Reason,
					receipt.Status, a.reason,
				)
			}
			if takesAll(a.reason) && receipt.GasUsed != attackGas {
				t.Errorf("%s used %d gas, want all", a.function, receipt.GasUsed)
			}
			if !bytes.Equal(receipt.Output, a.output) || receipt.Status == types.StatusFailed && len(receipt.Logs) > 0 {
				t.Errorf("%s: output %x, %d logs", a.function, receipt.Output, len(receipt.Logs))
			}
		}
	}
	attackOnce()
	before := holdings(t)
	stats := c.engine.Stats()
	for range 2 {
		attackOnce()
	}
	after := holdings(t)
	if after.goroutines > before.goroutines || after.files > before.files || after.maps > before.maps+20 {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if now := c.engine.Stats(); now.Codes != stats.Codes || now.Idle > stats.Idle+4 || now.Bytes > stats.Bytes+64<<20 {
		t.Errorf("the engine held %+v, and after more of the same %+v", stats, now)
	}
	if r := c.block(calling(ids[0], "sink", nil, 0, 200_000)).receipts[0]; r.Status != types.StatusSuccess {
		t.Errorf("a well-behaved call afterwards: got %+v, want Status %v", r, types.StatusSuccess)
	}
}

func takesAll(r exec.Reason) bool {
	return r == exec.OutOfGas || r == exec.Trap || r == exec.StackOverflow
}

// held counts the resources that a process can leak.
type held struct{ goroutines, files, maps int }

// holdings counts the process's resources; files and maps are 0 without /proc.
func holdings(t *testing.T) (h held) {
	t.Helper()
	runtime.GC()
	h.goroutines = runtime.NumGoroutine()
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.files = len(entries)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		h.maps = bytes.Count(maps, []byte("\n"))
	}
	return h
}

// TestViewsThatTakeAllMemory runs concurrent views that grow instances to all the pages that a call stack may have: 64
// MiB per view.
func TestViewsThatTakeAllMemory(t *testing.T) {
	c := newContractChain(t, wasm.Options{Bytes: 32 << 20})
	hostile := wasmgen.Hostile(true).Encode()
	ids := c.deploy(0, hostile, hostile)
	call := calling(ids[0], "growRelay", both(ids[1], ids[0]), 0, attackGas)
	want, err := c.simulate(call, true)
	if err != nil || want.Reason != exec.Success {
		t.Fatalf("got %+v, error %v, want Reason %v", want, err, exec.Success)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 3 {
				got, err := c.simulate(call, true)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%+v, %v, want %+v", got, err, want)
				}
			}
		})
	}
	group.Wait()
	if s := c.engine.Stats(); s.Bytes > 40<<20 {
		t.Errorf("idle instances keep %d bytes", s.Bytes)
	}
	c.block(calling(ids[0], "sink", nil, 0, 200_000))
}

// hostImports is the host table as modules import it.
func hostImports() (imports []wasmgen.HostImport) {
	for _, f := range vm.Functions {
		imports = append(imports, wasmgen.HostImport{Name: f.Name, Params: f.Params, Result: f.Result})
	}
	return imports
}

// memoryRange is a range that a host function reads or writes: the parameters of its pointer and of its length (−1:
// size bytes), times size, of at most limit.
type memoryRange struct {
	pointer, length int
	size, limit     uint64
}

// hostRanges are the ranges of every host function that has any (docs/protocol.md, "Host functions").
var hostRanges = map[string][]memoryRange{
	"return_data":    {{0, 1, 1, 64 << 10}},
	"revert":         {{0, 1, 1, 64 << 10}},
	"storage_read":   {{0, 1, 1, 256}, {2, 3, 1, 1 << 32}},
	"storage_write":  {{0, 1, 1, 256}, {2, 3, 1, 16 << 10}},
	"storage_delete": {{0, 1, 1, 256}},
	"caller":         {{0, -1, 32, 32}},
	"sender":         {{0, -1, 32, 32}},
	"self":           {{0, -1, 32, 32}},
	"balance":        {{0, -1, 32, 32}},
	"transfer":       {{0, -1, 32, 32}},
	"code_hash":      {{0, -1, 32, 32}, {1, -1, 32, 32}},
	"call":           {{0, -1, 32, 32}, {1, 2, 1, 64}, {3, 4, 1, 64 << 10}},
	"call_view":      {{0, -1, 32, 32}, {1, 2, 1, 64}, {3, 4, 1, 64 << 10}},
	"result_read":    {{0, -1, 0, 0}},
	"emit":           {{0, 1, 1, 64}, {2, 3, 32, 96}, {4, 5, 1, 16 << 10}},
	"sha256":         {{0, 1, 1, 1 << 32}, {2, -1, 32, 32}},
	"keccak256":      {{0, 1, 1, 1 << 32}, {2, -1, 32, 32}},
	"blake3":         {{0, 1, 1, 1 << 32}, {2, -1, 32, 32}},
	"schnorr_verify": {{0, -1, 32, 32}, {1, 2, 1, 1 << 32}, {3, -1, 64, 64}},
	"ecdsa_recover":  {{0, -1, 32, 32}, {1, -1, 65, 65}, {2, -1, 64, 64}},
	"p256_verify":    {{0, -1, 64, 64}, {1, -1, 32, 32}, {2, -1, 64, 64}},
	"account_verify": {{0, -1, 32, 32}, {1, 2, 1, 1 << 10}, {3, 4, 1, 8 << 10}},
	"create":         {{0, -1, 32, 32}, {1, -1, 32, 32}, {2, 3, 1, 64}, {4, 5, 1, 64 << 10}, {8, -1, 32, 32}},
	"replace_code":   {{0, -1, 32, 32}},
	"debug":          {{0, 1, 1, 1 << 10}},
}

// mustFail reports whether a range of a host call is too long or not inside one page of memory.
func mustFail(function string, args []uint64) bool {
	return slices.ContainsFunc(hostRanges[function], func(r memoryRange) bool {
		length := r.size
		if r.length >= 0 {
			length = uint64(uint32(args[r.length])) * r.size
		}
		return length > r.limit || uint64(uint32(args[r.pointer]))+length > 64<<10
	})
}

// drawNumber often returns a limit: of the memory, of a parameter, of a type.
func drawNumber(t *rapid.T) uint64 {
	edge := rapid.SampledFrom([]uint64{
		0, 1, 3, 32, 56, 64, 96, 256, 1 << 10, 16 << 10, 64 << 10, 1 << 17, 1 << 31, 1 << 32, 1 << 63, 0,
	}).Draw(t, "edge")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return rapid.Uint64().Draw(t, "any")
	case 1:
		return edge - rapid.Uint64Range(0, 66).Draw(t, "below")
	case 2, 3:
		return edge
	}
	return rapid.Uint64Range(0, 300).Draw(t, "small")
}

// TestForgedPointers calls every host function with arbitrary pointers and lengths, with compiler and interpreter. No
// range outside the memory or over its limit is ever accepted, every call is billed, and both chains stay equal.
func TestForgedPointers(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	imports := hostImports()
	forger := wasmgen.Forger(imports).Encode()
	compiled, interpreted := newContractChain(t, wasm.Options{}), newContractChain(t, wasm.Options{Interpreter: true})
	id := compiled.deploy(1_000, forger)[0]
	interpreted.deploy(1_000, forger)
	seen := map[string][2]int{} // number of calls that had to fail, and of others
	rapid.Check(t, func(t *rapid.T) {
		var actions []action
		var failing []bool
		for _, f := range imports {
			args := make([]uint64, 9)                         // one for each parameter of create
			tame := rapid.IntRange(0, 3).Draw(t, "tame") == 0 // otherwise no call with many ranges would ever pass
			for i := range f.Params {
				if args[i] = drawNumber(t); tame {
					args[i] %= 8
				}
			}
			data := append(numbers(args...), rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "data")...)
			actions = append(actions, calling(id, f.Name, data, 1, 2_000_000))
			failing = append(failing, mustFail(f.Name, args))
		}
		block, other := compiled.block(actions...), interpreted.block(actions...)
		for i, r := range block.receipts {
			counts := seen[imports[i].Name]
			if failing[i] {
				counts[0]++
				if r.Status == types.StatusSuccess || r.GasUsed != 2_000_000 {
					t.Errorf("%s with %x: got %+v", imports[i].Name, actions[i].payload, r)
				}
			} else {
				counts[1]++
			}
			seen[imports[i].Name] = counts
		}
		if block.Hash != other.Hash || !reflect.DeepEqual(block.receipts, other.receipts) {
			t.Fatalf("compiler and interpreter differ: got %+v, %+v", block, other)
		}
	})
	for _, f := range imports {
		if n := seen[f.Name]; n[1] == 0 || n[0] == 0 && hostRanges[f.Name] != nil && f.Name != "result_read" {
			t.Errorf("%s: %d calls had to fail, %d not", f.Name, n[0], n[1])
		}
	}
}

// FuzzMutatedModule deploys and calls changed modules, with compiler and interpreter: each is refused, or behaves
// equally in both, is billed, and leaves the node working.
func FuzzMutatedModule(f *testing.F) {
	f.Add(uint64(0), []byte{})
	for seed := range uint64(20) {
		f.Add(seed, []byte{200, 0, 1, 90, 1, 0x6B, byte(seed), 2, 0x20})
	}
	compiled, interpreted := newContractChain(f, wasm.Options{Codes: 16}),
		newContractChain(f, wasm.Options{Interpreter: true, Codes: 16})
	forger, hostile := wasmgen.Forger(hostImports()).Encode(), wasmgen.Hostile(true).Encode()
	f.Fuzz(func(t *testing.T, seed uint64, edits []byte) {
		code, functions := slices.Clone(forger), []string{"call", "storage_write", "emit"}
		switch seed % 8 {
		case 0:
		case 1:
			code, functions = slices.Clone(hostile), []string{"grow", "relay", "storage"}
		default:
			code, functions = wasmgen.Random(rand.New(rand.NewPCG(seed, 0))).Encode(), []string{"run"}
		}
		for ; len(edits) >= 3; edits = edits[3:] {
			code[(int(edits[0])|int(edits[1])<<8)%len(code)] = edits[2]
		}
		deploy := action{payload: types.Deploy{Code: code}, gas: 60_000_000}
		var hashes [2]types.BlockHash
		for i, c := range []*contractChain{compiled, interpreted} {
			c.t = t
			if err := c.ledger.Rewind(0); err != nil {
				t.Fatal(err)
			}
			c.nonce = 0
			made := c.block(deploy)
			if id := made.receipts[0].Contract; id != nil {
				var calls []action
				for _, function := range functions {
					args := append(numbers(0, 4, 8, 16, 0, 0, 0), id[:]...)
					calls = append(calls, calling(*id, function, args, 0, 3_000_000))
				}
				made = c.block(calls...)
			}
			hashes[i] = made.Hash
		}
		if hashes[0] != hashes[1] {
			t.Errorf("compiler and interpreter differ: got %x", code)
		}
	})
}
