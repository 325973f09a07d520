package wasm

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// step generates an action of a guest, valid after any others.
func step(t *rapid.T, depth int) []byte {
	address := rapid.OneOf(
		rapid.IntRange(0, 3*wasmPage), rapid.SampledFrom([]int{
			0, wasmPage - 1, wasmPage, 2*wasmPage - 4, 2 * wasmPage, -1, -4,
		}))
	value := rapid.IntRange(-1<<31, 1<<31-1)
	switch kind := rapid.IntRange(0, 24).Draw(t, "step"); {
	case kind < 4:
		return seq(i32(address.Draw(t, "address")&0x1FFFF), i32(value.Draw(t, "value")), store8(0))
	case kind < 6: // an address that may be outside
		return seq(i32(address.Draw(t, "address")), i32(value.Draw(t, "value")), store32(0))
	case kind < 8: // writes to many pages
		return times(3+depth, rapid.IntRange(1, 40).Draw(t, "pages"),
			get(3+depth), i32(3001), opI32Mul, get(3+depth), store8(0))
	case kind < 11:
		g := rapid.IntRange(0, 2).Draw(t, "global")
		return seq(getG(g), i64(int64(value.Draw(t, "value"))), opI64Add, setG(g))
	case kind < 13:
		return seq(i32(rapid.IntRange(0, 4).Draw(t, "pages")), memoryGrow(), opExtend, getG(0), opI64Add, setG(0))
	case kind < 15: // the contents of the memory decide
		return seq(i32(address.Draw(t, "address")), load8(0), opExtend, getG(1), opI64Add, setG(1))
	case kind < 18:
		return seq(i32(value.Draw(t, "value")), getG(rapid.IntRange(0, 2).Draw(t, "global")), opWrap, call(0))
	case kind == 18:
		return seq(i32(value.Draw(t, "a")), getG(0), opWrap, opI32DivS, opDrop)
	case kind == 19:
		return seq(i32(rapid.IntRange(0, 3).Draw(t, "entry")), callTable())
	case kind == 20 && rapid.Bool().Draw(t, "ends"):
		return seq(rapid.SampledFrom([]int{opUnreachable, opReturn}).Draw(t, "end"))
	case kind == 21 && rapid.Bool().Draw(t, "recurses"):
		return call(1)
	case depth < 3:
		return seq(getG(rapid.IntRange(0, 2).Draw(t, "global")), opWrap, opIf, noResult,
			step(t, depth+1), step(t, depth+1), opElse, step(t, depth+1), opEnd)
	}
	return nil
}

func drawGuest(t *rapid.T) *guest {
	g := &guest{pages: rapid.IntRange(0, 3).Draw(t, "pages"), imports: []string{"debug"},
		globals: []int64{7, -1, 1 << 40}, table: []int{2, 3}}
	g.maxPages = rapid.SampledFrom([]int{0, g.pages, g.pages + 1, 16}).Draw(t, "maximum")
	for range rapid.IntRange(0, 3).Draw(t, "segments") {
		if bytes := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "data"); g.pages > 0 {
			g.data = append(g.data, guestData{rapid.IntRange(0, g.pages*wasmPage-40).Draw(t, "offset"), bytes})
		}
	}
	for _, export := range []string{"a", "b", "c"} {
		// Show the initial state first: the globals; the host sees the memory at each call.
		steps := seq(getG(0), opWrap, getG(1), opWrap, call(0), getG(2), opWrap, i32(0), call(0))
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			steps = seq(steps, step(t, 0))
		}
		g.functions = append(g.functions, guestFunction{export: export, locals: 8, body: steps})
	}
	return g
}

// witness hashes everything observable in a run: arguments of host calls, memory, gas.
type witness struct {
	host
	trace []byte
}

func newWitness(end int) *witness {
	w := &witness{}
	w.serve = func(f vm.Function, m vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
		all, ok := m.Range(0, m.Pages()*wasmPage)
		if !ok {
			panic("the whole memory is outside")
		}
		sum := sha256.Sum256(all)
		w.trace = append(append(w.trace, byte(f)), sum[:]...)
		for _, v := range stack {
			w.trace = binary.BigEndian.AppendUint32(w.trace, uint32(v))
		}
		w.trace = binary.BigEndian.AppendUint64(w.trace, gas.Left)
		if w.called == end {
			return vm.Reverted, nil
		}
		if len(all) > 0 { // a host writes to memory too
			all[w.called*977%len(all)]++
		}
		return vm.Returned, nil
	}
	w.grows = func(pages uint32) bool { return pages < 4 }
	return w
}

// A call has the same result in every engine, whatever ran before it.
func TestPooledIsFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	all := engines(t)
	rapid.Check(t, func(rt *rapid.T) {
		g := drawGuest(rt)
		calls := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 6).Draw(rt, "calls")
		gas := rapid.SliceOfN(rapid.Uint64Range(0, 2_500_000), len(calls), len(calls)).Draw(rt, "gas")
		ends := rapid.SliceOfN(rapid.IntRange(1, 30), len(calls), len(calls)).Draw(rt, "reverts at")
		type outcome struct {
			exit  vm.Exit
			left  uint64
			trace string
		}
		var want []outcome
		for _, name := range []string{"fresh", "pooled", "interpreter", "page table unknown", "machine code loaded"} {
			c := all[name].load(t, g)
			for i, function := range calls {
				w := newWitness(ends[i])
				exit, left := all[name].run(t, c, function, w, gas[i])
				got := outcome{exit, left, string(w.trace)}
				if name == "fresh" {
					want = append(want, got)
				} else if got != want[i] {
					rt.Fatalf("call %d of %s in engine %q: exit %d with %d gas left after %d bytes of trace, fresh exit %d "+
						"with %d after %d",
						i, function, name, exit, left, len(got.trace), want[i].exit, want[i].left, len(want[i].trace))
				}
			}
		}
	})
	if s := all["pooled"].Stats(); s.Reused == 0 || all["fresh"].Stats().Reused != 0 {
		t.Errorf("pooled: %+v", s)
	}
}

// Whatever a call wrote to its memory, the next call gets zeros and its own data.
func TestLentMemoryIsClean(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	for _, pageTable := range []bool{true, false} {
		e := newEngine(t, Options{})
		if !pageTable {
			e.hidePageTable()
		}
		rapid.Check(t, func(rt *rapid.T) {
			data := []vm.Segment{{Offset: 9000, Bytes: []byte("lost")}, {Offset: 9000, Bytes: []byte("data")}}
			for range rapid.IntRange(1, 4).Draw(rt, "runs") {
				var lent []*memory
				for range rapid.IntRange(1, 3).Draw(rt, "calls inside each other") {
					r, err := e.regions.take()
					if err != nil {
						t.Fatal(err)
					}
					for i, b := range r.bytes {
						if b != 0 {
							rt.Fatalf("byte %d is %d", i, b)
						}
					}
					m := newMemory(2)
					m.region = r
					m.Reallocate(wasmPage * uint64(rapid.IntRange(2, 5).Draw(rt, "pages")))
					if m.begin(data); string(r.bytes[9000:9004]) != "data" {
						rt.Fatal("data is lost")
					}
					for range rapid.IntRange(0, 30).Draw(rt, "writes") {
						r.bytes[rapid.IntRange(0, m.size-1).Draw(rt, "at")] = rapid.Byte().Draw(rt, "byte")
					}
					lent = append(lent, m)
				}
				for _, m := range slices.Backward(lent) {
					e.regions.put(m.region, m.size)
				}
			}
		})
	}
}

// A region is reused a limited number of times, and a limited number of regions are kept.
func TestRegionsAreBounded(t *testing.T) {
	e := newEngine(t, Options{})
	c := e.load(t, body(i32(5), i32(5), store8(0)))
	first := e.regions.free[len(e.regions.free)-1]
	for range 2 * regionCalls {
		e.run(t, c, "run", &host{}, 1000)
	}
	if first.calls != regionCalls {
		t.Errorf("the first region was lent %d times, want %d", first.calls, regionCalls)
	}
	var lent []*region
	for range keptRegions + 5 {
		r, err := e.regions.take()
		if err != nil {
			t.Fatal(err)
		}
		lent = append(lent, r)
	}
	for _, r := range lent {
		e.regions.put(r, regionSize)
	}
	if len(e.regions.free) != keptRegions {
		t.Errorf("%d regions are kept, want %d", len(e.regions.free), keptRegions)
	}
}

// Host functions receive the guest's pointers and lengths unchanged.
func TestRange(t *testing.T) {
	r, err := (&regions{}).take()
	if err != nil {
		t.Fatal(err)
	}
	defer release(r.bytes)
	m := newMemory(2)
	m.region = r
	m.Reallocate(2 * wasmPage)
	edge := rapid.SampledFrom([]uint32{
		0, 1, wasmPage, 2*wasmPage - 1, 2 * wasmPage, 2*wasmPage + 1, 4 * wasmPage, 1 << 31, 1<<32 - 1,
	})
	number := rapid.OneOf(edge, rapid.Uint32(), rapid.Uint32Range(0, 3*wasmPage))
	rapid.Check(t, func(rt *rapid.T) {
		pointer, n := number.Draw(rt, "pointer"), number.Draw(rt, "n")
		b, ok := m.Range(pointer, n)
		if inside := uint64(pointer)+uint64(n) <= 2*wasmPage; ok != inside || ok && (len(b) != int(n) || cap(b) != int(n)) {
			rt.Fatalf("range %d + %d: %v with %d bytes, capacity %d", pointer, n, ok, len(b), cap(b))
		}
		if ok && n > 0 && &b[0] != &r.bytes[pointer] {
			rt.Fatalf("range %d is not the guest's memory", pointer)
		}
	})
}

// Resources in use stay within their bounds, and none are left when an engine is closed.
func TestNothingLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector, and of one goroutine")
	}
	before := held(t)
	e := newEngine(t, Options{Codes: 10, Idle: 12, IdlePerCode: 3, Bytes: 1 << 20})
	e.generationBytes = 16 << 10
	var guests []*guest
	for i := range 30 {
		g := body(
			i32(i), i32(i), store8(0),
			forever(i32(5*i+1), memoryGrow(), i32(-1), 0x46 /* i32.eq */, opIf, noResult, opUnreachable, opEnd),
		)
		g.globals = []int64{int64(i)}
		guests = append(guests, g)
	}
	const runs = 10_000
	for n := range runs {
		c := e.load(t, guests[n*7%30*(n%3)/2]) // some guests often, some seldom
		e.run(t, c, "run", &host{}, 20_000)
		if s := e.Stats(); s.Codes > 10 || s.Idle > 12 || s.Bytes > 1<<20 {
			t.Fatalf("after %d runs: %+v", n, s)
		}
	}
	s := e.Stats()
	if s.Instantiated < 100 || s.Reused < 100 || s.Instantiated+s.Reused != runs ||
		s.Instantiated-s.Discarded != uint64(s.Idle) {
		t.Errorf("after all runs: %+v", s)
	}
	bytes := 0
	for element := e.recent.Front(); element != nil; element = element.Next() {
		c := element.Value.(*code)
		bytes += c.size
		for _, i := range c.idle {
			bytes += i.size
		}
		if c.users != 0 {
			t.Errorf("a module has %d users, want 0", c.users)
		}
	}
	if bytes != s.Bytes {
		t.Errorf("%d bytes counted, %d there", s.Bytes, bytes)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if after := held(t); after.goroutines > before.goroutines || after.files > before.files ||
		after.maps > before.maps+20 {
		t.Errorf("held %+v before, %+v after", before, after)
	}
}

type holding struct{ goroutines, files, maps int }

// held counts the process's resources: files and maps, if /proc lists them.
func held(t *testing.T) (h holding) {
	runtime.GC() // finalizers unmap machine code
	runtime.GC()
	h.goroutines = runtime.NumGoroutine()
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.files = len(entries)
	}
	if maps, err := os.ReadFile("/proc/self/maps"); err == nil {
		h.maps = strings.Count(string(maps), "\n")
	}
	return h
}

// A module that is evicted while it runs continues, and its instance is closed.
func TestEvictedWhileRunning(t *testing.T) {
	e := newEngine(t, Options{Codes: 1})
	g := &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
		{export: "run", body: seq(i32(0), i32(0), call(0), i32(5), i32(5), store8(0))}}}
	outer := e.load(t, g)
	h := &host{serve: func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
		inner := e.load(t, body())
		exit, _ := e.run(t, inner, "run", &host{}, 1000)
		return exit, nil
	}}
	for range 3 {
		if exit, _ := e.run(t, outer, "run", h, enough); exit != vm.Returned {
			t.Errorf("exit %d, want %d", exit, vm.Returned)
		}
		if s := e.Stats(); s.Codes != 1 || s.Idle != 1 {
			t.Errorf("held: %+v", s)
		}
	}
}

func TestParallelRuns(t *testing.T) {
	e := newEngine(t, Options{Codes: 3, Idle: 4, IdlePerCode: 2, Dir: t.TempDir()})
	e.generationBytes = 1 << 10
	var contracts []contract
	for i := range 5 {
		contracts = append(contracts, e.load(t, &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
			{export: "run", locals: 1, body: seq(
				times(0, 5+i, get(0), get(0), store8(0), i32(1), memoryGrow(), opDrop), memorySize(), i32(0), load8(1), call(0),
			)},
		}}))
	}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for n := range 100 {
				i := (worker + n) % 5
				c := contracts[i]
				if n%10 == 0 {
					if err := e.Compile(c.hash, c.module); err != nil {
						t.Error(err)
					}
				}
				var seen []uint64
				h := &host{serve: func(_ vm.Function, _ vm.Memory, stack []uint64, _ *vm.Gas) (vm.Exit, error) {
					seen = slices.Clone(stack)
					return vm.Returned, nil
				}}
				gas := vm.Gas{Left: enough}
				exit, err := e.Run(c.hash, c.module, "run", h, &gas)
				if err != nil || exit != vm.Returned || len(seen) != 2 || uint32(seen[0]) != uint32(6+i) || uint32(seen[1]) != 1 {
					t.Errorf("exit %d, %v, error %v", exit, seen, err)
				}
			}
		})
	}
	wait.Wait()
}

// A guest that uses all of its gas stops at each slice, so that the Go runtime can stop the world.
func TestCollectionBesideAnEndlessLoop(t *testing.T) {
	// On one thread the collector gives way to the guest for 10 ms with each span that it sweeps, and the guest ends
	// first.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	e := newEngine(t, Options{})
	c := e.load(t, body(forever()))
	const slices = 1000
	done := make(chan struct{})
	go func() {
		defer close(done)
		gas := vm.Gas{Left: slices * vm.MaxSlice}
		if exit, err := e.Run(c.hash, c.module, "run", &host{}, &gas); err != nil || exit != vm.OutOfGas {
			t.Errorf("exit %d, want %d, error %v", exit, vm.OutOfGas, err)
		}
	}()
	for e.Stats().Refills == 0 {
		runtime.Gosched()
	}
	before := e.Stats().Refills
	runtime.GC()
	// The test waits for the guest to stop a few times. A guest that never stopped would run to its end.
	if taken := e.Stats().Refills - before; taken > slices/2 {
		t.Errorf("a collection took %d slices", taken)
	}
	<-done
	if refills := e.Stats().Refills; refills != slices {
		t.Errorf("%d refills of %d slices", refills, slices)
	}
}

// Code that a deploy compiled is not compiled again when it is called.
func TestCompile(t *testing.T) {
	e := newEngine(t, Options{})
	c := e.load(t, body(i32(1), opDrop))
	for range 2 {
		if err := e.Compile(c.hash, c.module); err != nil {
			t.Fatal(err)
		}
		if compiled := e.Stats().Compiled; compiled != 1 {
			t.Fatalf("%d modules compiled, want 1", compiled)
		}
	}
	if exit, _ := e.run(t, c, "run", &host{}, 1000); exit != vm.Returned || e.Stats().Compiled != 1 {
		t.Errorf("exit %d, want %d, %d modules compiled, want 1", exit, vm.Returned, e.Stats().Compiled)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Compile(c.hash, c.module); !errors.Is(err, errClosed) {
		t.Errorf("a closed engine compiles: error %v, want %v", err, errClosed)
	}
}
