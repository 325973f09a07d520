package exec

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// loads are codes that were loaded, each counted once. What loading costs beyond a call's price depends on what a node
// has in memory, so it is bounded instead of priced. Of a transaction it is bounded while it runs, of a block by a rule
// of validity.
type loads struct {
	codes []loadedCode // in the order of loading; a block has a thousand of an ordinary token's size
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

// fewCodes is how many codes are searched one by one: nearly every transaction loads one or two.
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

// loadedBefore are the codes that were loaded and that the block itself does not bring, in a deploy that failed
// neither.
func (d *Derivation) loadedBefore() (hashes []types.CodeHash) {
	for _, c := range d.loaded.codes {
		if _, brought := d.codes[c.hash]; !brought {
			hashes = append(hashes, c.hash)
		}
	}
	return hashes
}

// load loads a contract's code; ok is false where the transaction may load no further one.
func (x *execution) load(c contract) (_ *vm.Module, ok bool, err error) {
	if x.derivation.machine.Engine == nil {
		return nil, false, errNoMachine
	}
	if x.loaded.sum > params.LoadToStop && !x.loaded.has(c.hash) {
		return nil, false, nil
	}
	if err := x.derivation.mayContinue(); err != nil { // code that is not in memory takes time beyond the price
		return nil, false, err
	}
	module, err := x.derivation.module(c.hash)
	if err != nil {
		return nil, false, err
	}
	x.loaded.add(c.hash, params.Load(module.Load()))
	return module, true, nil
}

// leastCheapLoad is room for any one transaction.
const leastCheapLoad params.Load = 1 << 21

// SpareLoad makes [Derivation.Apply] keep seven eighths of the block's load for transactions that use at least two gas
// for each unit of load that they add. Others find no room there. It is for a builder: loading is not paid by the unit,
// so little gas could fill it and leave no room for calls that pay. A token's transfer uses some five gas a unit.
func (d *Derivation) SpareLoad() { d.spareLoad = true }

// addLoad counts what a transaction loaded. The error is [ErrLoadFull].
func (d *Derivation) addLoad(o Outcome) error {
	var added params.Load
	for _, c := range o.loaded.codes {
		if !d.loaded.has(c.hash) {
			added += c.load
		}
	}
	most := params.BlockLoad(d.header.GasLimit)
	if d.spareLoad && 2*added > params.Load(o.GasUsed) {
		most = max(most/8, leastCheapLoad)
	}
	if added > 0 && d.loaded.sum+added > most {
		return fmt.Errorf("%w: %d of %d are taken, it adds %d", ErrLoadFull, d.loaded.sum, most, added)
	}
	for _, c := range o.loaded.codes {
		d.loaded.add(c.hash, c.load)
	}
	return nil
}
