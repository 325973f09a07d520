package chain

import (
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Leaves iterates over the leaves of the state's tree, ascending by path. The state must be the head's state when it
// was made. The caller must close the Rows before the state.
func (st *State) Leaves() (*Rows[tree.Leaf], error) { return readAhead(st, tableLeaves, decodeLeaf) }

func decodeLeaf(key, row []byte) (tree.Leaf, error) {
	path, err := parseDigest(key[1:])
	if err != nil {
		return tree.Leaf{}, err
	}
	leaf, err := decodeLeafRow(row)
	return tree.Leaf{Path: path, Digest: leaf.leaf}, err
}

// Values iterates over the keys of the state, ascending. Each is returned as a write of the first most bytes of its
// value. The conditions are those for [State.Leaves].
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
