package contractbuild

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

// TestFunctionsAreFoundAgain matches every compiled example with itself, and with a copy in another order.
func TestFunctionsAreFoundAgain(t *testing.T) {
	files, err := filepath.Glob("../../contracts/wasm/*.wasm")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	for _, file := range files {
		module, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := codeOf(module)
		if err != nil {
			t.Fatalf("%s: error %v", file, err)
		}
		matched, err := c.match(reversed(c))
		if err != nil {
			t.Errorf("%s: error %v", file, err)
			continue
		}
		for i, k := range matched {
			if twin := c.functions[len(matched)-1-k]; string(twin.shape) != string(c.functions[i].shape) {
				t.Errorf("%s: function %d is taken for another", file, i)
			}
		}
		other := reversed(c)
		other.functions[0].masked = append(other.functions[0].masked, 0x01)
		other.functions[0].shape = other.functions[0].masked
		if _, err := c.match(other); !errors.Is(err, errOtherCode) {
			t.Errorf("%s: other code is taken for the same: error %v, want %v", file, err, errOtherCode)
		}
	}
}

// reversed returns the module with its functions in reverse order.
func reversed(c code) code {
	r := c
	r.functions = slices.Clone(c.functions)
	slices.Reverse(r.functions)
	for i := range r.functions {
		calls := slices.Clone(r.functions[i].calls)
		for k, callee := range calls {
			if callee >= c.imported {
				calls[k] = c.imported + len(c.functions) - 1 - (callee - c.imported)
			}
		}
		r.functions[i].calls = calls
	}
	return r
}

func TestInstructionsAreShortened(t *testing.T) {
	for long, short := range map[string]string{
		"\x10\x85\x80\x80\x80\x00":                     "\x10\x05",                                     // call
		"\x41\xff\xff\xff\xff\x7f":                     "\x41\x7f",                                     // i32.const -1
		"\x41\xc0\x80\x80\x80\x00":                     "\x41\xc0\x00",                                 // i32.const 64
		"\x42\x80\x80\x80\x80\x80\x00":                 "\x42\x00",                                     // i64.const 0
		"\x28\x82\x00\x90\x80\x00":                     "\x28\x02\x10",                                 // i32.load
		"\x0e\x81\x00\x80\x00\x01":                     "\x0e\x01\x00\x01",                             // br_table
		"\x11\x83\x00\x00":                             "\x11\x03\x00",                                 // call_indirect
		"\x02\x40":                                     "\x02\x40",                                     // block
		"\x44\x00\x00\x00\x00\x00\x00\x00\x40":         "\x44\x00\x00\x00\x00\x00\x00\x00\x40",         // f64.const
		"\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f": "\x42\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", // the least i64
	} {
		r := &reader{code: []byte(long)}
		if got := r.instruction(nil); string(got) != short || r.failed || r.at != len(long) {
			t.Errorf("%x becomes %x, not %x", long, got, short)
		}
	}
	for _, cut := range []string{
		"\x10\x80", "\x41\x80\x80", "\x0e\x05\x00", "\x44\x00", "\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		r := &reader{code: []byte(cut)}
		if r.instruction(nil); !r.failed {
			t.Errorf("%x is an instruction", cut)
		}
	}
}

func TestSourceMap(t *testing.T) {
	// Columns 100, 104 and 110: line 1 of a, line 3 of b, no line.
	rows, err := readSourceMap([]byte(`{"version":3,"sources":["a.ts","b.ts"],"mappings":"oGAAA,ICEA,M"}`), 90)
	want := []row{{10, Position{"a.ts", 1}}, {14, Position{"b.ts", 3}}, {20, Position{}}}
	if err != nil || !slices.Equal(rows, want) {
		t.Errorf("got %v, want %v, error %v", rows, want, err)
	}
	for at, want := range map[int]Position{9: {}, 10: {"a.ts", 1}, 13: {"a.ts", 1}, 14: {"b.ts", 3}, 99: {}} {
		if got := rowAt(rows, at); got != want {
			t.Errorf("at %d is %v, not %v", at, got, want)
		}
	}
	for _, wrong := range []string{
		`x`, `{"version":2,"mappings":""}`, `{"version":3,"sources":[],"mappings":"AAAA"}`, `{"version":3,"mappings":"g"}`,
		`{"version":3,"mappings":"!"}`, `{"version":3,"sources":["a"],"mappings":"AAAA;AAAA"}`,
		`{"version":3,"sources":["a"],"mappings":"gggggggggggggA"}`,
	} {
		if _, err := readSourceMap([]byte(wrong), 0); !errors.Is(err, errSourceMap) {
			t.Errorf("%s: error %v, want %v", wrong, err, errSourceMap)
		}
	}
}

func TestDemangled(t *testing.T) {
	for mangled, want := range map[string]string{
		"_ZN5nep2011move_tokens17h1bd4bb72cadaf234E":                                "nep20::move_tokens",
		"_ZN43_$LT$T$u20$as$u20$cairn..call..Returned$GT$4give17h09eb83b468d12c9fE": "<T as cairn::call::Returned>::give",
		"_ZN5cairn6stored13Cell$LT$T$GT$3get17h3f47042354c6684aE":                   "cairn::stored::Cell<T>::get",
		"transfer": "transfer", "assembly/index/transfer": "assembly/index/transfer", "_ZN": "_ZN", "_ZN9xE": "_ZN9xE",
	} {
		if got := demangled(mangled); got != want {
			t.Errorf("%s: %s, want %s", mangled, got, want)
		}
	}
}

// TestPlaces has a function whose second instruction is inlined from two others, one within the other.
func TestPlaces(t *testing.T) {
	own := func(line int) Position { return Position{"bank/src/lib.rs", line} }
	sdk := Position{"cairn/src/lib.rs", 91}
	m := &SourceMap{functions: []mappedFunction{{
		at:      []int{100, 102, 107},
		from:    []Position{own(3), sdk, {}},
		inlined: map[int][]Position{1: {own(9), own(4)}},
	}}}
	for at, want := range map[int][]Position{
		100: {own(3)}, 102: {sdk, own(9), own(4)}, 107: nil, 101: nil,
	} {
		if got := m.At(0, at); !slices.Equal(got, want) {
			t.Errorf("at %d: %v, not %v", at, got, want)
		}
	}
	source := contractsource.Source{Manifest: contractsource.Manifest{Language: contractsource.Rust, Package: "bank"}}
	if got := m.Before(0, 107, func(at Position) bool { return IsOwn(source, at) }); got != own(3) {
		t.Errorf("before the last: got %v, want %v", got, own(3))
	}
	if got := m.Before(0, 100, func(at Position) bool { return IsOwn(source, at) }); got != (Position{}) {
		t.Errorf("before the first: got %v", got)
	}
	script := contractsource.Source{Manifest: contractsource.Manifest{Language: contractsource.AssemblyScript}}
	for file, want := range map[string]bool{
		"assembly/index.ts": true, "assembly/index~calls.ts": false, "~lib/array.ts": false,
	} {
		if got := IsOwn(script, Position{file, 1}); got != want {
			t.Errorf("%s is own: got %v, want %v", file, got, want)
		}
	}
}
