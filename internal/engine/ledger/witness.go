package ledger

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// witness is the encoded witness of a change of the state after the last block of to, empty if the store keeps none.
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
