package wasm

import (
	"crypto/sha256"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

func readContract(t testing.TB, name string) []byte {
	t.Helper()
	code, err := os.ReadFile("../../../contracts/wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// widest are modules that are hard to load for their size.
func widest() map[string][]byte {
	codes := map[string][]byte{}
	for _, bomb := range wasmgen.Bombs(32_768, 262_144) {
		switch bomb.Name {
		case "nothing", "tiny functions", "types", "globals":
			codes[bomb.Name] = bomb.Code
		}
	}
	exports := body()
	for i := range 1999 {
		exports.functions = append(exports.functions, guestFunction{export: fmt.Sprintf("%0100d", i)})
	}
	codes["exports"] = exports.binary()
	segments := &guest{pages: 16, functions: body().functions}
	for i := range 1000 {
		segments.data = append(segments.data, guestData{i * 1040, []byte{1}})
	}
	codes["segments"] = segments.binary()
	table := &guest{pages: 1, functions: body().functions}
	for range 2499 {
		table.table, table.functions = append(table.table, len(table.functions)), append(table.functions, guestFunction{})
	}
	codes["table"] = table.binary()
	codes["large"] = large(240 << 10).binary()
	return codes
}

// BenchmarkCold loads a module that fell out of memory and whose machine code is on disk.
func BenchmarkCold(b *testing.B) {
	codes := widest()
	for _, name := range []string{"nep20", "as-nep20", "pool", "router"} {
		codes[name] = readContract(b, name)
	}
	for name, code := range codes {
		b.Run(name, func(b *testing.B) {
			e := newEngine(b, Options{Dir: b.TempDir()})
			hash := types.CodeHash(sha256.Sum256(code))
			read := func() ([]byte, error) { return code, nil }
			load := func() {
				m, err := e.Module(hash, read)
				if err == nil {
					err = e.Compile(hash, m)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			load()
			meter := cputime.Start(b)
			for b.Loop() {
				e.forget(b, hash)
				load()
			}
			meter.Report(b.N, time.Microsecond, "cpu-µs")
			b.ReportMetric(float64(len(code)), "bytes")
		})
	}
}

// forget evicts a module from memory.
func (e *Engine) forget(t testing.TB, hash types.CodeHash) {
	t.Helper()
	var leftovers leftovers
	e.mu.Lock()
	e.evict(e.codes[hash].Value.(*code), &leftovers)
	e.mu.Unlock()
	if err := leftovers.close(); err != nil {
		t.Fatal(err)
	}
}
