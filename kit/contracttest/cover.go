package contracttest

import (
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Block is a basic block of a contract's code, which runs from its beginning to its end: it begins at a function's
// first instruction or at a branch target.
type Block struct {
	Function int  // index in the code, not counting imported functions
	From, To int  // byte range of its instructions in the module
	Ran      bool // whether it was entered
}

// covered records the blocks that ran in this process, by code, on chains with coverage.
var covered = struct {
	sync.Mutex
	ran map[types.CodeHash][]uint64 // one bit per block
}{ran: map[types.CodeHash][]uint64{}}

// Place is the position of an active function when a call ended.
type Place struct {
	Function int // index in the code, not counting imported functions
	At       int // byte offset in the module: of the calling instruction, or of the function's current [Block]
}

// Stop is the position of a contract when its call failed.
type Stop struct {
	Code   types.CodeHash
	Places []Place // innermost function first; a recursive function appears once
}

// stops collects the failed calls of the current [Chain.watched] run. Its lock admits one run at a time.
var stops struct {
	sync.Mutex
	all []Stop
}

// maxStops bounds the recorded stops of a transaction.
const maxStops = 64

// watched runs run, which runs contracts, and returns the stops of the calls that failed, in order. It returns none on
// a chain without coverage.
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

// coveringEngine is like [engine], but records coverage.
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

// Cover records coverage of the contracts deployed from now on: see [Coverage] and Result.Stops. Results and gas do not
// change.
func (c *Chain) Cover() {
	c.t.Helper()
	e, err := coveringEngine()
	c.must(err)
	c.machine.Engine, c.covers = e, true
}

// prepareCover loads a code into the engine of a chain with coverage before a deploy loads it without instrumentation.
func (c *Chain) prepareCover(code []byte) {
	c.t.Helper()
	if !c.covers {
		return
	}
	_, err := c.machine.Engine.Module(sha256.Sum256(code), func() ([]byte, error) { return code, nil })
	if refused := new(vm.Refused); err != nil && !errors.As(err, &refused) { // the deploy reports the refusal
		c.t.Fatal(err)
	}
}

// Coverage returns the blocks of a contract's code, and whether each ran on any chain of this process with coverage
// ([Chain.Cover]). It returns an error if the code cannot be deployed.
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
