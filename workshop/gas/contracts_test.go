package main

import (
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// The gas left for the code of a call that calls nobody is the schedule's price for entering the contract, and the
// memory of nested calls has their price.
func TestParts(t *testing.T) {
	const modules = "../../contracts/wasm"
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMarket(engine, modules, alice, bob, carol)
	if err != nil {
		t.Fatal(err)
	}
	m.counters()
	m.exchange()
	if m.err != nil {
		t.Fatal(m.err)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	rows := map[string]parts{}
	for _, r := range m.rows {
		rows[r.name] = r.parts
	}
	code, err := os.ReadFile(modules + "/counter.wasm")
	if err != nil {
		t.Fatal(err)
	}
	module, err := vm.Check(code)
	if err != nil {
		t.Fatal(err)
	}
	s := params.Prices
	want := s.ContractCall + s.ContractCallArgByte*types.Gas(len(`{"amount":2}`)) +
		s.InstanceItem*types.Gas(module.InstanceItems())
	if p := rows["counter: add"]; p.code != want || p.memory != s.MemoryPage || p.instructions == 0 || p.host == 0 {
		t.Errorf("of a call: %+v, code is to be %d", p, want)
	}
	if p := rows["router: swap"]; (p.memory-s.MemoryPage)%s.MemoryGrowPage != 0 || p.memory <= s.MemoryPage {
		t.Errorf("of nested calls: got %+v", p)
	}
}

// The older rows are read as a whole, and name the present functions.
func TestBefore(t *testing.T) {
	rows, err := readRows(before)
	if err != nil {
		t.Fatal(err)
	}
	if p := rows["nep20: transfer"]; len(rows) < 50 || p.total != p.intrinsic+p.code+p.memory+p.instructions+p.host {
		t.Errorf("%d rows, %+v", len(rows), p)
	}
}
