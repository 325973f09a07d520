package ledger

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// witness returns the encoded witness of a change to the state after the last appended block, or nil if the store keeps
// no witnesses.
func witness(to *chain.Appender, change *tree.Change) (_ []byte, err error) {
	keeps, err := to.KeepsWitnesses()
	if err != nil || !keeps {
		return nil, err
	}
	parent := to.State()
	defer func() { err = errors.Join(err, parent.Close()) }()
	w, err := change.Witness(parent.ValueHashAt)
	if err != nil {
		return nil, err
	}
	return w.Encode(), nil
}
