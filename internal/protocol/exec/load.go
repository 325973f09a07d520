package exec

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// loads is a set of loaded codes. The cost of loading beyond a call's price depends on the node's caches, so it is
// bounded instead of priced: per transaction while it runs, per block by a validity rule.
type loads struct {
	codes []loadedCode // in the order of loading; a block fits a thousand codes of an ordinary token's size
	known map[types.CodeHash]struct{}
	sum   params.Load
}

type loadedCode struct {
	hash types.CodeHash
	load params.Load
}

func (l *loads) has(hash types.CodeHash) bool {
	if l.known != nil {
		_, ok := l.known[hash]
		return ok
	}
	return slices.ContainsFunc(l.codes, func(c loadedCode) bool { return c.hash == hash })
}

// fewCodes is the number of codes up to which has searches linearly. Nearly every transaction loads one or two.
const fewCodes = 8

func (l *loads) add(hash types.CodeHash, load params.Load) {
	if l.has(hash) {
		return
	}
	l.codes = append(l.codes, loadedCode{hash, load})
	l.sum += load
	if l.known == nil && len(l.codes) > fewCodes {
		l.known = make(map[types.CodeHash]struct{})
		for _, c := range l.codes {
			l.known[c.hash] = struct{}{}
		}
	}
	if l.known != nil {
		l.known[hash] = struct{}{}
	}
}

// loadedBefore returns the hashes of the loaded codes except those that the block itself brings, even in a failed
// deploy.
func (e *BlockExecutor) loadedBefore() (hashes []types.CodeHash) {
	for _, c := range e.loaded.codes {
		if _, brought := e.codes[c.hash]; !brought {
			hashes = append(hashes, c.hash)
		}
	}
	return hashes
}

// load loads a contract's code. ok is false if the transaction has reached its load limit.
func (x *execution) load(c contract) (_ *vm.Module, ok bool, err error) {
	if x.executor.machine.Engine == nil {
		return nil, false, errNoMachine
	}
	if x.loaded.sum > params.LoadToStop && !x.loaded.has(c.hash) {
		return nil, false, nil
	}
	if err := x.executor.mayContinue(); err != nil { // loading code that is not in memory takes time beyond the price
		return nil, false, err
	}
	module, err := x.executor.module(c.hash)
	if err != nil {
		return nil, false, err
	}
	x.loaded.add(c.hash, params.Load(module.Load()))
	return module, true, nil
}

// leastCheapLoad is enough for any one transaction.
const leastCheapLoad params.Load = 1 << 21

// SpareLoad makes [BlockExecutor.Apply] reserve seven eighths of the block's load for transactions that use at least
// two gas for each unit of load that they add; others get [ErrLoadFull]. It is for builders: loading is not priced by
// the unit, so transactions with little gas could exhaust the load and exclude calls that pay. A token's transfer uses
// about five gas per unit.
func (e *BlockExecutor) SpareLoad() { e.spareLoad = true }

// addLoad adds the codes that a transaction loaded to the block's. It returns [ErrLoadFull] if they exceed the limit.
func (e *BlockExecutor) addLoad(o Outcome) error {
	var added params.Load
	for _, c := range o.loaded.codes {
		if !e.loaded.has(c.hash) {
			added += c.load
		}
	}
	most := params.BlockLoad(e.header.GasLimit)
	if e.spareLoad && 2*added > params.Load(o.GasUsed) {
		most = max(most/8, leastCheapLoad)
	}
	if added > 0 && e.loaded.sum+added > most {
		return fmt.Errorf("%w: %d of %d used, and it needs %d", ErrLoadFull, e.loaded.sum, most, added)
	}
	for _, c := range o.loaded.codes {
		e.loaded.add(c.hash, c.load)
	}
	return nil
}
