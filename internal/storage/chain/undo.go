package chain

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// undone holds the writes that undo consecutive blocks, by key. Each has the value after the last block and the value
// before the first.
type undone map[string]types.Access

// earlier adds the block before those already undone.
func (u undone) earlier(accesses []types.Access) {
	for _, w := range types.Writes(accesses) {
		undo, later := u[string(w.Key)]
		if !later {
			undo = types.Access{Key: w.Key, Old: w.New}
		}
		undo.New = w.Old
		u[string(w.Key)] = undo
	}
}

// later adds the block after those already undone.
func (u undone) later(accesses []types.Access) {
	for _, w := range types.Writes(accesses) {
		undo, earlier := u[string(w.Key)]
		if !earlier {
			undo = types.Access{Key: w.Key, New: w.Old}
		}
		undo.Old = w.New
		u[string(w.Key)] = undo
	}
}

// accesses returns the writes that change a value, ascending by key.
func (u undone) accesses() []types.Access {
	undo := make([]types.Access, 0, len(u))
	for _, a := range u {
		if a.Changed() {
			undo = append(undo, a)
		}
	}
	slices.SortFunc(undo, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	return undo
}

// The costs that count towards the limit of an [Undo], in addition to the bytes of keys and values.
const (
	undoBlockCost  = 4 << 10
	undoAccessCost = 256
)

// Undo holds the writes that lead from the state after one block back to the state after an earlier one. It does not
// change the store.
type Undo struct {
	height types.Height // block to go back to
	head   types.Height // block to start from
	hash   types.BlockHash
	writes undone
	limit  int // remaining limit
}

// UndoError is returned if undoing the blocks above a height exceeds the limit. It is an [ErrPruned].
type UndoError struct {
	Height types.Height
	Oldest types.Height // oldest height within the limit
}

func (e *UndoError) Error() string {
	return fmt.Sprintf("too much was written after block %d: the oldest within the limit is %d", e.Height, e.Oldest)
}

// Is makes an UndoError an [ErrPruned].
func (e *UndoError) Is(target error) bool { return target == ErrPruned }

// Undo collects the writes that undo the blocks above h. The state must be the head's state when it was made. limit
// bounds the work in bytes: 4 KiB per block and, per access, 256 and the bytes of key and values. Beyond it the error
// is an [UndoError]. Below the oldest height the error is [ErrPruned].
func (st *State) Undo(ctx context.Context, h types.Height, limit int) (*Undo, error) {
	if err := st.atHead(); err != nil {
		return nil, err
	}
	if _, err := st.view.stateAt(h); err != nil {
		return nil, err
	}
	u := &Undo{height: h, head: st.height, hash: st.view.hash, writes: make(undone), limit: limit}
	for height := st.height; height > h; height-- {
		accesses, err := u.read(ctx, st, height)
		if err != nil {
			return nil, err
		}
		if u.limit < 0 {
			return nil, &UndoError{h, height}
		}
		u.writes.earlier(accesses)
	}
	return u, nil
}

// Extend also undoes the blocks up to a later head, whose state is st. It returns [ErrNotFound] if the previous head is
// no longer in the chain after a rewind.
func (u *Undo) Extend(ctx context.Context, st *State) error {
	if err := st.atHead(); err != nil {
		return err
	}
	before := st.view.hash
	if u.head < st.height {
		header, err := readHeader(st.view.snapshot, u.head)
		if err != nil {
			return err
		}
		before = header.Header.Hash()
	}
	if u.head > st.height || before != u.hash {
		return fmt.Errorf("block %d, %s: %w", u.head, u.hash, ErrNotFound)
	}
	for u.head < st.height {
		accesses, err := u.read(ctx, st, u.head+1)
		if err != nil {
			return err
		}
		if u.limit < 0 {
			return &UndoError{u.height, u.height + 1}
		}
		u.writes.later(accesses)
		u.head++
	}
	u.hash = st.view.hash
	return nil
}

// read returns the accesses of a block and deducts their cost from the limit.
func (u *Undo) read(ctx context.Context, st *State, h types.Height) ([]types.Access, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	accesses, err := readAccesses(st.view.snapshot, h)
	u.limit -= undoBlockCost
	for i := range accesses {
		a := &accesses[i]
		u.limit -= undoAccessCost + len(a.Key) + len(a.Old) + len(a.New)
	}
	return accesses, err
}

// Accesses returns the writes that undo the blocks, ascending by key.
func (u *Undo) Accesses() []types.Access { return u.writes.accesses() }
