package ledger

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/flat"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// memory is the in-memory part of the state after a block: the tree, and the short values, which execution reads.
type memory struct {
	tree   *tree.Tree
	values *flat.Table
}

// load builds the memory of a store's head, both parts in parallel. It returns [ErrRoot] if they do not belong to the
// head.
func load(store *chain.Store) (m memory, err error) {
	var treeErr, valuesErr error
	parallel.Run(2, func(i int) {
		if i == 0 {
			m.tree, treeErr = LoadTree(store)
		} else {
			m.values, valuesErr = loadValues(store)
		}
	})
	if err := errors.Join(treeErr, valuesErr); err != nil {
		return memory{}, err
	}
	if keys, leaves := m.values.Len(), m.tree.Len(); keys != leaves {
		return memory{}, fmt.Errorf("%w: the state has %d keys, its tree %d leaves", ErrRoot, keys, leaves)
	}
	return m, nil
}

// loadValues reads the short values of a store's head state.
func loadValues(store *chain.Store) (values *flat.Table, err error) {
	view, err := store.HeadState()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	rows, err := view.Values(flat.Short + 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return flat.Load(rows.NextRows)
}

// commit applies a change that was prepared from the tree.
func (m memory) commit(c change) {
	m.values.Apply(c.writes)
	m.tree.Commit(c.Change, parallel.Run)
}

// reader returns a reader of the memory's state. It reads long values from stored.
func (m memory) reader(stored state.Reader) state.Reader { return reader{m.values, stored} }

type reader struct {
	values *flat.Table
	stored state.Reader
}

// Get implements [state.Reader].
func (r reader) Get(key []byte) ([]byte, error) {
	value, known := r.values.Get(key)
	if known {
		return value, nil
	}
	value, err := r.stored.Get(key)
	if err == nil && len(value) <= flat.Short {
		err = fmt.Errorf("state key %x has a value of %d bytes on disk, and a longer one in memory", key, len(value))
	}
	return value, err
}
