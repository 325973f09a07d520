package hunt

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Nodes lists engines that differ in every permitted respect. One with a directory is restarted half-way.
var Nodes = []struct {
	Name    string
	Options wasm.Options
	OnDisk  bool
}{
	{"from scratch", wasm.Options{}, false},
	{"fresh instances", wasm.Options{Fresh: true}, false},
	{"machine code from disk", wasm.Options{Codes: 1, Bytes: 1}, true},
	{"interpreter", wasm.Options{Interpreter: true}, false},
	{"notes of where calls stand", noting, false},
}

// noting configures the engine of a trace that reports where calls failed.
var noting = wasm.Options{Fresh: true, Stopped: func(types.CodeHash, []vm.Place) {}}

// differ counts the nodes that disagree with the maker of the blocks.
func differ(g Genes, _ int) (Score, error) {
	problems, err := Disagreements([]Candidate{g.Build()}, differGas)
	return Score{Value: float64(len(problems))}, err
}

// differGas is the gas of a call when nodes are compared. It is low because the interpreter is slow.
const differGas = 300_000

// Disagreements makes a chain that deploys candidates and calls each twice, and describes the nodes that fail to import
// it.
func Disagreements(all []Candidate, gas types.Gas) (problems []string, err error) {
	maker, err := NewChain(wasm.Options{}, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, maker.Close()) }()
	for _, c := range all {
		calls, err := maker.Deploy(c)
		if err != nil {
			return nil, err
		}
		for range 2 { // the second time in used instances
			if _, err := maker.Block(gas, min(len(calls), 4), calls...); err != nil {
				return nil, err
			}
		}
	}
	for _, other := range Nodes {
		err := follows(maker, other.Options, other.OnDisk)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", other.Name, err))
		}
	}
	return problems, nil
}
