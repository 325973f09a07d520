package vm_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/naivemeter"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostOfRandom implements the imports of random contracts.
func hostOfRandom(f vm.Function, _ api.Memory, stack []uint64, gas *vm.Gas) vm.Exit {
	if !gas.Take(50) {
		return vm.OutOfGas
	}
	if stack[0] = 7; f == vm.GasLeft {
		stack[0] = gas.Left
	}
	return vm.Returned
}

// Random contracts end in the same way with the same gas and memory everywhere. The interpreter of this test runs the
// submitted module, and both engines of wazero run the rewritten one. Nobody sees the memory of a call that ran out of
// gas, which the rewritten module detects later.
func TestRandomContracts(t *testing.T) {
	compiler, interpreter := newMachine(t, wazero.NewRuntimeConfigCompiler()),
		newMachine(t, wazero.NewRuntimeConfigInterpreter())
	compiler.host, interpreter.host = hostOfRandom, hostOfRandom
	exits := map[vm.Exit]int{}
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := Random(r)
		checked, err := vm.Check(m.Encode())
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		gas := r.Uint64N(1 << (8 + r.IntN(14)))
		in := interpret(m, gas)
		want := outcome{exit: in.run(uint32(len(in.functions) - 1))}
		want.left, want.memory = in.gas, string(in.memory)
		exits[want.exit]++
		requireRule(t, m.Encode(), checked)
		for name, machine := range map[string]*machine{"compiler": compiler, "interpreter": interpreter} {
			got := machine.call(checked, "run", gas)
			if got.exit != want.exit || got.left != want.left || got.memory != want.memory && got.exit != vm.OutOfGas {
				t.Errorf("seed %d: %s ends %d with %d of %d gas, same memory: %v; want %d with %d",
					seed, name, got.exit, got.left, gas, got.memory == want.memory, want.exit, want.left)
			}
		}
	}
	for _, exit := range []vm.Exit{vm.Returned, vm.Trapped, vm.OutOfGas, vm.StackOverflow} {
		if exits[exit] == 0 {
			t.Errorf("no contract ends with exit %d: %v", exit, exits)
		}
	}
}

// A trap after a block that could not be paid is out of gas.
func TestTrapBehindUnpaidBlock(t *testing.T) {
	nextBlock := []byte{BlockOp, Empty, End}
	for name, test := range map[string]struct {
		trap  []byte
		price uint64
	}{
		"unreachable": {Op(Unreachable), 1},
		"load":        {Concat(Const(I32, -1), Op(I32Load, 2, 0), Op(Drop)), 15},
		"division":    {Concat(Const(I32, 1), Const(I32, 0), Op(I32DivU), Op(Drop)), 15},
	} {
		t.Run(name, func(t *testing.T) {
			price := 1 + test.price
			m := Contract(1, 1)
			m.AddFunction(m.AddType(nil, 0), []byte{I32}, Concat(Op(Nop), nextBlock, test.trap)...)
			m.Export("run", FunctionKind, 0)
			machine, module := newMachine(t, wazero.NewRuntimeConfigInterpreter()), check(t, m)
			for gas := range price + 1 {
				want := vm.OutOfGas
				if gas == price {
					want = vm.Trapped
				}
				if got := machine.call(module, "run", gas); got.exit != want {
					t.Errorf("exit %d with %d of %d gas, want %d", got.exit, gas, price, want)
				}
			}
		})
	}
}

// After a block that cannot be paid for, only one activation of one function continues, without another iteration of a
// loop, for at most 1,000 gas. So code that counts its work in memory counts at most that much more than it can pay
// for.
func TestUnpaidWork(t *testing.T) {
	nextBlock := []byte{BlockOp, Empty, End}
	const each = 28 // the price of count
	down := Contract(1, 1)
	down.AddType(nil, 0)
	for i := range uint32(40) {
		down.AddFunction(0, nil, Concat(count, nextBlock, Call(i+1), nextBlock, count)...)
	}
	down.AddFunction(0, nil, count...)
	down.Export("run", FunctionKind, 0)
	loop := Contract(1, 1)
	loop.AddType(nil, 0)
	loop.AddFunction(0, nil, Concat(Op(LoopOp), nextBlock[1:2], nextBlock, count, Op(BrOp, 0), Op(End))...)
	loop.Export("run", FunctionKind, 0)
	straight := Contract(1, 1)
	straight.AddType(nil, 0)
	straight.AddFunction(0, nil, repeat(200, Concat(count, nextBlock)...)...)
	straight.Export("run", FunctionKind, 0)
	// Where branches skip most of the text, each way has its own sum.
	arm := Concat(Const(I32, 0), Op(IfOp), []byte{Empty}, repeat(600, Nop), Op(End))
	over := Contract(1, 1)
	over.AddType(nil, 0)
	over.AddFunction(0, nil, repeat(30, Concat(repeat(15, count...), arm)...)...)
	over.Export("run", FunctionKind, 0)
	// Each end is computed from the table alone, with the gas taken before it.
	table := Contract(1, 1)
	table.AddType(nil, 0)
	labels := make([]uint32, 20)
	for i := range labels {
		labels[i] = uint32(i)
	}
	fall := Concat(
		repeat(35, count...), repeat(20, BlockOp, Empty), Const(I32, 0), BrTable(0, labels...),
		repeat(20, Concat(Op(End), count)...),
	)
	table.AddFunction(0, nil, Concat(fall, fall, fall)...)
	table.Export("run", FunctionKind, 0)
	for name, m := range map[string]*Module{
		"calls": down, "loop": loop, "straight": straight, "over": over, "table": table,
	} {
		machine, module := newMachine(t, wazero.NewRuntimeConfigInterpreter()), check(t, m)
		for gas := uint64(0); gas < 1_200; gas += 97 {
			got := machine.call(module, "run", gas)
			if got.exit != vm.OutOfGas {
				t.Fatalf("%s: exit %d with %d gas", name, got.exit, gas)
			}
			if n := uint64(binary.LittleEndian.Uint32([]byte(got.memory[:4]))); n > (gas+1_000)/each {
				t.Errorf("%s: counts to %d with %d gas", name, n, gas)
			}
		}
	}
}

// heavy returns a module of the given number of functions that weigh 59,292 each: 120 blocks around the assignment of
// 98 locals, all targets of a br_table. Its function run has one jump of each kind.
func heavy(functions int) *Module {
	m := Contract(1, 1)
	empty := m.AddType(nil, 0)
	labels := make([]uint32, 119)
	body := repeat(120, BlockOp, Empty)
	for i := range uint32(98) {
		body = Concat(body, Op(LocalGet, i), Op(LocalSet, i))
	}
	for i := range labels {
		labels[i] = uint32(i)
	}
	body = Concat(body, Const(I32, 0), BrTable(119, labels...), repeat(120, End))
	idle := m.AddFunction(empty, nil)
	for range functions {
		m.AddFunction(empty, repeat(98, I64), body...)
	}
	m.Tables, m.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{Element(0, idle)}
	open := []byte{BlockOp, Empty}
	run := m.AddFunction(empty, nil, Concat(
		Const(I32, 0), []byte{IfOp, Empty, End},
		open, Op(BrOp, 0), Op(End),
		open, Const(I32, 1), Op(BrIfOp, 0), Op(End),
		open, Const(I32, 0), BrTable(0), Op(End),
		Call(idle), Const(I32, 0), Op(CallIndirect, empty, 0),
		Op(Return))...)
	m.Export("run", FunctionKind, run)
	return m
}

// Each jump costs more in a module whose machine code exceeds every cache.
func TestJumpsOfHeavyModules(t *testing.T) {
	const light, jumps = 114, 7 // the price of run in a light module
	machine := newMachine(t, wazero.NewRuntimeConfigInterpreter())
	for _, test := range []struct {
		functions int
		weight    uint64
		more      uint64
	}{{0, 194, 0}, {1, 59_486, 44}, {2, 118_778, 64}, {30, 1_778_954, 64}} {
		m := heavy(test.functions)
		module := check(t, m)
		requireRule(t, m.Encode(), module)
		if got := naivemeter.Measure(m.Encode()).Weight; got != test.weight {
			t.Errorf("%d functions weigh %d, want %d", test.functions, got, test.weight)
		}
		price := light + jumps*test.more
		if got := machine.call(module, "run", price+1); got.exit != vm.Returned || got.left != 1 {
			t.Errorf("%d functions: exit %d with %d left of %d, want 1", test.functions, got.exit, got.left, price+1)
		}
		if got := machine.call(module, "run", price-1); got.exit != vm.OutOfGas {
			t.Errorf("%d functions: exit %d with %d gas, want %d", test.functions, got.exit, price-1, vm.OutOfGas)
		}
	}
}

// requireRule compares the output of Check for a module, and the frames that Check wrote into it, with package
// naivemeter.
func requireRule(t *testing.T, code []byte, checked *vm.Module) {
	t.Helper()
	want := naivemeter.Measure(code)
	if got := uint64(checked.DeployGas()); got != want.DeployGas || checked.Load() != want.Load ||
		checked.InstanceItems() != want.InstanceItems {
		t.Errorf(
			"deploy %d, load %d, %d items; want %d, %d, %d", got, checked.Load(), checked.InstanceItems(),
			want.DeployGas, want.Load, want.InstanceItems,
		)
	}
	for i, slots := range frames(checked.Instrumented()) {
		if i < len(want.Functions) && slots != want.Functions[i].Frame {
			t.Errorf("function %d has a frame of %d slots, want %d", i, slots, want.Functions[i].Frame)
		}
	}
}

// frames reads from a rewritten module the number of slots that each function's entry takes; added functions take none.
func frames(module []byte) (slots []uint64) {
	number := func() (n uint64) {
		n, size := binary.Uvarint(module)
		module = module[size:]
		return n
	}
	for module = module[8:]; len(module) > 0; {
		id := module[0]
		module = module[1:]
		size := number()
		if id != 10 {
			module = module[size:]
			continue
		}
		for range number() {
			size := number()
			rest := module[size:]
			for range number() { // locals
				number()
				module = module[1:]
			}
			if slots = append(slots, 0); module[0] == GlobalGet {
				module = module[1:]
				number()
				frame, _ := signed(module[1:])
				slots[len(slots)-1] = uint64(uint32(frame))
			}
			module = rest
		}
	}
	return slots
}
