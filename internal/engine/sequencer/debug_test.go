package sequencer

import (
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// talker is a contract with three functions. say passes its arguments, 4 bytes, to debug. tell does the same, and then
// lets the contract whose 32 bytes are in the arguments say its first 4. fail says "oops" and traps.
func talker() *wasmgen.Module {
	m := wasmgen.Contract(1, 1)
	procedure := m.AddType(nil, 0)
	i32s := func(n int) []byte { return slices.Repeat([]byte{wasmgen.I32}, n) }
	read := m.AddImport(wasmgen.HostImport{Name: "args_read", Params: i32s(1)})
	debug := m.AddImport(wasmgen.HostImport{Name: "debug", Params: i32s(2)})
	call := m.AddImport(wasmgen.HostImport{
		Name: "call", Params: append(i32s(5), wasmgen.I64, wasmgen.I64), Result: wasmgen.I32,
	})
	const name, word = 64, 128
	m.Data = [][]byte{wasmgen.Data(name, "say"), wasmgen.Data(word, "oops")}
	say := func(at int64) []byte {
		return wasmgen.Concat(wasmgen.Const(wasmgen.I32, at), wasmgen.Const(wasmgen.I32, 4), wasmgen.Call(debug))
	}
	add := func(name string, body ...[]byte) {
		m.Export(name, wasmgen.FunctionKind, m.AddFunction(procedure, nil, wasmgen.Concat(body...)...))
	}
	arguments := wasmgen.Concat(wasmgen.Const(wasmgen.I32, 0), wasmgen.Call(read))
	var nested []byte
	for _, v := range []int64{0, name, 3, word, 4} { // the callee, its function and arguments
		nested = append(nested, wasmgen.Const(wasmgen.I32, v)...)
	}
	nested = wasmgen.Concat(
		nested, wasmgen.Const(wasmgen.I64, 0), wasmgen.Const(wasmgen.I64, 1_000_000), wasmgen.Call(call),
		wasmgen.Op(wasmgen.Drop),
	)
	add("say", arguments, say(0))
	add("tell", arguments, nested, say(word))
	add("fail", say(word), wasmgen.Op(wasmgen.Unreachable))
	return m
}

// Debug texts of contracts are reported with their contract when blocks are made, also for failed transactions.
func TestDebugIsTold(t *testing.T) {
	f := withContract(t, Manual)
	type said struct {
		tx       types.TxID
		contract types.ContractID
		message  string
	}
	var heard []said
	f.OnDebug = func(tx types.TxID, contract types.ContractID, message []byte) {
		heard = append(heard, said{tx, contract, string(message)})
	}
	code := talker().Encode()
	f.block(f.send(alice, 1, 1, deploy("first", code)), f.send(alice, 2, 1, deploy("second", code)))
	sender := types.Account(alice.PublicKey())
	first, second := types.NewContractID(sender, 1), types.NewContractID(sender, 2)
	say := f.send(alice, 3, 1, call(first, "say", []byte("four")...))
	tell := f.send(alice, 4, 1, call(first, "tell", second[:]...))
	fail := f.send(alice, 5, 1, call(second, "fail"))
	f.block(say, tell, fail)
	want := []said{{say, first, "four"}, {tell, second, "oops"}, {tell, first, "oops"}, {fail, second, "oops"}}
	if !slices.Equal(heard, want) {
		t.Errorf("heard %v, want %v", heard, want)
	}
}
