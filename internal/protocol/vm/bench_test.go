package vm_test

import (
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// straight is a body of ordinary code: arithmetic on locals and loads, with a loop and a call every few dozen bytes.
func straight(size int) []byte {
	var b []byte
	for len(b) < size-100 {
		b = append(b, Concat(
			Op(LoopOp), []byte{Empty}, Op(LocalGet, 0), Const(I32, 1000), Op(I32Add), Op(LocalTee, 0), Op(I32Load, 2, 16),
			Op(LocalGet, 1), Op(I32Add), Op(LocalSet, 1), Op(LocalGet, 0), Op(
				LocalGet, 1,
			), Op(I32Store, 2, 32), Op(LocalGet, 1), Op(BrIfOp, 0), Op(End), Call(1),
		)...)
	}
	return b
}

func BenchmarkCheck(b *testing.B) {
	m := contract()
	code := straight(32_000)
	for range types.MaxCodeBytes / 32_200 {
		m.AddFunction(0, []byte{I32, I32}, code...)
	}
	encoded := m.Encode()
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := vm.Check(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
