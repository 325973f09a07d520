package chain

import (
	"encoding/binary"
	"fmt"
	"math/bits"

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

// Tree builds the state tree from the stored leaves, which it reads side by side. The state must be the head's state
// when it was made. The caller must compare the root.
func (st *State) Tree(parallel tree.Parallel) (*tree.Tree, error) {
	if err := st.atHead(); err != nil {
		return nil, err
	}
	parts, err := st.view.leafParts()
	if err != nil {
		return nil, err
	}
	return tree.Load(int(parts), func(part int, leaves []tree.Leaf) ([]tree.Leaf, error) {
		return st.view.leavesOf(parts, part, leaves)
	}, parallel)
}

// leafParts is the number of bits by which the leaves are divided into parts, of equal sizes since paths are hashes.
type leafParts int

// leafParts returns parts that have up to 2^15 leaves each, but at most 2^10 parts.
func (v *view) leafParts() (leafParts, error) {
	counts, err := readCounts(v.snapshot, v.head.Header.Height)
	keys := counts.Accounts + counts.Contracts + counts.StorageEntries
	return min(leafParts(bits.Len64(keys>>15)), 10), err
}

// partsOf returns as many parts as count, a power of two.
func partsOf(count int) leafParts { return leafParts(bits.Len(uint(count)) - 1) }

// bounds returns the bounds of a scan over a part. The last part has all that is left.
func (p leafParts) bounds(part int) (lower, upper []byte) {
	lower, upper = tableLeaves.bounds()
	if part > 0 {
		lower = binary.BigEndian.AppendUint32(lower, uint32(part)<<(31-p))
	}
	if part+1 < 1<<p {
		upper = binary.BigEndian.AppendUint32([]byte{byte(tableLeaves)}, uint32(part+1)<<(31-p))
	}
	return lower, upper
}

func decodeLeaf(key, row []byte) (tree.Leaf, error) {
	path, err := parseDigest(key[1:])
	if err != nil {
		return tree.Leaf{}, err
	}
	leaf, err := decodeLeafRow(row)
	return tree.Leaf{Path: path, Digest: leaf.leaf}, err
}

// Values iterates over the keys of the state, ascending. Each is returned as a write of the first most bytes of its
// value. The state must be the head's state when it was made. The caller must close the Rows before the state.
func (st *State) Values(most int) (*Rows[types.Access], error) {
	var buffer []byte
	copied := func(b []byte) []byte {
		if len(buffer)+len(b) > cap(buffer) {
			buffer = make([]byte, 0, max(valuesBuffer, len(b)))
		}
		begin := len(buffer)
		buffer = append(buffer, b...)
		return buffer[begin:len(buffer):len(buffer)]
	}
	return readAhead(st, tableState, func(key, row []byte) (types.Access, error) {
		return types.Access{Key: copied(key[1:]), New: copied(row[:min(most, len(row))])}, nil
	})
}

// valuesBuffer is the size of the buffers in which keys and values are allocated.
const valuesBuffer = 64 << 10
