package chain

import (
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// Leaves returns a walk over the leaves of the state's tree, ascending by path. The state must be that of the head at
// the time it was made. The caller closes the walk before the state.
func (st *State) Leaves() (*Rows[tree.Leaf], error) { return readAhead(st, tableLeaves, decodeLeaf) }

func decodeLeaf(key, row []byte) (tree.Leaf, error) {
	path, err := parseDigest(key[1:])
	if err != nil {
		return tree.Leaf{}, err
	}
	leaf, err := decodeLeafRow(row)
	return tree.Leaf{Path: path, Digest: leaf.leaf}, err
}

// Values returns a walk over the keys of the state, ascending, each as a write of its value, of which at most the first
// most bytes are given. As of [State.Leaves].
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

// valuesBuffer is how many bytes of keys and values are allocated at once.
const valuesBuffer = 64 << 10
