package chain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// State is the state after one block, unaffected by later appends, pruning or rewinds. It implements state.Reader and
// is safe for concurrent use, except for Close.
type State struct {
	view   *view
	height types.Height
	recent *recentValues // cache of values at the view's head; may be nil
}

// StateAt returns the state after block h. The error is [ErrAboveHead], or [ErrPruned] below the oldest height. The
// caller should close the state soon: while it is open, the disk keeps the data of its view.
func (s *Store) StateAt(h types.Height) (*State, error) {
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	st, err := v.stateAt(h)
	if err != nil {
		return nil, errors.Join(err, v.release())
	}
	st.recent = &s.recent
	return st, nil
}

func (v *view) stateAt(h types.Height) (*State, error) {
	switch {
	case v.empty || h > v.head.Header.Height:
		return nil, fmt.Errorf("state after block %d: %w, %d", h, ErrAboveHead, v.head.Header.Height)
	case h < v.oldest:
		return nil, fmt.Errorf("state after block %d: %w: the oldest kept is %d", h, ErrPruned, v.oldest)
	default:
		return &State{view: v, height: h}, nil
	}
}

// Height returns the height of the state's block.
func (st *State) Height() types.Height { return st.height }

// Close releases the state. It must be called once.
func (st *State) Close() error { return st.view.release() }

// Get returns the value of a state key, or nil if it has none.
func (st *State) Get(key []byte) ([]byte, error) {
	if st.view.stateless && !bytes.Equal(key, parametersKey) {
		return nil, fmt.Errorf("state key %x: %w", key, ErrNoState)
	}
	if st.height < st.view.head.Header.Height {
		value, replaced, err := st.replaced(key)
		if err != nil || replaced {
			return value, err
		}
		return st.stored(key)
	}
	if st.recent == nil {
		return st.stored(key)
	}
	if value, known := st.recent.find(st.view.number, key); known {
		return value, nil
	}
	value, err := st.stored(key)
	if err == nil {
		st.recent.keep(st.view.number, key, value)
	}
	return value, err
}

// stored returns the value of a key in the state of the view's head.
func (st *State) stored(key []byte) ([]byte, error) {
	value, err := st.view.snapshot.Get(tableState.key(key))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// replaced returns the value of a key before the first block above the state's height that wrote it, and whether there
// is such a block.
func (st *State) replaced(key []byte) (value []byte, found bool, err error) {
	it, err := st.view.snapshot.NewIter(historyRow(key, st.height+1), kv.PrefixEnd(historyPrefix(key)))
	if err != nil {
		return nil, false, err
	}
	if found = it.First(); found {
		value = bytes.Clone(it.Value())
	}
	if len(value) == 0 {
		value = nil
	}
	return value, found, it.Close()
}

// ValueHashAt returns the value hash of the leaf at a path, for a proof of absence that shows another key's leaf. The
// state must be the head's state when it was made. The error is [ErrNotFound] if the path has no leaf.
func (st *State) ValueHashAt(path poseidon.Digest) (poseidon.Digest, error) {
	if err := st.atHead(); err != nil {
		return poseidon.Digest{}, err
	}
	name := path.Bytes()
	row, err := st.view.snapshot.Get(tableLeaves.key(name[:]))
	if err != nil {
		return poseidon.Digest{}, fmt.Errorf("leaf %x: %w", name, notFound(err))
	}
	leaf, err := decodeLeafRow(row)
	if err != nil {
		return poseidon.Digest{}, err
	}
	value, err := st.view.snapshot.Get(tableState.key(leaf.key))
	if err != nil {
		return poseidon.Digest{}, fmt.Errorf("state key %x: %w", leaf.key, missing(err))
	}
	return poseidon.Hash(poseidon.TagValue, value), nil
}

// atHead returns an error for a state below the head of its view, whose leaves are not kept.
func (st *State) atHead() error {
	if st.view.stateless {
		return ErrNoState
	}
	if head := st.view.head.Header.Height; st.height != head {
		return fmt.Errorf("leaves are kept of the head's state, %d, not of %d: %w", head, st.height, ErrPruned)
	}
	return nil
}
