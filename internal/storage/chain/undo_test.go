package chain

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// undoTo collects the writes that undo the blocks above h, without a limit.
func undoTo(t *testing.T, s *Store, h types.Height) *Undo {
	t.Helper()
	st, err := s.StateAt(s.Head().Header.Height)
	must(t, err)
	defer st.Close()
	u, err := st.Undo(t.Context(), h, 1<<30)
	must(t, err)
	return u
}

// TestUndo applies the writes that undo blocks to the head's state, and compares the result with the earlier state.
func TestUndo(t *testing.T) {
	s, c := newStore(t, Options{}, 12)
	head := s.Head().Header.Height
	for h := range head + 1 {
		now := memory{}
		for key, value := range c.head().state {
			now[key] = value
		}
		for _, a := range undoTo(t, s, h).Accesses() {
			if string(now[string(a.Key)]) != string(a.Old) || !a.Changed() {
				t.Fatalf("block %d: %x is %x at the head, the undo says %x to %x", h, a.Key, now[string(a.Key)], a.Old, a.New)
			}
			if now[string(a.Key)] = a.New; len(a.New) == 0 {
				delete(now, string(a.Key))
			}
		}
		if !reflect.DeepEqual(now, c.blocks[h].state) {
			t.Errorf("the state after block %d is not what it was", h)
		}
	}
}

// TestUndoExtends: an extended undo equals one that was collected at the later head.
func TestUndoExtends(t *testing.T) {
	s, c := newStore(t, Options{}, 6)
	extended := undoTo(t, s, 3)
	r := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		must(t, s.Append(c.next(t, r, 6)))
	}
	head, err := s.StateAt(s.Head().Header.Height)
	must(t, err)
	defer head.Close()
	must(t, extended.Extend(t.Context(), head))
	must(t, extended.Extend(t.Context(), head)) // extends it by no block
	if !reflect.DeepEqual(extended.Accesses(), undoTo(t, s, 3).Accesses()) {
		t.Error("extended, an undo is another than one made at once")
	}
	early, err := s.StateAt(5)
	must(t, err)
	defer early.Close()
	requireIs(t, "from a state below the head", errors.Join(extended.Extend(t.Context(), early)), ErrPruned)

	undo, err := s.Rewind(4)
	must(t, err)
	c.rewind(t, 4, undo)
	for range 8 {
		must(t, s.Append(c.next(t, r, 6)))
	}
	other, err := s.StateAt(s.Head().Header.Height)
	must(t, err)
	defer other.Close()
	requireIs(t, "over a head that was undone", extended.Extend(t.Context(), other), ErrNotFound)
}

func TestUndoRefuses(t *testing.T) {
	s, _ := newStore(t, Options{Retention: 8}, 12)
	must(t, s.Prune(t.Context()))
	head := s.Head().Header.Height
	st, err := s.StateAt(head)
	must(t, err)
	defer st.Close()
	_, err = st.Undo(t.Context(), s.OldestHeight()-1, 1<<30)
	requireIs(t, "a pruned height", err, ErrPruned)
	_, err = st.Undo(t.Context(), head+1, 1<<30)
	requireIs(t, "above the head", err, ErrAboveHead)

	const limit = 3*undoBlockCost + undoBlockCost/2
	_, err = st.Undo(t.Context(), s.OldestHeight(), limit)
	var tooFar *UndoError
	if !errors.As(err, &tooFar) || !errors.Is(err, ErrPruned) || tooFar.Height != s.OldestHeight() {
		t.Fatalf("over the limit: error %v", err)
	}
	if _, err := st.Undo(t.Context(), tooFar.Oldest, limit); err != nil {
		t.Errorf("to block %d, the oldest within the limit: error %v", tooFar.Oldest, err)
	}
	if _, err := st.Undo(t.Context(), tooFar.Oldest-1, limit); !errors.As(err, new(*UndoError)) {
		t.Errorf("to the block before the oldest within the limit: error %v", err)
	}
}
