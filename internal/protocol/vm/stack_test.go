package vm_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
)

// count adds 1 to the number at address 0; it needs three operands and takes 31 gas.
var count = Concat(Const(I32, 0), Const(I32, 0), Op(I32Load, 2, 0), Const(I32, 1), Op(I32Add), Op(I32Store, 2, 0))

func check(t *testing.T, m *Module) *vm.Module {
	t.Helper()
	checked, err := vm.Check(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// A function that counts and calls itself is entered exactly as often as its frame allows.
func TestFrames(t *testing.T) {
	// count, the call and the end produce 8 + 3 + 1 values; 3 operands and the 16 slots of each frame are added.
	const own = 12 + 3 + 16
	get, block, end, jump := Op(LocalGet, 0), []byte{BlockOp, Empty}, []byte{End}, Concat(Op(LocalGet, 0), Op(BrIfOp, 0))
	set := func(locals ...uint32) (b []byte) {
		for _, l := range locals {
			b = Concat(b, get, Op(LocalSet, l))
		}
		return b
	}
	tests := []struct {
		name   string
		params []byte
		locals int
		after  []byte // instructions after the call
		frame  int
	}{
		{"three operands", nil, 0, nil, own},
		{"locals", nil, 100, nil, own + 100},
		{"params and locals", repeat(20, I32), 50, nil, own + 20 + 50 + 17 + 20},
		{"operands", nil, 100, Concat(repeat(24, LocalGet, 0), repeat(24, Drop)), own + 100 + 21},
		{
			"operands in a block", nil, 100,
			Concat(get, Op(BlockOp), []byte{I32}, repeat(5, LocalGet, 0), repeat(4, Drop), end, repeat(2, Drop)),
			own + 100 + 3 + 1,
		},
		{"dead code", nil, 100, Concat(Op(Return), repeat(30, LocalGet, 0), repeat(30, Drop)), own + 100 + 27 + 1},
		{
			"unknown operand in dead code", nil, 100, Concat(Op(Return), Op(Select), repeat(9, LocalGet, 0), repeat(10, Drop)),
			own + 100 + 7 + 2,
		},
		{"operands that nothing put there", nil, 100, Concat(Op(Return), repeat(50, I32Add), Op(Drop)), own + 100 + 51},
		{"instructions that make no value", nil, 100, Concat(set(1), get, Op(LocalTee, 2), Op(Drop), Op(Nop)), own + 100},
		{
			"values", nil, 100, Concat(Const(I64, 1), Op(Drop), Op(MemorySize, 0), Op(MemoryGrow, 0), []byte{I32Eqz}, Op(Drop)),
			own + 100 + 1 + 1 + 3 + 1,
		},
		{"a block that no branch names", nil, 100, Concat(block, set(1, 2), end), own + 100 + 1},
		{"a block", nil, 100, Concat(block, jump, set(1, 2), end), own + 100 + 2 + 3},
		{
			"a block with a result", nil, 100, Concat(Op(BlockOp), []byte{I32}, get, jump, set(1), end, Op(Drop)),
			own + 100 + 2 + 3,
		},
		{
			"a local set twice, and in a block inside", nil, 100, Concat(block, block, set(1, 1), end, set(1), jump, end),
			own + 100 + 3 + 2,
		},
		{"a local set in dead code", nil, 100, Concat(block, Op(BrOp, 0), set(7, 8), end), own + 100 + 2 + 3},
		{"a block that dead code names", nil, 100, Concat(block, Op(Return), Op(BrOp, 0), end), own + 100 + 3 + 1},
		{"an if", nil, 100, Concat(get, Op(IfOp), []byte{Empty}, set(1), end), own + 100 + 2 + 2},
		{"an if and else", nil, 100, Concat(get, Op(IfOp), []byte{Empty}, set(1), Op(Else), set(2), end), own + 100 + 3 + 3},
		{"a loop that no branch names", nil, 100, Concat([]byte{LoopOp, Empty}, set(1), end), own + 100 + 2},
		{"a loop", nil, 100, Concat([]byte{LoopOp, Empty}, set(1, 2, 3), jump, jump, end), own + 100 + 4 + 4*3},
		{
			"a loop and a br_table", nil, 100, Concat([]byte{LoopOp, Empty}, set(1), get, BrTable(0, 0, 1, 0), end),
			own + 100 + 3 + 2*4,
		},
		{"the function's own label", nil, 100, Concat(set(1), jump), own + 100 + 1},
		{"64 slots", nil, 64 - own, nil, 64},
		{"65 slots", nil, 65 - own, nil, 65},
	}
	machine := newMachine(t, wazero.NewRuntimeConfigInterpreter())
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := Contract(1, 1)
			self := uint32(0)
			m.AddType(nil, 0)
			params := m.AddType(test.params, 0)
			arguments := repeat(len(test.params), I32Const, 0)
			m.AddFunction(params, repeat(test.locals, I32), Concat(count, arguments, Call(self), test.after)...)
			// The exported function needs its own frame if the other one takes params.
			entry := m.AddFunction(0, nil, Concat(arguments, Call(self))...)
			slots, frames := 65_536-2*len(test.params)-16-3-1, 1_023
			if len(test.params) == 0 {
				entry, slots, frames = self, 65_536, 1_024
			}
			m.Export("run", FunctionKind, entry)
			got := machine.call(check(t, m), "run", 1<<20)
			want := min(frames, slots/test.frame)
			if entered := binary.LittleEndian.Uint32([]byte(got.memory[:4])); got.exit != vm.StackOverflow || got.left != 0 ||
				int(entered) != want {
				t.Errorf("exit %d with %d gas after %d frames, want %d", got.exit, got.left, entered, want)
			}
		})
	}
}

// The frame is reserved before the first metered block: if it does not fit, gas does not matter.
func TestStackOverflowComesBeforeGas(t *testing.T) {
	m := Contract(1, 1)
	m.AddFunction(m.AddType(nil, 0), nil, Concat(count, Call(0))...)
	m.Export("run", FunctionKind, 0)
	machine, module := newMachine(t, wazero.NewRuntimeConfigInterpreter()), check(t, m)
	const enough = 1_024 * (31 + 12)
	if got := machine.call(module, "run", enough); got.exit != vm.StackOverflow {
		t.Errorf("with gas for all frames that fit: exit %d, want %d", got.exit, vm.StackOverflow)
	}
	if got := machine.call(module, "run", enough-1); got.exit != vm.OutOfGas {
		t.Errorf("with less: exit %d, want %d", got.exit, vm.OutOfGas)
	}
}

// Frames are released however a function is left.
func TestFramesAreGivenBack(t *testing.T) {
	block := func(inside ...[]byte) []byte { return Concat(Op(BlockOp), []byte{Empty}, Concat(inside...), Op(End)) }
	for name, body := range map[string][]byte{
		"end":                   nil,
		"return":                Op(Return),
		"return inside blocks":  block(block(Op(Return))),
		"br":                    block(block(Op(BrOp, 2))),
		"br_if":                 block(Const(I32, 1), Op(BrIfOp, 1)),
		"br_table":              block(Const(I32, 5), BrTable(1, 0)),
		"return from an if":     Concat(Const(I32, 1), Op(IfOp), []byte{Empty}, Op(Return), Op(End)),
		"return out of an else": Concat(Const(I32, 0), Op(IfOp), []byte{Empty}, Op(Else), Op(Return), Op(End)),
	} {
		t.Run(name, func(t *testing.T) {
			m := Contract(1, 1)
			m.AddType(nil, 0)
			m.AddFunction(0, nil, Concat(body, count)...)
			again := Concat(Op(LoopOp), []byte{Empty}, Call(0), Op(LocalGet, 0), Const(I32, 1), Op(I32Add), Op(LocalTee, 0),
				Const(I32, 2_000), []byte{0x49 /* i32.lt_u */}, Op(BrIfOp, 0), Op(End))
			m.Export("run", FunctionKind, m.AddFunction(0, []byte{I32}, again...))
			if got := newMachine(t, wazero.NewRuntimeConfigInterpreter()).call(
				check(t, m), "run", 1<<20,
			); got.exit != vm.Returned {
				t.Errorf("exit %d", got.exit)
			}
		})
	}
}

// memory.grow takes the price of the pages whatever its result, and asks the host only within the declared maximum.
func TestMemoryGrow(t *testing.T) {
	const (
		paid  = 12_000
		fixed = 1 + 1 + 12 + 14 // constants, memory.grow, store
	)
	tests := []struct {
		name   string
		pages  int64
		host   bool
		asked  []uint32
		answer uint32
		price  uint64
		exit   vm.Exit
	}{
		{"by none", 0, false, nil, 1, 0, vm.Returned},
		{"to the maximum", 2, true, []uint32{2}, 1, 2 * paid, vm.Returned},
		{"beyond the maximum", 3, true, nil, math.MaxUint32, 3 * paid, vm.Returned},
		{"more than the host allows", 1, false, []uint32{1}, math.MaxUint32, paid, vm.Returned},
		{"by more than it can pay", 1_000, true, nil, 0, 0, vm.OutOfGas},
		{"by 2^32 - 1", -1, true, nil, 0, 0, vm.OutOfGas},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := Contract(1, 3)
			m.AddFunction(
				m.AddType(nil, 0), nil, Concat(Const(I32, 0), Const(I32, test.pages), Op(MemoryGrow, 0), Op(I32Store, 2, 0))...,
			)
			m.Export("run", FunctionKind, 0)
			machine := newMachine(t, wazero.NewRuntimeConfigCompiler())
			var asked []uint32
			machine.grown = func(pages uint32) bool {
				asked = append(asked, pages)
				return test.host
			}
			const gas = 1 << 20
			got := machine.call(check(t, m), "run", gas)
			if got.exit != test.exit || len(asked) != len(test.asked) || len(asked) > 0 && asked[0] != test.asked[0] {
				t.Fatalf("exit %d, asked for %v", got.exit, asked)
			}
			if test.exit != vm.Returned {
				return
			}
			if answer := binary.LittleEndian.Uint32([]byte(got.memory[:4])); answer != test.answer ||
				gas-got.left != test.price+fixed {
				t.Errorf("answers %d for %d gas, want %d for %d", answer, gas-got.left, test.answer, test.price+fixed)
			}
		})
	}
}

// A guest that runs long asks for every slice, and the gas used is exact.
func TestSlices(t *testing.T) {
	const turns = 1_000_000
	m := Contract(1, 1)
	m.AddFunction(m.AddType(nil, 0), []byte{I32}, Concat(Const(I32, turns), Op(LocalSet, 0), Op(LoopOp), []byte{Empty},
		Op(LocalGet, 0), Const(I32, 1), Op(I32Sub), Op(LocalTee, 0), Op(BrIfOp, 0), Op(End))...)
	m.Export("run", FunctionKind, 0)
	machine, module := newMachine(t, wazero.NewRuntimeConfigCompiler()), check(t, m)
	const cost = 2 + 5 + (7+2+5)*turns // with a merge of width 1
	if got := machine.call(module, "run", cost); got.exit != vm.Returned || got.left != 0 ||
		got.refills < cost/vm.MaxSlice-1 {
		t.Errorf("exit %d with %d gas after %d refills", got.exit, got.left, got.refills)
	}
	if got := machine.call(module, "run", cost-1); got.exit != vm.OutOfGas {
		t.Errorf("with 1 gas less: exit %d, want %d", got.exit, vm.OutOfGas)
	}
	if got := machine.call(module, "run", math.MaxUint64); got.exit != vm.Returned || math.MaxUint64-got.left != cost {
		t.Errorf("with all the gas there is: exit %d, want %d, used %d, want %d",
			got.exit, vm.Returned, math.MaxUint64-got.left, cost)
	}
}

func TestGas(t *testing.T) {
	g := vm.Gas{Left: 2_500_000}
	if slice := g.Lend(); slice != 1_000_000 || g.Left != 1_500_000 {
		t.Errorf("lent %d, left %d", slice, g.Left)
	}
	minus := func(n int64) uint64 { return uint64(-n) }
	if !g.Return(300_000) || g.Left != 1_800_000 || !g.Return(minus(800_000)) || g.Left != 1_000_000 || !g.Return(0) {
		t.Errorf("left %d", g.Left)
	}
	if slice := g.Lend(); slice != 1_000_000 || g.Left != 0 || !g.Return(minus(0)) || g.Return(minus(1)) {
		t.Errorf("lent %d, left %d", slice, g.Left)
	}
	if g = (vm.Gas{Left: 5}); g.Return(minus(6)) || g.Left != 0 {
		t.Errorf("a debt that is too high leaves %d", g.Left)
	}
	if g = (vm.Gas{Left: 5}); !g.Take(5) || g.Take(1) || g.Left != 0 {
		t.Errorf("taking leaves %d", g.Left)
	}
}

// A call's gas is the sum of the metered blocks that it enters, merges included: by falling in, by a branch, past an
// if, at each branch back.
func TestMerges(t *testing.T) {
	block, loop, end := []byte{BlockOp, Empty}, []byte{LoopOp, Empty}, []byte{End}
	branch := func(taken int64, label uint32) []byte { return Concat(Const(I32, taken), Op(BrIfOp, label)) } // 4 gas
	iff := func(taken int64) []byte { return Concat(Const(I32, taken), Op(IfOp), []byte{Empty}) }            // 4 gas
	set := func(locals ...uint32) (b []byte) {                                                               // 2 gas each
		for _, l := range locals {
			b = Concat(b, Const(I32, 5), Op(LocalSet, l))
		}
		return b
	}
	// 9 gas
	turns := Concat(Op(LocalGet, 9), Const(I32, 1), Op(I32Add), Op(LocalTee, 9), Const(I32, 3), Op(I32LtU), Op(BrIfOp, 0))
	for name, test := range map[string]struct {
		body []byte
		want uint64
	}{
		"block that nothing names": {Concat(block, set(1), end), 2},
		"block, fallen through":    {Concat(block, branch(0, 0), set(1, 2), end), 4 + 4 + 2 + 5*2},
		"block, branched out of":   {Concat(block, branch(1, 0), set(1, 2), end), 4 + 2 + 5*2},
		"block named in dead code": {Concat(block, block, Op(BrOp, 1), branch(0, 0), end, end), 3 + 2},
		"block with a result": {
			Concat(Op(BlockOp), []byte{I32}, Const(I32, 1), branch(1, 0), end, Op(Drop)), 1 + 4 + 7 + 1,
		},
		"named over an inner block": {Concat(block, block, set(1), branch(1, 1), end, end), 2 + 4 + 7},
		"the same local twice":      {Concat(block, branch(0, 0), set(1, 1), end), 4 + 4 + 7},
		"if taken":                  {Concat(iff(1), set(1), end), 4 + 2 + 7},
		"if not taken":              {Concat(iff(0), set(1), end), 4 + 7},
		"else":                      {Concat(iff(0), set(1), Op(Else), set(2), end), 4 + 2 + 12},
		"then":                      {Concat(iff(1), set(1), Op(Else), set(2), end), 4 + 2 + 12},
		"if with a result": {
			Concat(Const(I32, 1), Op(IfOp), []byte{I32}, Const(I32, 1), Op(Else), Const(I32, 1), end, Op(Drop)),
			1 + 3 + 1 + 7 + 1,
		},
		"loop that nothing names":         {Concat(loop, set(1), end), 5 + 2},
		"loop entered once":               {Concat(loop, set(1), branch(0, 0), end), 5 + 7 + 2 + 4},
		"three turns":                     {Concat(loop, turns, end), 5 + 3*(7+9)},
		"loop of two blocks, three turns": {Concat(loop, iff(0), end, turns, end), 5 + 3*(7+4+2+9)},
		"br_table out of three": {
			Concat(block, block, block, Const(I32, 1), BrTable(0, 0, 1), end, set(3), end, set(4), end), 1 + 15 + 7 + 2,
		},
		"the function's own label": {Concat(set(1, 2), branch(1, 0)), 4 + 4},
		"return":                   {Concat(block, set(1), Op(Return), end), 2 + 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := Contract(1, 1)
			m.AddFunction(m.AddType(nil, 0), repeat(10, I32), test.body...)
			m.Export("run", FunctionKind, 0)
			const gas = 1_000
			machine, module := newMachine(t, wazero.NewRuntimeConfigInterpreter()), check(t, m)
			if got := machine.call(module, "run", gas); got.exit != vm.Returned || gas-got.left != test.want {
				t.Errorf("exit %d for %d gas, want %d", got.exit, gas-got.left, test.want)
			}
		})
	}
}
