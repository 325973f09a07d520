package chain

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// TestTreeOutline stores the outline of a head's tree, checks it, damages it, and appends a block, whose it is not.
func TestTreeOutline(t *testing.T) {
	s, c := newStore(t, Options{}, 3)
	st, err := s.HeadState()
	must(t, err)
	loaded, err := st.Tree(serial)
	must(t, err)
	must(t, st.Close())
	if _, err := s.TreeOutline(); !errors.Is(err, ErrNotFound) {
		t.Errorf("before there is one: error %v, want %v", err, ErrNotFound)
	}
	put := TreeOutline{Of: s.HeadHash(), Leaves: loaded.Len(), Digests: loaded.Outline(2)}
	must(t, s.PutOutline(put))
	requireSound(t, s)
	got, err := s.TreeOutline()
	must(t, err)
	if root := s.OutlinedTree(got).Root(); root != s.Head().Header.StateRoot {
		t.Errorf("its root is %s", root)
	}
	row, err := s.db.Get(keyOutline)
	must(t, err)
	for name, damage := range map[string]func(row []byte) []byte{
		"another outline": func(row []byte) []byte { row[45] ^= 1; return row },
		"other leaves":    func(row []byte) []byte { row[39]++; return row },
		"an odd length":   func(row []byte) []byte { return append(row, row[:32]...) },
	} {
		report := change(t, s, func(b *kv.Batch) { b.Set(keyOutline, damage(append([]byte(nil), row...))) })
		requireProblem(t, name, report, "outline")
	}
	must(t, s.PutOutline(put))
	must(t, s.Append(c.next(t, rand.New(rand.NewPCG(3, 4)), 2)))
	if _, err := s.TreeOutline(); !errors.Is(err, ErrNotFound) {
		t.Errorf("after another block: error %v, want %v", err, ErrNotFound)
	}
}
