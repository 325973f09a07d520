package vm_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/tetratelabs/wazero"
)

// The remainders by opcode.
var remainders = map[byte]struct {
	valueType byte
	of        func(a, b int64) uint64
}{
	0x6F: {I32, func(a, b int64) uint64 { return uint64(uint32(int64(int32(a)) % int64(int32(b)))) }},
	0x70: {I32, func(a, b int64) uint64 { return uint64(uint32(a) % uint32(b)) }},
	0x81: {I64, func(a, b int64) uint64 { return uint64(a % b) }},
	0x82: {I64, func(a, b int64) uint64 { return uint64(a) % uint64(b) }},
}

// divided are machines that run modules without remainders.
func divided(t *testing.T) map[string]*machine {
	machines := map[string]*machine{
		"compiler":    newMachine(t, wazero.NewRuntimeConfigCompiler()),
		"interpreter": newMachine(t, wazero.NewRuntimeConfigInterpreter()),
	}
	for _, m := range machines {
		m.divided = true
	}
	return machines
}

// The replacement of a remainder has its result, for any operands.
func TestDivideRemainders(t *testing.T) {
	operands := []int64{
		1, -1, 2, -2, 7, -7, 100, math.MaxInt32, math.MinInt32, math.MinInt32 + 1, math.MaxInt64, math.MinInt64,
		math.MinInt64 + 1, 0x0123_4567_89AB_CDEF,
	}
	m := Contract(1, 1)
	var body []byte
	var want []uint64
	for opcode, r := range remainders {
		for _, a := range append(operands, 0) {
			for _, b := range operands {
				if r.valueType == I32 && int32(b) == 0 {
					continue
				}
				body = Concat(body, Const(I32, int64(8*len(want))), Const(r.valueType, a), Const(r.valueType, b), []byte{opcode})
				if want = append(want, r.of(a, b)); r.valueType == I32 {
					body = append(body, I64ExtendI32U)
				}
				body = Concat(body, Op(I64Store, 0, 0))
			}
		}
	}
	dead := []byte{Return, 0x6F, Drop, 0x82, Drop}
	m.AddFunction(m.AddType(nil, 0), []byte{I64}, Concat(body, dead)...)
	m.Export("run", FunctionKind, 0)
	checked := check(t, m)
	without := vm.DivideRemainders(checked.Instrumented())
	if again := vm.DivideRemainders(without); &again[0] != &without[0] || &without[0] == &checked.Instrumented()[0] {
		t.Error("a remainder is left")
	}
	const gas = 1 << 20
	asIs := newMachine(t, wazero.NewRuntimeConfigInterpreter()).call(checked, "run", gas)
	for name, machine := range divided(t) {
		got := machine.call(checked, "run", gas)
		if got.exit != vm.Returned || got.left != asIs.left {
			t.Errorf("%s: exit %d with %d gas left, want %d", name, got.exit, got.left, asIs.left)
		}
		for i, want := range want {
			if got := binary.LittleEndian.Uint64([]byte(got.memory[8*i:])); got != want {
				t.Errorf("%s: remainder %d is %d, want %d", name, i, got, want)
			}
		}
	}
}

// A division by 0 traps in the same way, at the same gas.
func TestDividedByZero(t *testing.T) {
	for opcode, r := range remainders {
		m := Contract(1, 1)
		m.AddFunction(m.AddType(nil, 0), nil, Concat(Const(r.valueType, -1), Const(r.valueType, 0), []byte{opcode, Drop})...)
		m.Export("run", FunctionKind, 0)
		checked := check(t, m)
		price := uint64(1 + 1 + 12 + 1)
		if r.valueType == I64 {
			price += 8
		}
		for name, machine := range divided(t) {
			got := machine.call(checked, "run", price)
			if got.exit != vm.Trapped || got.trap != "integer divide by zero" {
				t.Errorf("%s, opcode %x: exit %d, want %d, %q, want integer divide by zero",
					name, opcode, got.exit, vm.Trapped, got.trap)
			}
			if got := machine.call(checked, "run", price-1); got.exit != vm.OutOfGas {
				t.Errorf("%s, opcode %x: exit %d with 1 gas less, want %d", name, opcode, got.exit, vm.OutOfGas)
			}
		}
	}
}
