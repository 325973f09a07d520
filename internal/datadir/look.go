package datadir

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Found is the result of [Look].
type Found struct {
	Genesis  *types.Genesis // genesis of the chain, or nil
	Hash     types.BlockHash
	Head     types.Header
	Producer types.PublicKey // in force after the head
	Lost     error           // [ErrBlocksLost], according to the sign states in the directory
	Record   error           // [ErrUnrecorded], for the key given to Look
	Problems []Problem       // with the files beside the database
}

// Look inspects a data directory without changes to it. key, unless nil, is the producer's key that the node shall use,
// and lockDir the directory of its sign state. Look returns the errors of [Open].
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

// producer returns the producer in force after the head.
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
