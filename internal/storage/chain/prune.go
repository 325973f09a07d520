package chain

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Prune deletes the blocks that are further behind the head than the options' retention: bodies, receipts, accesses,
// indices, and what only states before the oldest kept one need. The header of block 0, code, the lists of contracts and
// of token holders, and the head's state stay. It goes block by block, each an atomic batch that is not waited for, and stops with the context's error when
// that ends. It is for a loop beside the one that appends, which it never holds up for longer than one such batch.
func (s *Store) Prune(ctx context.Context) error {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		v, err := s.acquire()
		if err != nil {
			return err
		}
		more, err := s.pruneOldest(v)
		if releaseErr := v.release(); err == nil {
			err = releaseErr
		}
		if err != nil || !more {
			return err
		}
	}
}

// pruneOldest deletes the oldest block of the view and reports whether it did. The caller holds s.pruning: nothing
// else changes a block.
func (s *Store) pruneOldest(v *view) (bool, error) {
	retention := s.options.Retention
	if v.empty || retention == 0 || uint64(v.head.Header.Height-v.oldest) <= retention {
		return false, nil
	}
	b := s.db.NewBatch(1 << 20)
	if err := deleteBlock(b, v.snapshot, v.oldest); err != nil {
		return false, errors.Join(err, b.Discard())
	}
	b.Set(keyOldest, encodeHeight(v.oldest+1))
	s.writing.Lock()
	defer s.writing.Unlock()
	newest, err := s.writable()
	if err == nil {
		err = deleteWitnesses(b, newest.snapshot, v.oldest, v.oldest+1)
	}
	if err != nil {
		return false, errors.Join(err, b.Discard())
	}
	return true, s.commit(b, false)
}

// deleteBlock deletes the rows that a block has of its own. Of block 0 the header and its hash stay.
func deleteBlock(b *kv.Batch, r kv.Reader, h types.Height) error {
	index, err := readIndexed(r, h)
	if err != nil {
		return err
	}
	accesses, err := readAccesses(r, h)
	if err != nil {
		return err
	}
	if h > 0 {
		remove := func(key, _ []byte) error { b.Delete(key); return nil }
		if err := index.rows(remove); err != nil {
			return err
		}
		for _, w := range types.Writes(accesses) {
			b.Delete(historyRow(w.Key, h))
		}
		b.Delete(tableHeaders.atHeight(h))
	}
	for _, t := range []table{tableFailures, tableTransactions, tableReceipts, tableAccesses, tableProofs} {
		b.DeleteRange(t.heightBounds(h))
	}
	return nil
}

func keysOf(accesses []types.Access) [][]byte {
	keys := make([][]byte, len(accesses))
	for i, a := range accesses {
		keys[i] = a.Key
	}
	return keys
}
