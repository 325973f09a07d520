// Package probe makes contracts whose exports each call one host function with the parameters in their arguments.
package probe

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// The arguments of a probe are twelve u64 and data, which are read to address Args. The first ones are the host
// function's parameters, the last one is the number of bytes from address Result on that are returned. The function's
// result is stored at address Result as a u64.
const (
	Result    = 512
	Args      = 1024
	Data      = Args + 12*8
	returning = Args + 11*8
)

// AllGas is more gas than a call has.
const AllGas = 1 << 62

func uleb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

// sleb encodes a number that is not negative as signed LEB128.
func sleb(v uint64) (b []byte) {
	for v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func vector(items ...[]byte) []byte {
	return append(uleb(uint64(len(items))), slices.Concat(items...)...)
}

func named(name string, rest ...byte) []byte {
	return append(append(uleb(uint64(len(name))), name...), rest...)
}

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, uleb(uint64(len(content)))...), content...)
}

// Instructions of the probe.
func i32Const(v uint64) []byte      { return append([]byte{0x41}, sleb(v)...) }
func callOf(f int) []byte           { return append([]byte{0x10}, uleb(uint64(f))...) }
func i32Load(at uint64) []byte      { return append([]byte{0x28, 2}, uleb(at)...) }
func i32Load8(at uint64) []byte     { return append([]byte{0x2d, 0}, uleb(at)...) }
func i64Load(at uint64) []byte      { return append([]byte{0x29, 3}, uleb(at)...) }
func i64Store(at uint64) []byte     { return append([]byte{0x37, 3}, uleb(at)...) }
func joined(parts ...[]byte) []byte { return slices.Concat(parts...) }

var (
	extendI32   = []byte{0xad}
	unreachable = []byte{0x00}
	end         = []byte{0x0b}
)

// callHost calls a host function with the parameters in the arguments, and returns the requested results.
func callHost(f vm.Function) []byte {
	host := vm.Functions[f]
	code := joined(i32Const(Args), callOf(int(vm.ArgsRead)))
	if host.Result != 0 {
		code = append(code, i32Const(0)...)
	}
	for i, p := range host.Params {
		load := i32Load
		if p == vm.I64 {
			load = i64Load
		}
		code = joined(code, i32Const(0), load(Args+8*uint64(i)))
	}
	code = append(code, callOf(int(f))...)
	switch host.Result {
	case vm.I32:
		code = joined(code, extendI32, i64Store(Result))
	case vm.I64:
		code = append(code, i64Store(Result)...)
	}
	return joined(code, i32Const(Result), i32Const(0), i32Load(returning), callOf(int(vm.ReturnData)), end)
}

// initBody stores its arguments under their first 8 bytes. It traps if the arguments begin with ff, and reverts if they
// begin with fe.
func initBody() []byte {
	first := joined(i32Const(0), i32Load8(Args))
	return joined(
		i32Const(Args), callOf(int(vm.ArgsRead)), first, i32Const(255), []byte{0x46, 0x04, 0x40}, unreachable, end,
		first, i32Const(254), []byte{0x46, 0x04, 0x40},
		i32Const(Args), callOf(int(vm.ArgsLen)), callOf(int(vm.Revert)), end,
		i32Const(Args), i32Const(8), i32Const(Args), callOf(int(vm.ArgsLen)), callOf(int(vm.StorageWrite)), end,
	)
}

// module is a probe with some functions besides those of the host.
type module struct {
	host  []vm.Function
	extra map[string][]byte // bodies by name
	pages byte
}

func (m module) encode() []byte {
	var types, imports, functions, exports, bodies [][]byte
	value := func(types ...vm.ValueType) (b []byte) {
		for _, t := range types {
			b = append(b, byte(t))
		}
		return append(uleb(uint64(len(types))), b...)
	}
	for _, f := range vm.Functions {
		signature := append([]byte{0x60}, value(f.Params...)...)
		if f.Result != 0 {
			signature = append(signature, value(f.Result)...)
		} else {
			signature = append(signature, 0)
		}
		imports = append(imports, joined(named("cairn"), named(f.Name, 0), uleb(uint64(len(types)))))
		types = append(types, signature)
	}
	nothing := uleb(uint64(len(types)))
	types = append(types, []byte{0x60, 0, 0})
	add := func(name string, body []byte) {
		exports = append(exports, joined(named(name, 0), uleb(uint64(len(imports)+len(functions)))))
		functions = append(functions, nothing)
		body = append([]byte{0}, body...) // no locals
		bodies = append(bodies, append(uleb(uint64(len(body))), body...))
	}
	for _, f := range m.host {
		add(vm.Functions[f].Name, callHost(f))
	}
	for _, name := range slices.Sorted(maps.Keys(m.extra)) {
		body := m.extra[name]
		if name == "recurse" {
			body = joined(callOf(len(imports)+len(functions)), end)
		}
		add(name, body)
	}
	exports = append(exports, named("memory", 2, 0))
	return joined(
		[]byte("\x00asm\x01\x00\x00\x00"), section(1, vector(types...)), section(2, vector(imports...)),
		section(3, vector(functions...)), section(5, []byte{1, 0, m.pages}), section(7, vector(exports...)),
		section(10, vector(bodies...)),
	)
}

// Modules returns a probe of all host functions, one without init that is not reentrant, and one with the largest
// memory.
func Modules() (whole, plain, wide []byte) {
	var all []vm.Function
	for f := range vm.Functions {
		all = append(all, vm.Function(f))
	}
	grow := joined(
		i32Const(Args), callOf(int(vm.ArgsRead)), i32Const(0), i32Const(0), i32Load(Args), []byte{0x40, 0},
		extendI32, i64Store(Result), i32Const(Result), i32Const(8), callOf(int(vm.ReturnData)), end,
	)
	burn := []byte{0x03, 0x40, 0x0c, 0, 0x0b, 0x0b}
	whole = module{all, map[string][]byte{
		"init": initBody(), "_reentrant": end, "trap": joined(unreachable, end), "burn": burn, "recurse": nil, "grow": grow,
	}, 1}.encode()
	some := []vm.Function{vm.Self, vm.Call, vm.StorageRead, vm.StorageWrite, vm.ReplaceCode, vm.IsView}
	plain = module{some, nil, 1}.encode()
	wide = module{[]vm.Function{vm.Call, vm.Create}, map[string][]byte{"_reentrant": end, "init": initBody()}, 16}.encode()
	return whole, plain, wide
}

// Given are the arguments of a probe: how many bytes it returns, the parameters, and data.
func Given(returned uint64, data []byte, parameters ...uint64) []byte {
	var header [12]uint64
	copy(header[:], parameters)
	header[11] = returned
	b := make([]byte, 0, 96+len(data))
	for _, v := range header {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return append(b, data...)
}

// Call are the arguments for `call` of a function with arguments.
func Call(to types.ContractID, function string, value, gas uint64, args []byte) []byte {
	data := append(append(to[:], function...), args...)
	fn := uint64(Data + 32)
	at := fn + uint64(len(function))
	return Given(8, data, Data, fn, uint64(len(function)), at, uint64(len(args)), value, gas)
}

// Verify are the arguments for `account_verify`.
func Verify(account types.Account, message, witness []byte) []byte {
	data := slices.Concat(account[:], message, witness)
	at := uint64(Data + 32)
	return Given(8, data, Data, at, uint64(len(message)), at+uint64(len(message)), uint64(len(witness)))
}

// Create are the arguments for `create`.
func Create(template types.ContractID, salt [32]byte, name string, args []byte, value, gas uint64) []byte {
	data := slices.Concat(template[:], salt[:], []byte(name), args)
	at := uint64(Data + 64)
	behind := at + uint64(len(name))
	return Given(40, data, Data, Data+32, at, uint64(len(name)), behind, uint64(len(args)), value, gas, Result+8)
}
