package vm_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// command is one line of the test suite in the form that wabt's wast2json writes.
type command struct {
	Type, Name, Filename, As string
	Line                     int
	Action                   struct {
		Type, Module, Field string
		Args                []specValue
	}
	Expected []specValue
}

type specValue struct{ Type, Value string }

// suite reads testdata/spec.tar.gz.
func suite(t *testing.T) map[string][]byte {
	t.Helper()
	file, err := os.Open("testdata/spec.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// The test suite of WebAssembly 1.0: malformed and invalid modules are refused; all others still compute the same after
// rewriting.
func TestSpecification(t *testing.T) {
	files, count := suite(t), map[string]int{}
	for name, content := range files {
		if !strings.HasSuffix(name, ".json") {
			continue
		}
		t.Run(strings.TrimSuffix(name, ".json"), func(t *testing.T) {
			var commands []command
			if err := json.Unmarshal(content, &commands); err != nil {
				t.Fatal(err)
			}
			s := newSpecification(t)
			registered := registrations(commands)
			for i, c := range commands {
				count[c.Type]++
				s.run(c, files[c.Filename], registered[i])
			}
		})
	}
	for kind, atLeast := range map[string]int{
		"module":            780,
		"assert_return":     15_788,
		"assert_invalid":    989,
		"assert_malformed":  661,
		"assert_trap":       458,
		"assert_exhaustion": 15,
	} {
		if count[kind] < atLeast {
			t.Errorf("%d commands %s, want %d", count[kind], kind, atLeast)
		}
	}
}

// registrations returns the names under which later modules import from modules, by the index of the module's command:
// wazero must know them when it instantiates.
func registrations(commands []command) map[int]string {
	names, last := map[int]string{}, map[string]int{}
	for i, c := range commands {
		switch c.Type {
		case "module":
			last[""], last[c.Name] = i, i
		case "register":
			names[last[c.Name]] = c.As
		}
	}
	return names
}

// specification runs the commands of one file.
type specification struct {
	t       *testing.T
	runtime wazero.Runtime
	last    api.Module
	named   map[string]api.Module
	shared  api.Memory // memory of the host module
}

func newSpecification(t *testing.T) *specification {
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV1)
	s := &specification{t: t, runtime: wazero.NewRuntimeWithConfig(t.Context(), config), named: map[string]api.Module{}}
	t.Cleanup(func() {
		if err := s.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	engine := s.runtime.NewHostModuleBuilder(vm.EngineModule)
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	engine.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(
		_ context.Context, _ api.Module, stack []uint64,
	) {
		stack[0] = vm.MaxSlice
	}), i64, i64).Export(vm.RefillName)
	engine.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(s.grow), i32, i32).Export(vm.GrowName)
	if _, err := engine.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	host, err := s.runtime.InstantiateWithConfig(t.Context(), spectest(), wazero.NewModuleConfig().WithName("spectest"))
	if err != nil {
		t.Fatal(err)
	}
	s.shared = host.ExportedMemory("memory")
	return s
}

// grow is memory.grow. A memory of a rewritten module may grow to a page less than it declares.
func (s *specification) grow(_ context.Context, inside api.Module, stack []uint64) {
	memory := inside.Memory()
	most, bounded := memory.Definition().Max()
	if bounded && most < 65536 && memory != s.shared {
		most--
	}
	before, ok := memory.Size()>>16, uint64(memory.Size()>>16)+uint64(uint32(stack[0])) <= uint64(most)
	if ok {
		_, ok = memory.Grow(uint32(stack[0]))
	}
	if stack[0] = uint64(before); !ok {
		stack[0] = math.MaxUint32
	}
}

// spectest is the host module of the test suite (interpreter/README.md of the specification's repository).
func spectest() []byte {
	var m Module
	for i, params := range [][]byte{nil, {I32}, {I64}, {F32}, {F64}, {I32, F32}, {F64, F64}} {
		names := []string{"print", "print_i32", "print_i64", "print_f32", "print_f64", "print_i32_f32", "print_f64_f64"}
		m.Export(names[i], FunctionKind, m.AddFunction(m.AddType(params, 0), nil))
	}
	m.Tables = [][]byte{{0x70, 1, 10, 20}}
	m.Memories = [][]byte{{1, 1, 2}}
	m.Globals = [][]byte{
		Global(I32, false, 666), Global(I64, false, 666),
		{F32, 0, 0x43, 0, 0x80, 0x26, 0x44, End}, {F64, 0, 0x44, 0, 0, 0, 0, 0, 0xD0, 0x84, 0x40, End},
	}
	m.Export("table", TableKind, 0)
	m.Export("memory", MemoryKind, 0)
	for i, name := range []string{"global_i32", "global_i64", "global_f32", "global_f64"} {
		m.Export(name, GlobalKind, uint32(i))
	}
	return m.Encode()
}

func (s *specification) run(c command, code []byte, name string) {
	switch c.Type {
	case "module":
		module, err := s.instantiate(code, name)
		if err != nil {
			s.t.Errorf("line %d: %v", c.Line, err)
		}
		if s.last = module; c.Name != "" {
			s.named[c.Name] = module
		}
	case "assert_unlinkable", "assert_uninstantiable":
		if _, err := s.instantiate(code, ""); err == nil || errors.As(err, new(*vm.Refused)) {
			s.t.Errorf("line %d: %s: got %v", c.Line, c.Type, err)
		}
	case "assert_invalid", "assert_malformed":
		if _, err := vm.RewriteCore(code); !errors.As(err, new(*vm.Refused)) {
			s.t.Errorf("line %d: %s %s is accepted", c.Line, c.Type, c.Filename)
		}
	case "register": // done by instantiate
	default:
		s.act(c)
	}
}

func (s *specification) instantiate(code []byte, name string) (api.Module, error) {
	rewritten, err := vm.RewriteCore(code)
	if err != nil {
		return nil, err
	}
	rewritten = importRewritten(rewritten)
	return s.runtime.InstantiateWithConfig(
		s.t.Context(), rewritten, wazero.NewModuleConfig().WithName(name).WithStartFunctions(),
	)
}

// importRewritten renames the imports of a rewritten module from another rewritten one to the names of that module's
// exports.
func importRewritten(code []byte) []byte {
	out, at := slices.Clone(code[:8]), 8
	number := func() uint64 {
		n, size := binary.Uvarint(code[at:])
		at += size
		return n
	}
	name := func() string {
		n := int(number())
		at += n
		return string(code[at-n : at])
	}
	for at < len(code) {
		id, size := code[at], uint64(0)
		at++
		if size = number(); id != 2 {
			out = append(out, Section(id, code[at:at+int(size)])...)
			at += int(size)
			continue
		}
		entries := make([][]byte, number())
		for i := range entries {
			module, field, from := name(), name(), at
			if module != "spectest" && module != vm.EngineModule {
				field = vm.GuestPrefix + field
			}
			switch at++; code[at-1] {
			case TableKind:
				at++
				fallthrough
			case MemoryKind:
				flag := number()
				for range flag + 1 {
					number()
				}
			case GlobalKind:
				at += 2
			default:
				number()
			}
			entries[i] = Concat(Name(module), Name(field), code[from:at])
		}
		out = append(out, Section(2, Vector(entries...))...)
	}
	return out
}

func (s *specification) act(c command) {
	module := s.last
	if c.Action.Module != "" {
		module = s.named[c.Action.Module]
	}
	if module == nil {
		s.t.Errorf("line %d: no module", c.Line)
		return
	}
	field := vm.GuestPrefix + c.Action.Field
	if c.Action.Type == "get" {
		if got := module.ExportedGlobal(field).Get(); !c.Expected[0].is(got) {
			s.t.Errorf("line %d: %s is %d, want %v", c.Line, c.Action.Field, got, c.Expected)
		}
		return
	}
	args := make([]uint64, len(c.Action.Args))
	for i, a := range c.Action.Args {
		args[i] = a.number()
	}
	stack := module.ExportedGlobal(vm.StackName).(api.MutableGlobal)
	before := stack.Get()
	results, err := module.ExportedFunction(field).Call(s.t.Context(), args...)
	gas := vm.Gas{Left: 1 << 40}
	overflowed := gas.Trapped(module.ExportedGlobal(vm.GasName).Get(), stack.Get()) == vm.StackOverflow
	if err == nil && stack.Get() != before {
		s.t.Errorf("line %d: frames are not given back: %x, before %x", c.Line, stack.Get(), before)
	}
	stack.Set(before)
	switch {
	case c.Type == "assert_exhaustion" && overflowed, c.Type == "assert_trap" && !overflowed && err != nil:
		return
	case c.Type == "assert_exhaustion", c.Type == "assert_trap", err != nil,
		len(results) != len(c.Expected) && c.Type == "assert_return":
		s.t.Errorf(
			"line %d: %s(%v): got %v, %v, want %s %v", c.Line, c.Action.Field, c.Action.Args, results, err, c.Type, c.Expected,
		)
		return
	}
	for i, want := range c.Expected {
		if !want.is(results[i]) {
			s.t.Errorf("line %d: %s(%v): got %x, want %v", c.Line, c.Action.Field, c.Action.Args, results[i], want)
		}
	}
}

func (v specValue) number() uint64 {
	n, err := strconv.ParseUint(v.Value, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// is reports whether a result is as expected. For a NaN, only that it is one is checked.
func (v specValue) is(got uint64) bool {
	switch {
	case !strings.HasPrefix(v.Value, "nan:"):
		return got == v.number()
	case v.Type == "f32":
		return math.IsNaN(float64(math.Float32frombits(uint32(got))))
	}
	return math.IsNaN(math.Float64frombits(got))
}
