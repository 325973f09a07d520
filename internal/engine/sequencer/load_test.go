package sequencer

import (
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// large returns a contract with a function "loop" that takes a hundredth of a block's load, with a different code for
// each n.
func large(n int) []byte {
	m := wasmgen.Contract(1, 1)
	f := m.AddFunction(
		m.AddType(nil, 0), nil, wasmgen.Concat(wasmgen.Const(wasmgen.I64, int64(n)), wasmgen.Op(wasmgen.Drop))...,
	)
	m.Export("loop", wasmgen.FunctionKind, f)
	m.Tables = [][]byte{wasmgen.Concat([]byte{0x70, 0}, wasmgen.U32(2_500))}
	m.Elements = [][]byte{wasmgen.Element(0, make([]uint32, 2_500)...)}
	return m.Encode()
}

// A transaction that finds no room for the codes that it loads leaves no trace and delays nobody. Other transactions
// follow it in the block, including calls of codes that the block has already loaded, and it comes first in the next
// block.
func TestNoRoomForLoad(t *testing.T) {
	clock := new(handClock)
	engine := newFakeEngine(clock)
	f := withMachine(t, engine, clock, time.Second)
	m, err := vm.Check(large(0))
	if err != nil {
		t.Fatal(err)
	}
	fits := int(params.BlockLoad(params.DefaultGasLimit) / params.Load(m.Load()))
	calls := make([]action, fits+2)
	for i := range calls {
		f.block(f.send(alice, uint64(i), 1, deploy("large", large(i))))
		calls[i] = call(types.NewContractID(types.Account(alice.PublicKey()), uint64(i)), "loop")
	}
	var first []types.TxID
	for i := range fits {
		first = append(first, f.sendGas(alice, uint64(len(calls)+i), 9, 1_000_000, calls[i]))
	}
	refused := f.sendGas(others[0], 0, 8, 1_000_000, calls[fits])
	alike := f.sendGas(others[1], 0, 7, 1_000_000, calls[fits+1])
	loaded, paid := f.sendGas(others[2], 0, 6, 1_000_000, calls[0]), f.send(others[3], 0, 5, payment)
	f.block(slices.Concat(first, []types.TxID{loaded, paid})...)
	f.tell(told{refused, LoadFull}, told{alike, LoadFull})
	if stats := f.book.Stats(); stats.Waiting != 0 || stats.Quarantined != 0 {
		t.Errorf("the book has %+v", stats)
	}
	dear := f.send(others[4], 0, 9, payment)
	f.block(refused, alike, dear)
}

// Of the transactions that wait for room, a block takes as many as certainly fit, in order. So a dozen accounts do not
// delay those behind them by a dozen blocks.
func TestManyHaveTheirTurnInABlock(t *testing.T) {
	f, _, calls := withFakes(t, time.Second, 1)
	most := forLoad(params.DefaultGasLimit)
	if most < 16 {
		t.Fatalf("%d have their turn in a block", most)
	}
	batch := f.newBatch(f.best(), f.BlockTime())
	var waiting []types.TxID
	for i := range len(others) {
		waiting = append(waiting, f.send(others[i], 0, 8, calls[0]))
		tx, _ := f.pool.Get(waiting[i])
		batch.turns.waitForLoad(tx, true)
	}
	dear := f.send(alice, 1, 9, calls[0])
	f.block(append(slices.Clone(waiting[:most]), dear)...)
	f.block(waiting[most:]...)
}
