package main

import (
	"encoding/binary"

	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen" //nolint:staticcheck // modules are written in its words
)

// Where the contract of the look-ups has its arguments, the key and the value that it writes.
const (
	argsAt  = 0
	keyAt   = 64
	valueAt = 72
)

// lookup is the arguments of a call: so many keys are drawn, by a generator with this seed, from so many that follow on first.
type lookup struct{ seed, count, first, keys uint64 }

func (l lookup) encode() (args []byte) {
	for _, v := range []uint64{l.seed, l.count, l.first, l.keys} {
		args = binary.LittleEndian.AppendUint64(args, v)
	}
	return args
}

// lookupContract is a contract that reads or writes values of its storage at random, under keys of 8 bytes.
func lookupContract() []byte {
	const remU, sub = 0x82, 0x7D // i64.rem_u, i64.sub
	m := Contract(1, 1)
	read := m.AddImport(HostImport{Name: "args_read", Params: []byte{I32}})
	four := []byte{I32, I32, I32, I32}
	get := m.AddImport(HostImport{Name: "storage_read", Params: four, Result: I32})
	set := m.AddImport(HostImport{Name: "storage_write", Params: four})
	procedure := m.AddType(nil, 0)
	load := func(at int64) []byte { return Concat(Const(I32, at), Op(I64Load, 3, 0)) }
	for name, operation := range map[string][]byte{
		"read":  Concat(Const(I32, keyAt), Const(I32, 8), Const(I32, 0), Const(I32, 0), Call(get), []byte{Drop}),
		"write": Concat(Const(I32, keyAt), Const(I32, 8), Const(I32, valueAt), Const(I32, 8), Call(set)),
	} {
		const state, left = 0, 1 // locals
		body := Concat(
			Const(I32, argsAt), Call(read), load(argsAt), Op(LocalSet, state), load(argsAt+8), Op(LocalSet, left),
			[]byte{LoopOp, Empty},
			Op(LocalGet, state), Const(I64, 6364136223846793005), []byte{I64Mul}, Const(I64, 1442695040888963407), []byte{I64Add}, Op(LocalSet, state),
			Const(I32, valueAt), Op(LocalGet, state), Op(I64Store, 3, 0),
			Const(I32, keyAt), Op(LocalGet, state), Const(I64, 33), []byte{I64ShrU}, load(argsAt+24), []byte{remU}, load(argsAt+16), []byte{I64Add}, Op(I64Store, 3, 0),
			operation,
			Op(LocalGet, left), Const(I64, 1), []byte{sub}, Op(LocalTee, left), []byte{I32WrapI64}, Op(BrIfOp, 0),
			[]byte{End},
		)
		m.Export(name, FunctionKind, m.AddFunction(procedure, []byte{I64, I64}, body...))
	}
	return m.Encode()
}
