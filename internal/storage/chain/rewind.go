package chain

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Rewind makes block h the head again, in one synced batch, as if nothing had been appended after it. It is for
// development chains, whose blocks no other node has. It returns the writes that undo the blocks, ascending by key,
// each with the value at the previous head and the value at h, for the caller's tree. Its memory grows with the undone
// writes. The error is [ErrAboveHead] or [ErrPruned] for a block that is not stored.
func (s *Store) Rewind(h types.Height) ([]types.Access, error) {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	s.lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return nil, err
	}
	if _, err := v.stateAt(h); err != nil {
		return nil, err
	}
	if h == v.head.Header.Height {
		return nil, nil
	}
	b := s.db.NewBatch(1 << 20)
	undo, err := v.undoBlocks(b, h)
	if err == nil {
		err = deleteWitnesses(b, v.snapshot, h+1, v.head.Header.Height+1, tableWitnesses, tableSpent)
	}
	if err != nil {
		return nil, errors.Join(err, b.Discard())
	}
	rewindRanges(b, h)
	putUndone(b, undo)
	b.Set(keyHead, encodeHeight(h))
	return undo, s.commit(b, true)
}

// undoBlocks deletes the blocks above h and collects the writes that undo theirs.
func (v *view) undoBlocks(b *kv.Batch, h types.Height) ([]types.Access, error) {
	merged, moved := make(undone), make(transfers)
	for height := v.head.Header.Height; height > h; height-- {
		accesses, err := readAccesses(v.snapshot, height)
		if err != nil {
			return nil, err
		}
		merged.earlier(accesses)
		index, err := readIndexed(v.snapshot, height)
		if err != nil {
			return nil, err
		}
		for _, hash := range index.codes() {
			if err := v.undoCode(b, height, hash); err != nil {
				return nil, err
			}
		}
		if err := v.undoPolicies(b, index); err != nil {
			return nil, err
		}
		moved.addAll(index.receipts, true)
		if err := deploys(height, accesses, func(key, _ []byte) error { b.Delete(key); return nil }); err != nil {
			return nil, err
		}
		if err := v.deleteBlock(b, height); err != nil {
			return nil, err
		}
	}
	holders, err := v.holderChanges(moved)
	if err != nil {
		return nil, err
	}
	putHolders(b, holders)
	putRanks(b, holders)
	return merged.accesses(), nil
}

// undoCode deletes a code of a block's deploy if the block brought it first.
func (v *view) undoCode(b *kv.Batch, height types.Height, hash types.CodeHash) error {
	row, err := v.snapshot.Get(tableCodeSizes.key(hash[:]))
	if err != nil {
		return fmt.Errorf("size of code %s: %w", hash, missing(err))
	}
	known, err := decodeCodeSize(row)
	if err == nil && known.since == height {
		b.Delete(tableCodes.key(hash[:]))
		b.Delete(tableCodeSizes.key(hash[:]))
	}
	return err
}

// putUndone writes the values that undo blocks, and their leaves.
func putUndone(b *kv.Batch, undo []types.Access) {
	paths := tree.Paths(keysOf(undo))
	values := make([][]byte, len(undo))
	for i, a := range undo {
		values[i] = a.New
	}
	for i, leaf := range newLeaves(paths, values) {
		setOrDelete(b, tableState.key(undo[i].Key), values[i])
		var row []byte
		if len(values[i]) > 0 {
			leaf.key = undo[i].Key
			row = leaf.encode()
		}
		path := paths[i].Bytes()
		setOrDelete(b, tableLeaves.key(path[:]), row)
	}
}

func keysOf(accesses []types.Access) [][]byte {
	keys := make([][]byte, len(accesses))
	for i, a := range accesses {
		keys[i] = a.Key
	}
	return keys
}

// newLeaves hashes paths and values to leaves. It leaves their keys unset.
func newLeaves(paths []poseidon.Digest, values [][]byte) []leafRow {
	hashes := make([]poseidon.Digest, len(paths))
	poseidon.HashMany(poseidon.TagValue, hashes, values)
	pairs := make([][2]poseidon.Digest, len(paths))
	for i := range pairs {
		pairs[i] = [2]poseidon.Digest{paths[i], hashes[i]}
	}
	digests := make([]poseidon.Digest, len(paths))
	poseidon.Leaves(digests, pairs)
	leaves := make([]leafRow, len(paths))
	for i := range leaves {
		leaves[i] = leafRow{leaf: digests[i]}
	}
	return leaves
}
