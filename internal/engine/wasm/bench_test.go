package wasm

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

func (e *Engine) bench(b *testing.B, c contract, function string, h vm.Host, gas uint64) {
	for b.Loop() {
		left := vm.Gas{Left: gas}
		if exit, err := e.Run(c.hash, c.module, function, h, &left); err != nil || exit != vm.Returned {
			b.Fatalf("exit %d, want %d, error %v", exit, vm.Returned, err)
		}
	}
}

// writer writes to the given number of OS pages after its data.
func writer(pages, touched int) *guest {
	g := &guest{pages: pages, globals: []int64{1, 2, 3}, data: []guestData{{1024, []byte("some data")}}}
	g.functions = []guestFunction{{export: "run", locals: 1, body: seq(i64(9), setG(0),
		times(0, touched, get(0), i32(osPage), opI32Mul, i32(osPage), opI32Sub, get(0), store8(0)))}}
	return g
}

// BenchmarkCall is a whole call: get an instance, enter, write to pages, leave, and restore the instance.
func BenchmarkCall(b *testing.B) {
	for _, pages := range []int{1, 2, 4, 16} {
		for _, touched := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("pages=%d/touched=%d", pages, touched), func(b *testing.B) {
				e := newEngine(b, Options{})
				e.bench(b, e.load(b, writer(pages, touched)), "run", &host{}, enough)
			})
		}
	}
	b.Run("pages=2/touched=4/grown", func(b *testing.B) {
		e := newEngine(b, Options{})
		g := writer(2, 4)
		g.functions[0].body = seq(i32(1), memoryGrow(), opDrop, i32(2*wasmPage), i32(1), store8(0), g.functions[0].body)
		e.bench(b, e.load(b, g), "run", &host{}, enough)
	})
	b.Run("pages=2/touched=4/fresh", func(b *testing.B) {
		e := newEngine(b, Options{Fresh: true})
		e.bench(b, e.load(b, writer(2, 4)), "run", &host{}, enough)
	})
	b.Run("pages=16/touched=256", func(b *testing.B) {
		e := newEngine(b, Options{})
		e.bench(b, e.load(b, writer(16, 256)), "run", &host{}, enough)
	})
	b.Run("pages=16/touched=256/fresh", func(b *testing.B) {
		e := newEngine(b, Options{Fresh: true})
		e.bench(b, e.load(b, writer(16, 256)), "run", &host{}, enough)
	})
	deep := &guest{pages: 1, functions: []guestFunction{
		{export: "run", body: seq(i32(1022), call(1))},
		{
			params: 1,
			locals: 20,
			body:   seq(get(0), opI32Eqz, opIf, noResult, opReturn, opEnd, get(0), i32(1), opI32Sub, call(1)),
		},
	}}
	for _, fresh := range []bool{false, true} {
		b.Run(fmt.Sprintf("frames=1024/fresh=%v", fresh), func(b *testing.B) {
			e := newEngine(b, Options{Fresh: fresh})
			e.bench(b, e.load(b, deep), "run", &host{}, enough)
		})
	}
}

// BenchmarkHostCall is a call of a host function that reads 32 bytes.
func BenchmarkHostCall(b *testing.B) {
	const calls = 1000
	g := &guest{pages: 1, imports: []string{"debug"}, functions: []guestFunction{
		{export: "run", locals: 1, body: times(0, calls, i32(64), i32(32), call(0))}}}
	e := newEngine(b, Options{})
	h := &host{serve: func(_ vm.Function, m vm.Memory, stack []uint64, _ *vm.Gas) (vm.Exit, error) {
		if _, ok := m.Range(uint32(stack[0]), uint32(stack[1])); !ok {
			return vm.Trapped, nil
		}
		return vm.Returned, nil
	}}
	e.bench(b, e.load(b, g), "run", h, enough)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*calls), "ns/call")
}

// BenchmarkNested is a call through the chain, with its own instance.
func BenchmarkNested(b *testing.B) {
	e := newEngine(b, Options{})
	g := writer(2, 4)
	g.imports = []string{"is_view"}
	g.functions[0].body = seq(call(0), opDrop, g.functions[0].body)
	c := e.load(b, g)
	const depth = 32
	h, left := &host{}, 0
	h.serve = func(_ vm.Function, _ vm.Memory, _ []uint64, gas *vm.Gas) (vm.Exit, error) {
		if left--; left == 0 {
			return vm.Returned, nil
		}
		return e.Run(c.hash, c.module, "run", h, gas)
	}
	for b.Loop() {
		left = depth
		gas := vm.Gas{Left: enough}
		if exit, err := e.Run(c.hash, c.module, "run", h, &gas); err != nil || exit != vm.Returned {
			b.Fatalf("exit %d, want %d, error %v", exit, vm.Returned, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*depth), "ns/level")
}

// sieveGuest counts the primes below size, in bytes at 0, and traps unless their number is the expected one. Its loops
// have their test at the end, as compilers write them.
func sieveGuest(size, primes int) *guest {
	const p, q, count = 0, 1, 2
	return &guest{pages: 1, functions: []guestFunction{{export: "run", locals: 3, body: seq(
		i32(2), set(p),
		opLoop, noResult,
		opBlock, noResult,
		get(p), load8(0), opBrIf, 0,
		get(count), i32(1), opI32Add, set(count),
		get(p), get(p), opI32Add, set(q),
		get(q), i32(size), opI32GeU, opBrIf, 0,
		opLoop, noResult,
		get(q), i32(1), store8(0),
		get(q), get(p), opI32Add, set(q), get(q), i32(size), opI32LtU, opBrIf, 0,
		opEnd,
		opEnd,
		get(p), i32(1), opI32Add, set(p),
		get(p), i32(size), opI32LtU, opBrIf, 0,
		opEnd,
		get(count), i32(primes), 0x47 /* i32.ne */, opIf, noResult, opUnreachable, opEnd,
	)}}}
}

func sieve(composite []byte) (primes int) {
	clear(composite)
	for p := 2; p < len(composite); p++ {
		if composite[p] == 0 {
			primes++
			for q := 2 * p; q < len(composite); q += p {
				composite[q] = 1
			}
		}
	}
	return primes
}

// BenchmarkMetered compares the metered sieve with the same in Go, and with wazero's result for the module as
// submitted.
func BenchmarkMetered(b *testing.B) {
	composite := make([]byte, wasmPage)
	primes := sieve(composite)
	const gas = 4 * enough
	b.Run("go", func(b *testing.B) {
		processor := cputime.Start(b)
		for b.Loop() {
			sieve(composite)
		}
		processor.Report(b.N, time.Microsecond, "cpu-µs")
	})
	b.Run("not metered", func(b *testing.B) {
		runtime := wazero.NewRuntimeWithConfig(ctx, configOf(wazero.NewRuntimeConfigCompiler()))
		defer runtime.Close(ctx) //nolint:errcheck // nothing is left of it
		module, err := runtime.Instantiate(ctx, sieveGuest(len(composite), primes).binary())
		if err != nil {
			b.Fatal(err)
		}
		memory, _ := module.ExportedMemory("memory").Read(0, wasmPage)
		processor := cputime.Start(b)
		for b.Loop() {
			clear(memory)
			if _, err := module.ExportedFunction("run").Call(ctx); err != nil {
				b.Fatal(err)
			}
		}
		processor.Report(b.N, time.Microsecond, "cpu-µs")
	})
	for name, opts := range map[string]Options{"contract": {}, "interpreter": {Interpreter: true}} {
		b.Run(name, func(b *testing.B) {
			e := newEngine(b, opts)
			c := e.load(b, sieveGuest(len(composite), primes))
			_, left := e.run(b, c, "run", &host{}, gas)
			processor := cputime.Start(b)
			e.bench(b, c, "run", &host{}, gas)
			processor.Report(b.N, time.Microsecond, "cpu-µs")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(gas-left), "ns/gas")
		})
	}
}

// large returns a module of about the given size, with straight and branching code.
func large(bytes int) *guest {
	g := &guest{pages: 1}
	part := seq(get(0), i32(1), opI32Add, set(1), get(1), opI32Eqz, opIf, noResult, get(1), load8(0), set(0), opEnd)
	for n := range (bytes + 1999) / 2000 {
		f := guestFunction{locals: 4, body: slices.Repeat(part, 2000/len(part))}
		if n == 0 {
			f.export = "run"
		}
		g.functions = append(g.functions, f)
	}
	return g
}

// BenchmarkLoad measures the first call of a module, once compiled and once loaded from disk.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []int{2 << 10, 32 << 10, 240 << 10} {
		binary := large(size).binary()
		hash := types.CodeHash(sha256.Sum256(binary))
		for _, disk := range []bool{false, true} {
			b.Run(fmt.Sprintf("bytes=%d/disk=%v", len(binary), disk), func(b *testing.B) {
				opts := Options{}
				if disk {
					opts.Dir = b.TempDir()
				}
				e := newEngine(b, opts)
				for b.Loop() {
					m, err := e.Module(hash, func() ([]byte, error) { return binary, nil })
					if err != nil {
						b.Fatal(err)
					}
					left := vm.Gas{Left: enough}
					if exit, err := e.Run(hash, m, "run", &host{}, &left); err != nil || exit != vm.Returned {
						b.Fatalf("exit %d, want %d, error %v", exit, vm.Returned, err)
					}
					e.mu.Lock()
					var leftovers leftovers
					e.evict(e.recent.Front().Value.(*code), &leftovers)
					e.mu.Unlock()
					if err := leftovers.close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(binary)), "ns/byte")
			})
		}
	}
}
