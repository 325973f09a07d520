package chain

import (
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// TreeOutline is the outline of a state tree. See [tree.Outlined].
type TreeOutline struct {
	Of      types.BlockHash   // block of the state
	Leaves  int               // number of the tree's leaves
	Digests []poseidon.Digest // of its parts, a power of two
}

// PutOutline stores the outline of the head's state tree in place of an earlier one.
func (s *Store) PutOutline(o TreeOutline) error {
	s.lock()
	defer s.writing.Unlock()
	if _, err := s.writable(); err != nil {
		return err
	}
	row := binary.BigEndian.AppendUint64(o.Of[:], uint64(o.Leaves))
	for i := range o.Digests {
		digest := o.Digests[i].Bytes()
		row = append(row, digest[:]...)
	}
	b := s.db.NewBatch(len(row) + 64)
	b.Set(keyOutline, row)
	return s.commit(b, true)
}

// TreeOutline returns the stored outline if it is of the head's state, or else the error [ErrNotFound].
func (s *Store) TreeOutline() (TreeOutline, error) {
	return read(s, func(v *view) (TreeOutline, error) { return v.outline() })
}

func (v *view) outline() (o TreeOutline, err error) {
	row, err := v.snapshot.Get(keyOutline)
	if err != nil {
		return o, notFound(err)
	}
	const head = len(o.Of) + 8
	if count := (len(row) - head) / 32; count < 2 || count&(count-1) != 0 || len(row) != head+32*count {
		return o, fmt.Errorf("%w: an outline of %d bytes", ErrCorrupt, len(row))
	}
	o.Of, o.Leaves = types.BlockHash(row), int(binary.BigEndian.Uint64(row[len(o.Of):]))
	if o.Of != v.hash {
		return o, ErrNotFound
	}
	for row = row[head:]; len(row) > 0; row = row[32:] {
		digest, err := parseDigest(row[:32])
		if err != nil {
			return o, err
		}
		o.Digests = append(o.Digests, digest)
	}
	return o, nil
}

// OutlinedTree returns the state tree with the head's outline. It reads the leaves of a part from the newest state, as
// soon as the part is loaded. The caller must compare the root.
func (s *Store) OutlinedTree(o TreeOutline) *tree.Tree {
	parts := partsOf(len(o.Digests))
	return tree.Outlined(o.Digests, o.Leaves, func(part int, leaves []tree.Leaf) ([]tree.Leaf, error) {
		return read(s, func(v *view) ([]tree.Leaf, error) { return v.leavesOf(parts, part, leaves) })
	})
}

// leavesOf appends the leaves of a part.
func (v *view) leavesOf(parts leafParts, part int, leaves []tree.Leaf) ([]tree.Leaf, error) {
	lower, upper := parts.bounds(part)
	err := kv.Scan(v.snapshot, lower, upper, func(key, row []byte) error {
		leaf, err := decodeLeaf(key, row)
		leaves = append(leaves, leaf)
		return err
	})
	return leaves, err
}
