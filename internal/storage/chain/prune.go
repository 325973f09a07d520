package chain

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Prune deletes the blocks that are further behind the head than the options' retention: bodies, receipts, accesses,
// indices, and the data needed only for states before the oldest stored one. It keeps the header of block 0, codes,
// policies, the lists of contracts and token holders, and the head's state. In a stateless store it only keeps the codes that a
// stored block used.
//
// Prune stops with ctx's error when ctx ends; the rest of a half-pruned block is deleted first the next time. It is
// meant for a loop next to the appending one. It deletes in unsynced batches of about [pruneRows] rows, and delays
// appends by at most one such batch. A batch interrupts a run of appends, except for the last batch, which waits until
// the run ends.
func (s *Store) Prune(ctx context.Context) error {
	s.pruning.Lock()
	defer s.pruning.Unlock()
	for {
		more, err := read(s, func(v *view) (bool, error) { return s.pruneOldest(ctx, v) })
		if err != nil || !more {
			return err
		}
	}
}

// pruneRows is the number of rows that one batch of pruning deletes, which takes a few milliseconds. A batch may have
// the rows of several blocks, and a block may take several batches.
const pruneRows = 4096

// pruneOldest deletes the rest of a half-pruned block and the view's oldest blocks, up to about one batch. It reports
// whether there was anything to do. A block counts as pruned from its first batch on. Its body, from which its rows are
// derived, is deleted in the last one. The caller must hold s.pruning, so that nothing else changes a block.
func (s *Store) pruneOldest(ctx context.Context, v *view) (bool, error) {
	if v.empty {
		return false, nil
	}
	first, kept := v.oldest, v.oldest
	if v.halfPruned {
		first--
	}
	if retention := s.options.Retention; retention > 0 && uint64(v.head.Header.Height-kept) > retention {
		kept = v.head.Header.Height - types.Height(retention)
	}
	if first == kept {
		return false, ctx.Err()
	}
	p := &pruner{store: s, ctx: ctx}
	p.open(first)
	h := first
	for ; h < kept && p.rows < s.pruneRows; h++ {
		if err := errors.Join(ctx.Err(), p.block(v, h)); err != nil {
			return false, errors.Join(err, p.batch.Discard())
		}
	}
	if h < kept {
		s.lock()
	} else {
		s.writing.Lock() // a run of appends need not be interrupted, since nothing is left to do
	}
	return true, p.commit()
}

// pruner deletes blocks' rows in batches.
type pruner struct {
	store   *Store
	ctx     context.Context
	from    types.Height // first block with rows in the batch
	next    types.Height // height after the last one
	batch   *kv.Batch
	rows    int
	publish bool             // whether the batch changes data that readers see
	codes   []types.CodeHash // in a stateless store, codes that these blocks may have used
}

// open begins a batch whose first rows belong to a block.
func (p *pruner) open(h types.Height) {
	p.batch, p.from, p.rows, p.publish = p.store.db.NewBatch(1<<16), h, 0, false
}

// block deletes all data of a block. The block counts as pruned from its first row on.
func (p *pruner) block(v *view, h types.Height) error {
	if v.stateless {
		index, err := readIndexed(v.snapshot, h)
		if err != nil {
			return err
		}
		accesses, err := readAccesses(v.snapshot, h)
		if err != nil {
			return err
		}
		codes, err := usable(index, accesses)
		if err != nil {
			return err
		}
		p.codes = append(p.codes, codes...)
	}
	p.next = h + 1
	p.batch.Set(keyOldest, encodeHeight(p.next))
	p.batch.DeleteRange(tableProofs.heightBounds(h))
	pruneRanges(p.batch, h)
	p.publish = true
	p.rows++
	if err := v.eachRow(h, p.remove); err != nil {
		return err
	}
	deleteBody(p.batch, h)
	p.batch.Delete(keyHalfPruned)
	p.publish = true
	return nil
}

// remove deletes a row of the batch's last block. If the batch is full, remove commits it first.
func (p *pruner) remove(key, _ []byte) error {
	if p.rows >= p.store.pruneRows {
		p.batch.Set(keyHalfPruned, nil)
		p.store.lock()
		err := errors.Join(p.commit(), p.ctx.Err())
		p.open(p.next - 1)
		if err != nil {
			return err
		}
	}
	p.batch.Delete(key)
	p.rows++
	return nil
}

// commit writes the batch and unlocks s.writing, which the caller must hold.
func (p *pruner) commit() error {
	s := p.store
	defer s.writing.Unlock()
	v, err := s.writable() // a new block may have used a code again
	if err == nil && p.publish {
		err = errors.Join(
			deleteWitnesses(p.batch, v.snapshot, p.from, p.next, tableWitnesses, tableSpent),
			v.unusedCodes(p.next-1, p.codes, p.batch.Delete),
		)
	}
	if err != nil {
		return errors.Join(err, p.batch.Discard())
	}
	if p.publish {
		return s.commit(p.batch, false)
	}
	if err := s.db.Commit(p.batch, false); err != nil {
		s.failed = err
		return err
	}
	return nil
}

// deleteBlock deletes a block's own rows. For block 0 it keeps the header and the hash.
func (v *view) deleteBlock(b *kv.Batch, h types.Height) error {
	err := v.eachRow(h, func(key, _ []byte) error { b.Delete(key); return nil })
	deleteBody(b, h)
	return err
}

// eachRow calls do for the index and history rows of a block. For block 0 it does nothing.
func (v *view) eachRow(h types.Height, do func(key, _ []byte) error) error {
	if h == 0 {
		return nil
	}
	index, err := readIndexed(v.snapshot, h)
	if err != nil {
		return err
	}
	if err := index.rows(do); err != nil {
		return err
	}
	accesses, err := readAccesses(v.snapshot, h)
	if err != nil {
		return err
	}
	var key []byte
	for _, w := range v.kept(types.Writes(accesses)) {
		key = appendHistoryRow(key[:0], w.Key, h)
		if err := do(key, nil); err != nil {
			return err
		}
	}
	return nil
}

// deleteBody deletes the rows that eachRow reads, and the block's failure reasons, counts, sizes and proof.
func deleteBody(b *kv.Batch, h types.Height) {
	if h > 0 {
		b.Delete(tableHeaders.atHeight(h))
	}
	b.Delete(tableCounts.atHeight(h))
	b.Delete(tableSizes.atHeight(h))
	for _, t := range []table{tableFailures, tableTransactions, tableReceipts, tableAccesses, tableProofs} {
		b.DeleteRange(t.heightBounds(h))
	}
}
