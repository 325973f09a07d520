package datadir

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Found is what there is in a data directory.
type Found struct {
	Genesis  *types.Genesis // of the chain, nil where there is none
	Hash     types.BlockHash
	Head     types.Header
	Producer types.PublicKey // in force after the head
	Lost     error           // [ErrBlocksLost], by the sign states in the directory
	Record   error           // [ErrUnrecorded], of the key that was asked for
	Problems []Problem       // with the files beside the database
}

// Look opens a data directory, and changes nothing in it. key, unless nil, is the producer's key that a node is to have,
// whose lock is in the directory lockDir. Its errors are those of [Open].
func Look(path string, key *types.PublicKey, lockDir string) (f Found, err error) {
	d, err := OpenChain(path, Options{ReadOnly: true})
	if errors.Is(err, ErrNoChain) {
		return f, notMoved(path, false)
	}
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := notMoved(path, false); err != nil {
		return f, err
	}
	f.Genesis, f.Head, f.Lost, f.Problems = d.Genesis(), d.store.Head().Header, d.lost, d.checkBeside()
	if f.Hash, err = GenesisHash(*f.Genesis); err != nil {
		return f, err
	}
	if key != nil {
		f.Record = d.CheckRecord(*key, lockDir)
	}
	f.Producer, err = d.producer()
	return f, err
}

// producer is the one in force after the head.
func (d *Dir) producer() (key types.PublicKey, err error) {
	state, err := d.store.StateAt(d.store.Head().Header.Height)
	if errors.Is(err, chain.ErrNoState) {
		return d.store.Head().Header.Producer, nil
	}
	if err != nil {
		return key, err
	}
	defer func() { err = errors.Join(err, state.Close()) }()
	parameters, err := exec.ReadParameters(state)
	return parameters.Producer, err
}
