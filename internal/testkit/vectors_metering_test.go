package testkit

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/naivemeter"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// meteringVector is a module with its metering according to the page, or a module that is refused.
type meteringVector struct {
	About         string           `json:"about"`
	Code          bytesHex         `json:"code"`
	Refused       bool             `json:"refused,omitempty"`
	Functions     []functionVector `json:"functions,omitempty"`
	DeployGas     uint64           `json:"deploy_gas,omitempty"`
	Load          uint64           `json:"load,omitempty"`
	InstanceItems uint64           `json:"instance_items"`
	Weight        uint64           `json:"weight,omitempty"`
}

// functionVector is a function that the module defines.
type functionVector struct {
	Variables   uint64   `json:"variables"`
	Frame       uint64   `json:"frame"`
	Branches    uint64   `json:"branches"`
	BlockPrices []uint64 `json:"block_prices"` // of the metered blocks in the order of the text
}

// meteringSection compares the code with the naive rule, which provides the values that the code does not report.
func meteringSection(t *testing.T) (all []meteringVector) {
	t.Helper()
	for _, m := range meteredModules() {
		code := m.module.Encode()
		v := meteringVector{About: m.about, Code: code}
		checked, err := vm.Check(code)
		if _, ok := errors.AsType[*vm.Refused](err); ok {
			v.Refused = true
			all = append(all, v)
			continue
		}
		rule := naivemeter.Measure(code)
		v.DeployGas, v.Load, v.InstanceItems = uint64(checked.DeployGas()), checked.Load(), checked.InstanceItems()
		if v.DeployGas != rule.DeployGas || v.Load != rule.Load || v.InstanceItems != rule.InstanceItems {
			t.Errorf(
				"%s: deploy %d, load %d, %d items; the naive rule has %+v", m.about, v.DeployGas, v.Load, v.InstanceItems, rule,
			)
		}
		v.Weight = rule.Weight
		for _, f := range rule.Functions {
			function := functionVector{Variables: f.Variables, Frame: f.Frame, Branches: f.Branches}
			for _, b := range f.Blocks {
				function.BlockPrices = append(function.BlockPrices, b.Price)
			}
			v.Functions = append(v.Functions, function)
		}
		all = append(all, v)
	}
	return all
}

type meteredModule struct {
	about  string
	module *Module
}

// with returns a contract whose one function has these locals and instructions; type 0 is () → ().
func with(locals []byte, instructions ...[]byte) *Module {
	m := Contract(1, 1)
	m.AddType(nil, 0)
	m.AddFunction(0, locals, Concat(instructions...)...)
	return m
}

var (
	openBlock, openLoop, openIf = []byte{BlockOp, Empty}, []byte{LoopOp, Empty}, []byte{IfOp, Empty}
	closed, get0                = []byte{End}, Op(LocalGet, 0)
)

func setLocal(i uint32) []byte { return Concat(Const(I32, 7), Op(LocalSet, i)) }

func meteredModules() []meteredModule {
	example := Contract(1, 1)
	example.AddFunction(example.AddType([]byte{I32}, 0), []byte{I32}, Concat(openBlock, openLoop,
		Op(LocalGet, 1), Const(I32, 1), Op(I32Add), Op(LocalTee, 1), Op(
			BrIfOp, 1,
		), Op(LocalGet, 1), Op(I32Load, 2, 0), Op(BrIfOp, 0), closed,
		Const(I32, 0), Op(LocalSet, 0), closed, get0, Op(Drop))...)
	two := []byte{I32, I32}
	return append([]meteredModule{
		{"the example of the page", example},
		{"one empty function", with(nil)},
		{"a block that no branch names has no merge", with(two, openBlock, setLocal(0), closed)},
		{
			"a local set twice counts once, in an inner block too",
			with(two, openBlock, get0, Op(BrIfOp, 0), setLocal(0), openBlock, setLocal(0), closed, closed),
		},
		{"a block and an if with results",
			with(two, Op(BlockOp), []byte{I64}, Const(I64, 1), get0, Op(BrIfOp, 0), closed, Op(Drop),
				get0, []byte{IfOp, I32}, get0, setLocal(1), Op(Else), get0, closed, Op(Drop))},
		{
			"an if without else, and one whose arms set different locals",
			with(two, get0, openIf, setLocal(1), closed, get0, openIf, setLocal(0), Op(Else), setLocal(1), closed),
		},
		{
			"a loop that a br_table names three times",
			with(two, openLoop, openBlock, setLocal(1), get0, BrTable(1, 1, 0, 1, 2), closed, closed),
		},
		{"dead code counts", with(
			two, openBlock, openLoop, Op(Return), setLocal(0), Op(BrOp, 0), Op(Select), get0, get0, get0, Op(BrIfOp, 1),
			Op(Unreachable), closed, closed,
		)},
		{"return and the function's own label", with(two, get0, Op(BrIfOp, 0), openBlock, Op(Return), closed, Op(BrOp, 0))},
		{"calls beside mutable globals", callsBesideGlobals()},
		{"instructions with prices of their own", pricedInstructions()},
		{"jumps cost more in a heavy module", jumpsFar()},
	}, atLimits()...)
}

// callsBesideGlobals has an import, a table, segments, params and each kind of call.
func callsBesideGlobals() *Module {
	m := Contract(1, 2)
	empty, caller, sum := m.AddType(nil, 0), m.AddType([]byte{I32}, 0), m.AddType([]byte{I64, I32}, I64)
	m.Imports = [][]byte{ImportFunction("cairn", "caller", caller)}
	m.Tables = [][]byte{{0x70, 0, 4}}
	m.Globals = [][]byte{Global(I32, true, -5), Global(I64, false, 1<<40), Global(I64, true, -1)}
	m.AddFunction(empty, nil, Concat(
		Const(I32, 0), Call(0), Const(I64, 200), Const(I32, 3), Call(2), Op(GlobalSet, 2), Const(I32, 1),
		Op(CallIndirect, empty, 0),
	)...)
	m.AddFunction(sum, []byte{I64}, Concat(
		get0, Op(LocalGet, 1), []byte{I64ExtendI32U}, Op(I64Add), Const(I32, 0), Op(MemoryGrow, 0), Op(Drop),
		Op(MemorySize, 0), Op(Drop),
	)...)
	m.Elements = [][]byte{Element(1, 1, 1), Element(0, 1)}
	m.Data = [][]byte{Data(16, "data"), Data(0, "")}
	return m
}

// jumpsFar has a function for each kind of jump, and one of a great weight.
func jumpsFar() *Module {
	m := Contract(1, 1)
	empty := m.AddType(nil, 0)
	labels := make([]uint32, 119)
	for i := range labels {
		labels[i] = uint32(i)
	}
	var assigned []byte
	for i := range uint32(98) {
		assigned = Concat(assigned, Op(LocalGet, i), Op(LocalSet, i))
	}
	m.AddFunction(empty, nil, Concat(Const(I32, 0), openIf, closed, openBlock, Op(BrOp, 0), closed,
		openBlock, Const(I32, 1), Op(BrIfOp, 0), closed, openBlock, Const(I32, 0), BrTable(0), closed,
		openLoop, closed, Call(1), Const(I32, 0), Op(CallIndirect, empty, 0), Op(Return))...)
	m.AddFunction(empty, bytes.Repeat([]byte{I64}, 98), Concat(bytes.Repeat(openBlock, 120), assigned,
		Const(I32, 0), BrTable(119, labels...), bytes.Repeat(closed, 120))...)
	m.Tables, m.Elements = [][]byte{{0x70, 0, 1}}, [][]byte{Element(0, 1)}
	return m
}

func pricedInstructions() *Module {
	var body []byte
	for op := byte(I32Load); op <= 0x3E; op++ {
		value := byte(I32)
		switch {
		case op >= 0x2A && op <= 0x2B, op == 0x38, op == 0x39:
			continue // floats
		case op == I64Load, op >= 0x30 && op <= 0x35, op == I64Store, op >= 0x3C:
			value = I64
		}
		body = append(body, Const(I32, 64)...)
		if op >= I32Store {
			body = Concat(body, Const(value, 1), Op(op, 0, 0))
		} else {
			body = Concat(body, Op(op, 0, 300), Op(Drop))
		}
	}
	for _, op := range []byte{I32Eqz, 0x67, 0x68, 0x69, 0xC0} {
		body = Concat(body, Const(I32, 1), []byte{op, Drop})
	}
	for _, op := range []byte{0x50, 0x79, 0x7A, 0x7B, I32WrapI64} {
		body = Concat(body, Const(I64, 1), []byte{op, Drop})
	}
	for op := byte(0x6A); op <= 0x78; op++ {
		body = Concat(body, Const(I32, 1), Const(I32, 1), []byte{
			op, Drop,
		}, Const(I64, 1), Const(I64, 1), []byte{op + 0x12, Drop})
	}
	return with(nil, body)
}

// atLimits are modules just within and just beyond limits, and two random modules.
func atLimits() []meteredModule {
	// A loop that sets 99 locals and is the target of 161 branches.
	wide := func(constants int) *Module {
		var body []byte
		for i := range uint32(99) {
			body = Concat(body, get0, Op(LocalSet, i))
		}
		rest := slices.Repeat([]byte{I32Const, 0, Drop}, constants)
		return with(slices.Repeat([]byte{I32}, 99), openLoop, body, get0, BrTable(0, make([]uint32, 160)...), closed, rest)
	}
	exports := func(n int) *Module {
		m := with(nil)
		for i := range n - 1 {
			m.Export(strconv.Itoa(i), FunctionKind, 0)
		}
		return m
	}
	mutable := func(n int) *Module {
		m := with(nil)
		for range n {
			m.Globals = append(m.Globals, Global(I32, true, 0))
		}
		return m
	}
	// (99 + 1) × (1 + 161) slots of the loop, 99 locals, an operand, loop, br_table, 2 ends and 16.
	const most = 16_384 - 100*162 - 99 - 1 - 4 - 16
	return []meteredModule{
		{"a frame of 16,384 slots", wide(most)}, {"of 16,385", wide(most + 1)},
		{"64 mutable globals", mutable(64)}, {"65", mutable(65)}, {"128 exports", exports(128)}, {"129", exports(129)},
		{"random", Random(rand.New(rand.NewPCG(1, 1)))}, {"another", Random(rand.New(rand.NewPCG(7, 1)))},
	}
}
