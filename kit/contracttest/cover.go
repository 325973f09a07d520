package contracttest

import (
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Block is a part of a contract's code that runs from its beginning to its end: a function's first instructions, or
// those that a branch leads to.
type Block struct {
	Function int  // in the order of the code; those that the module imports are not counted
	From, To int  // where its instructions are in the module, in bytes
	Ran      bool // whether it was entered
}

// covered is what ran in this process, by code, on chains that are covered.
var covered = struct {
	sync.Mutex
	ran map[types.CodeHash][]uint64 // a bit for each block
}{ran: map[types.CodeHash][]uint64{}}

// Place is where a function was that was active when a call ended.
type Place struct {
	Function int // in the order of the code; those that the module imports are not counted
	At       int // where in the module, in bytes: the instruction that called another, or where its [Block] begins
}

// Stop is where a contract was when its call failed.
type Stop struct {
	Code   types.CodeHash
	Places []Place // the innermost function first; one that calls itself is there once
}

// stops are of the calls that failed since the one that [Chain.watched] runs began. Others wait.
var stops struct {
	sync.Mutex
	all []Stop
}

// maxStops bounds the calls of a transaction whose stops are kept.
const maxStops = 64

// watched runs what runs contracts, and gives where those stood whose calls failed, the first to fail first: of a
// chain that is covered.
func (c *Chain) watched(run func()) []Stop {
	if !c.covers {
		run()
		return nil
	}
	stops.Lock()
	defer stops.Unlock()
	stops.all = nil
	run()
	return stops.all
}

func noteStop(code types.CodeHash, at []vm.Place) {
	if len(stops.all) == maxStops {
		return
	}
	s := Stop{Code: code}
	for _, p := range at {
		s.Places = append(s.Places, Place(p))
	}
	stops.all = append(stops.all, s)
}

// coveringEngine is [engine] with notes of what runs.
var coveringEngine = sync.OnceValues(func() (*wasm.Engine, error) {
	return wasm.New(wasm.Options{Fresh: true, Stopped: noteStop, Covered: func(code types.CodeHash, ran []uint64) {
		covered.Lock()
		defer covered.Unlock()
		all := covered.ran[code]
		if all == nil {
			all = make([]uint64, len(ran))
			covered.ran[code] = all
		}
		for i, word := range ran {
			all[i] |= word
		}
	}})
})

// Cover has the contracts that are deployed from now on note which of their code runs: [Coverage] tells it, and
// Result.Stops where it ended. Results and gas stay as they are.
func (c *Chain) Cover() {
	c.t.Helper()
	e, err := coveringEngine()
	c.must(err)
	c.machine.Engine, c.covers = e, true
}

// prepareCover has the engine of a covered chain know a code before a deploy does, which would bring one without notes.
func (c *Chain) prepareCover(code []byte) {
	c.t.Helper()
	if !c.covers {
		return
	}
	_, err := c.machine.Engine.Module(sha256.Sum256(code), func() ([]byte, error) { return code, nil })
	if refused := new(vm.Refused); err != nil && !errors.As(err, &refused) { // the deploy says what is refused
		c.t.Fatal(err)
	}
}

// Coverage gives the blocks of a contract's code, and which of them ran on any chain of this process that is covered
// ([Chain.Cover]). An error says that the code is none that can be deployed.
func Coverage(code []byte) ([]Block, error) {
	module, err := vm.CheckCovered(code)
	if err != nil {
		return nil, err
	}
	covered.Lock()
	defer covered.Unlock()
	ran := covered.ran[sha256.Sum256(code)]
	blocks := make([]Block, len(module.Blocks()))
	for i, b := range module.Blocks() {
		blocks[i] = Block{b.Function, b.From, b.To, len(ran) > 0 && ran[i/64]>>(i%64)&1 == 1}
	}
	return blocks, nil
}
