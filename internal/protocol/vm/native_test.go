//go:build amd64 || arm64

package vm_test

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/naivemeter"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// machineCode compiles a rewritten module and returns the machine code of each function, from the file cache of wazero:
// "WAZEVO", its version, the functions' offsets, the code.
func machineCode(t *testing.T, module []byte) (functions [][]byte) {
	t.Helper()
	directory := t.TempDir()
	cache, err := wazero.NewCompilationCacheWithDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	config := wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV1 |
		api.CoreFeatureSignExtensionOps).WithCompilationCache(cache)
	runtime := wazero.NewRuntimeWithConfig(t.Context(), config)
	if _, err := runtime.CompileModule(t.Context(), module); err != nil {
		t.Fatal(err)
	}
	if err := runtime.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cache.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var file []byte
	err = filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			file, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil || !bytes.HasPrefix(file, []byte("WAZEVO")) {
		t.Fatalf("no machine code of %d bytes: %v", len(file), err)
	}
	file = file[7+int(file[6]):]
	offsets := make([]uint64, binary.LittleEndian.Uint32(file))
	for i := range offsets {
		offsets[i] = binary.LittleEndian.Uint64(file[4+8*i:])
	}
	file = file[4+8*len(offsets):]
	code := file[8 : 8+binary.LittleEndian.Uint64(file)]
	for i, from := range offsets {
		to := uint64(len(code))
		if i+1 < len(offsets) {
			to = offsets[i+1]
		}
		functions = append(functions, code[from:to])
	}
	return functions
}

// nativeFrame reads from the beginning of a function's machine code the stack that it requires. That includes its own
// values, the arguments of its calls, its return address and room for the check itself.
func nativeFrame(t *testing.T, function []byte) uint64 {
	t.Helper()
	read := nativeFrameAMD64
	if runtime.GOARCH == "arm64" {
		read = nativeFrameARM64
	}
	size, ok := read(function)
	if !ok {
		t.Fatalf("no prologue in % x", function[:min(64, len(function))])
	}
	return size
}

// nativeFrameAMD64 finds the sequence push %rbp; mov %rsp, %rbp; sub $n, %rsp.
func nativeFrameAMD64(function []byte) (size uint64, ok bool) {
	for i := range min(16, len(function)-7) {
		switch {
		case bytes.HasPrefix(function[i:], []byte{0x48, 0x81, 0xEC}):
			return uint64(binary.LittleEndian.Uint32(function[i+3:])), true
		case bytes.HasPrefix(function[i:], []byte{0x48, 0x83, 0xEC}):
			return uint64(function[i+3]), true
		}
	}
	return 0, false
}

// nativeFrameARM64 finds the b.ge that skips the growth of the stack. The growth begins with the size in x27: an orr,
// or movz and movk of 16 bits each.
func nativeFrameARM64(function []byte) (size uint64, ok bool) {
	var behind bool
	for code := function[:min(80, len(function)/4*4)]; len(code) > 0; code = code[4:] {
		switch w := binary.LittleEndian.Uint32(code); {
		case !behind:
			behind = w&0xFF00001F == 0x5400000A
		case w&0xFFC003FF == 0xB24003FB:
			return bits.RotateLeft64(2<<(w>>10&63)-1, -int(w>>16&63)), true
		case w&0xFF80001F == 0xD280001B, w&0xFF80001F == 0xF280001B:
			size |= uint64(w>>5&0xFFFF) << (w >> 21 & 3 * 16)
			ok = true
		default:
			return size, ok
		}
	}
	return 0, false
}

// requireNative checks that each function's machine code takes no more stack than its slots account for, 8 bytes each,
// and returns the highest share.
func requireNative(t *testing.T, code []byte) (share float64) {
	t.Helper()
	module, err := vm.Check(code)
	if err != nil {
		t.Fatal(err)
	}
	rewritten := module.Instrumented()
	if runtime.GOARCH == "arm64" {
		rewritten = vm.DivideRemainders(rewritten)
	}
	functions := machineCode(t, rewritten)
	for i, f := range naivemeter.Measure(code).Functions {
		native := nativeFrame(t, functions[i])
		if share = max(share, float64(native)/float64(8*f.Frame)); native > 8*f.Frame {
			t.Errorf("function %d takes %d bytes of stack in %d slots", i, native, f.Frame)
		}
	}
	return share
}

// The slots of a frame bound the stack of its machine code in wazero. This is tested for random contracts, for
// functions with many locals whose values meet in many ways, for the shapes that made the stack grow without bound when
// only locals and operands were counted, and for remainders whose results are all kept.
func TestNativeFrames(t *testing.T) {
	for seed := range uint64(10) {
		requireNative(t, Random(rand.New(rand.NewPCG(seed, 1))).Encode())
	}
	highest := 0.0
	for seed := range uint64(30) {
		module := tangled(rand.New(rand.NewPCG(seed, 2)))
		if _, err := vm.Check(module); err != nil {
			continue // its frame is too large
		}
		highest = max(highest, requireNative(t, module))
	}
	if highest < 0.3 {
		t.Errorf("the functions take at most %.2f of their slots: they try nothing", highest)
	}
	var ladder []byte
	for range 60 {
		ladder = append(ladder, BlockOp, Empty)
	}
	labels := make([]uint32, 60)
	for i := range labels {
		labels[i] = uint32(i)
	}
	ladder = Concat(ladder, Op(LocalGet, 0), Op(I32WrapI64), BrTable(0, labels...))
	for range 60 {
		ladder = append(append(ladder, End), rotated(0, 60)...)
	}
	t.Logf("%.2f of the slots; the ladder %.2f", highest, requireNative(t, wideFunction(60, ladder)))
	for _, opcode := range []byte{0x81, 0x82} { // i64.rem_s, rem_u
		const locals = 36
		var chain []byte
		for i := range uint32(3_000) {
			chain = Concat(
				chain, Op(LocalGet, (i+7)%locals), Op(LocalGet, (i+1)%locals), []byte{opcode}, Op(LocalSet, i%locals),
			)
		}
		t.Logf("remainders %.2f", requireNative(t, wideFunction(locals, chain)))
	}
}

// rotated sets each of some locals to the value of the next.
func rotated(first, n uint32) (b []byte) {
	for i := range n {
		b = append(b, Op(LocalGet, first+i)...)
	}
	for i := range n {
		b = append(b, Op(LocalSet, first+(n-i)%n)...)
	}
	return b
}

// Functions of a tangled module: its own, one without params, and one with params and a result.
const (
	tangledEmpty = iota + 1
	tangledTaker
)

// wideFunction returns a contract whose function 0 has the given number of locals of type i64, all used at its end, and
// these instructions.
func wideFunction(locals uint32, instructions []byte) []byte {
	m := Contract(1, 16)
	empty, take := m.AddType(nil, 0), m.AddType(bytes.Repeat([]byte{I64}, 12), I64)
	m.Tables = [][]byte{{0x70, 0, 4}}
	for range 8 {
		m.Globals = append(m.Globals, Global(I64, true, 1))
	}
	var sum []byte
	for i := range locals {
		sum = Concat(sum, Op(GlobalGet, 0), Op(LocalGet, i), Op(I64Add), Op(GlobalSet, 0))
	}
	m.AddFunction(empty, bytes.Repeat([]byte{I64}, int(locals)), Concat(instructions, sum)...)
	m.AddFunction(empty, nil)
	m.AddFunction(take, nil, Op(LocalGet, 3)...)
	m.Elements = [][]byte{Element(0, tangledEmpty, tangledTaker)}
	return m.Encode()
}

// tangle writes a function that is hard for a register allocator.
type tangle struct {
	*rand.Rand
	locals uint32
	kinds  []int // kinds of statements; one that is listed more often is likelier
	left   int   // statements
	labels int
}

func tangled(r *rand.Rand) []byte {
	g := &tangle{Rand: r, locals: uint32(1 + r.IntN(98)), left: 20 + r.IntN(400)}
	for kind := range 14 {
		for range r.IntN(4) {
			g.kinds = append(g.kinds, kind)
		}
	}
	g.kinds = append(g.kinds, r.IntN(14))
	var b []byte
	for g.left > 0 {
		b = append(b, g.statement()...)
	}
	return wideFunction(g.locals, b)
}

func (g *tangle) local() uint32   { return g.Uint32N(g.locals) }
func (g *tangle) get() []byte     { return Op(LocalGet, g.local()) }
func (g *tangle) address() []byte { return Concat(g.get(), Op(I32WrapI64)) }

// value is an i64.
func (g *tangle) value() []byte {
	switch g.IntN(8) {
	case 0:
		return Const(I64, int64(g.Uint64()))
	case 1:
		return Concat(g.address(), Op(I64Load, 0, g.Uint32N(100)))
	case 2:
		return Concat(g.get(), g.get(), []byte{0x7F + byte(g.IntN(4))}) // div, rem
	case 3:
		return Concat(g.get(), g.get(), g.address(), Op(Select))
	case 4:
		return Op(GlobalGet, g.Uint32N(8))
	case 5:
		return Concat(g.get(), []byte{0x79 + byte(g.IntN(3))}) // clz, ctz, popcnt
	}
	return Concat(g.get(), g.get(), Op(I64Add))
}

// inside is some statements in a construct.
func (g *tangle) inside(opcode byte) []byte {
	g.labels++
	b := []byte{opcode, Empty}
	for range 1 + g.IntN(8) {
		b = append(b, g.statement()...)
	}
	if opcode == IfOp && g.IntN(2) == 0 {
		b = Concat(b, Op(Else), g.statement(), g.statement())
	}
	g.labels--
	return append(b, End)
}

func (g *tangle) statement() []byte {
	if g.left--; g.left < 0 || g.labels > 60 {
		return Concat(g.value(), Op(LocalSet, g.local()))
	}
	switch g.kinds[g.IntN(len(g.kinds))] {
	case 0:
		return g.inside(BlockOp)
	case 1:
		return Concat(g.address(), g.inside(IfOp))
	case 2:
		return g.inside(LoopOp)
	case 3:
		return Concat(g.address(), Op(BrIfOp, g.Uint32N(uint32(g.labels)+1)))
	case 4:
		labels := make([]uint32, 1+g.IntN(20))
		for i := range labels {
			labels[i] = g.Uint32N(uint32(g.labels) + 1)
		}
		return Concat(g.address(), openIf, g.address(), BrTable(0, labels...), []byte{End})
	case 5:
		return Call(tangledEmpty)
	case 6:
		return Concat(g.address(), Op(CallIndirect, 0, 0))
	case 7:
		return Concat(g.address(), g.value(), Op(I64Store, 0, 4))
	case 8:
		return rotated(0, 1+g.Uint32N(g.locals))
	case 9: // operands kept over a statement
		n := 1 + g.IntN(30)
		var b []byte
		for range n {
			b = append(b, g.value()...)
		}
		return Concat(b, g.statement(), bytes.Repeat(Op(I64Add), n-1), Op(LocalSet, g.local()))
	case 10:
		var b []byte
		for range 12 {
			b = append(b, g.value()...)
		}
		return Concat(b, Call(tangledTaker), Op(LocalSet, g.local()))
	case 11:
		return Concat(g.address(), Op(MemoryGrow, 0), []byte{I64ExtendI32U}, Op(LocalSet, g.local()))
	case 12:
		return Concat(g.value(), Op(LocalTee, g.local()), Op(GlobalSet, g.Uint32N(8)))
	}
	return Concat(g.value(), Op(LocalSet, g.local()))
}

var openIf = []byte{IfOp, Empty}
