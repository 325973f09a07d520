package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/flat"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// memory is the in-memory part of the state after a block: the tree, and the short values, which execution reads.
type memory struct {
	tree   *tree.Tree
	values *flat.Table      // nil until they are loaded
	late   [][]types.Access // writes of blocks since their loading began, to be applied to them
}

// deferral says which states a node opens before they are in memory.
type deferral struct {
	leaves  int // a state with fewer is loaded whole
	outline int // depth of the outline of a larger state's tree
}

var deferred = deferral{leaves: 1 << 18, outline: 10}

// load builds the memory of a store's head. Of a large state it leaves out the values, and the parts of the tree too if
// there is an outline. It returns [ErrRoot] if what it loads does not belong to the head.
func (d deferral) load(store *chain.Store) (m memory, err error) {
	view, err := store.HeadState()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	head, counts, err := view.Summary()
	if err != nil {
		return m, err
	}
	if counts.Accounts+counts.Contracts+counts.StorageEntries < uint64(d.leaves) {
		return loadBoth(store, view)
	}
	outline, err := store.TreeOutline()
	switch {
	case err == nil:
		if m.tree = store.OutlinedTree(outline); m.tree.Root() == head.Header.StateRoot {
			return m, nil
		}
	case !errors.Is(err, chain.ErrNotFound):
		return m, err
	}
	m.tree, err = LoadTree(store)
	return m, err
}

// loadBoth loads the tree and the values, in parallel.
func loadBoth(store *chain.Store, view *chain.State) (m memory, err error) {
	var treeErr, valuesErr error
	parallel.Run(2, func(i int) {
		if i == 0 {
			m.tree, treeErr = LoadTree(store)
		} else {
			m.values, valuesErr = loadValues(context.Background(), view)
		}
	})
	if err := errors.Join(treeErr, valuesErr); err != nil {
		return memory{}, err
	}
	return m, m.check()
}

// check returns [ErrRoot] unless there are as many values as leaves.
func (m memory) check() error {
	if keys, leaves := m.values.Len(), m.tree.Len(); keys != leaves {
		return fmt.Errorf("%w: the state has %d keys, its tree %d leaves", ErrRoot, keys, leaves)
	}
	return nil
}

// loadValues reads the short values of a store's head state.
func loadValues(ctx context.Context, view *chain.State) (values *flat.Table, err error) {
	rows, err := view.Values(flat.Short + 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return flat.Load(func() ([]types.Access, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return rows.NextRows()
	})
}

// Load loads into memory what [Open] left on disk. Blocks may be made or imported meanwhile: they load the parts of the
// tree that they need, and read values from the store. Load returns [ErrRoot] if the leaves or values are not those of
// the head, and the context's error. It must be called at most once.
func (l *Ledger) Load(ctx context.Context) error {
	if err := l.loadTree(ctx); err != nil {
		return err
	}
	view, err := l.beginValues()
	if err != nil || view == nil {
		return err
	}
	values, err := loadValues(ctx, view)
	if err = errors.Join(err, view.Close()); err != nil {
		return err
	}
	l.producing.mu.Lock()
	defer l.producing.mu.Unlock()
	for _, writes := range l.late {
		values.Apply(writes)
	}
	l.values, l.late = values, nil
	return l.check()
}

// beginValues returns the state whose values are loaded, or nil if they were. From now on, the writes of blocks are
// kept for these values.
func (l *Ledger) beginValues() (*chain.State, error) {
	l.producing.mu.Lock()
	defer l.producing.mu.Unlock()
	if l.values != nil || l.treeLost != nil {
		return nil, l.treeLost
	}
	l.late = [][]types.Access{}
	return l.store.HeadState()
}

// partsAtOnce is the number of parts of the tree that are loaded while no block can be made: in 10 ms or so.
const partsAtOnce = 4

// loadTree loads all parts of the tree.
func (l *Ledger) loadTree(ctx context.Context) error {
	for !l.treeWhole.Load() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.loadParts(partsAtOnce); err != nil {
			return err
		}
	}
	return nil
}

// loadParts loads at most n parts of the tree.
func (l *Ledger) loadParts(n int) error {
	l.producing.mu.Lock()
	defer l.producing.mu.Unlock()
	if err := l.tree.LoadMore(n, parallel.Run); err != nil {
		return damaged(err)
	}
	l.treeWhole.Store(l.tree.Whole())
	return nil
}

// damaged marks an error of the tree that says that the stored leaves are not the head's.
func damaged(err error) error {
	switch {
	case errors.Is(err, tree.ErrOutline):
		return fmt.Errorf("%w: %w", ErrRoot, err)
	case errors.Is(err, tree.ErrOrder):
		return fmt.Errorf("%w: %w", chain.ErrCorrupt, err)
	}
	return err
}

// Close stores the outline of a large state's tree, with which the next [Open] is quick. The ledger must not be used
// afterwards.
func (l *Ledger) Close() error {
	l.producing.Lock()
	defer l.producing.Unlock()
	if l.treeLost != nil || l.tree.Len() < l.deferral.leaves {
		return nil
	}
	digests := l.tree.Outline(l.deferral.outline)
	if digests == nil {
		return nil
	}
	return l.store.PutOutline(chain.TreeOutline{Of: l.treeHead.Hash(), Leaves: l.tree.Len(), Digests: digests})
}

// commit applies a change that was prepared from the tree.
func (m *memory) commit(c change) {
	switch {
	case m.values != nil:
		m.values.Apply(c.writes)
	case m.late != nil:
		m.late = append(m.late, c.writes)
	}
	m.tree.Commit(c.Change, parallel.Run)
}

// reader returns a reader of the memory's state. It reads long values from stored, and all until they are loaded.
func (m *memory) reader(stored state.Reader) state.Reader {
	if m.values == nil {
		return stored
	}
	return reader{m.values, stored}
}

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
