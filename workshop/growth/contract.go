package main

import (
	"encoding/binary"

	g "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// Memory addresses of the look-up contract: arguments, key, and value to write.
const (
	argsAt  = 0
	keyAt   = 64
	valueAt = 72
)

// lookup holds the arguments of a call. A generator with the seed draws count keys from a range of keys that begins at
// first.
type lookup struct{ seed, count, first, keys uint64 }

func (l lookup) encode() (args []byte) {
	for _, v := range []uint64{l.seed, l.count, l.first, l.keys} {
		args = binary.LittleEndian.AppendUint64(args, v)
	}
	return args
}

// lookupContract returns a contract that reads or writes random values in its storage, under keys of 8 bytes, or reads
// with keys of the maximum length.
func lookupContract() []byte {
	const remU, sub = 0x82, 0x7D // i64.rem_u, i64.sub
	m := g.Contract(1, 1)
	read := m.AddImport(g.HostImport{Name: "args_read", Params: []byte{g.I32}})
	four := []byte{g.I32, g.I32, g.I32, g.I32}
	get := m.AddImport(g.HostImport{Name: "storage_read", Params: four, Result: g.I32})
	set := m.AddImport(g.HostImport{Name: "storage_write", Params: four})
	procedure := m.AddType(nil, 0)
	load := func(at int64) []byte { return g.Concat(g.Const(g.I32, at), g.Op(g.I64Load, 3, 0)) }
	for name, operation := range map[string][]byte{
		"read": g.Concat(
			g.Const(g.I32, keyAt), g.Const(g.I32, 8), g.Const(g.I32, 0), g.Const(g.I32, 0), g.Call(get), []byte{g.Drop},
		),
		"readLong": g.Concat(
			g.Const(g.I32, keyAt), g.Const(g.I32, types.MaxStorageKeyBytes), g.Const(g.I32, 0), g.Const(g.I32, 0),
			g.Call(get), []byte{g.Drop},
		),
		"write": g.Concat(g.Const(g.I32, keyAt), g.Const(g.I32, 8), g.Const(g.I32, valueAt), g.Const(g.I32, 8), g.Call(set)),
	} {
		const state, left = 0, 1 // locals
		body := g.Concat(
			g.Const(g.I32, argsAt), g.Call(read), load(argsAt), g.Op(g.LocalSet, state), load(argsAt+8), g.Op(g.LocalSet, left),
			[]byte{g.LoopOp, g.Empty}, g.Op(g.LocalGet, state), g.Const(g.I64, 6364136223846793005), []byte{g.I64Mul},
			g.Const(g.I64, 1442695040888963407), []byte{g.I64Add}, g.Op(g.LocalSet, state),
			g.Const(g.I32, valueAt), g.Op(g.LocalGet, state), g.Op(g.I64Store, 3, 0),
			g.Const(g.I32, keyAt), g.Op(g.LocalGet, state), g.Const(g.I64, 33), []byte{g.I64ShrU},
			load(argsAt+24), []byte{remU}, load(argsAt+16), []byte{g.I64Add}, g.Op(g.I64Store, 3, 0), operation,
			g.Op(g.LocalGet, left), g.Const(g.I64, 1), []byte{sub},
			g.Op(g.LocalTee, left), []byte{g.I32WrapI64}, g.Op(g.BrIfOp, 0), []byte{g.End},
		)
		m.Export(name, g.FunctionKind, m.AddFunction(procedure, []byte{g.I64, g.I64}, body...))
	}
	return m.Encode()
}
