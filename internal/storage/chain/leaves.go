package chain

import (
	"encoding/binary"
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

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
