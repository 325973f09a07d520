package ledger

import "github.com/cairn-chain/cairn/internal/protocol/tree"

// witness is the encoded witness of a change of the tip's state, empty where the store keeps none.
func (l *Ledger) witness(change *tree.Change) ([]byte, error) {
	keeps, err := l.store.KeepsWitnesses()
	if err != nil || !keeps {
		return nil, err
	}
	view, err := l.store.StateAt(l.Tip().Header.Header.Height)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	w, err := change.Witness(view.ValueHashAt)
	if err != nil {
		return nil, err
	}
	return w.Encode(), nil
}
