package ledger

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// witness is the encoded witness of a change of the state after a run's last block, empty where the store keeps none.
func witness(run *chain.Run, change *tree.Change) (_ []byte, err error) {
	keeps, err := run.KeepsWitnesses()
	if err != nil || !keeps {
		return nil, err
	}
	parent := run.State()
	defer func() { err = errors.Join(err, parent.Close()) }()
	w, err := change.Witness(parent.ValueHashAt)
	if err != nil {
		return nil, err
	}
	return w.Encode(), nil
}
