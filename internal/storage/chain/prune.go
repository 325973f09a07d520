package chain

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Prune deletes the blocks that are further behind the head than the options' retention: bodies, receipts, accesses,
// indices, and what only states before the oldest kept one need. The header of block 0, code, the lists of contracts
// and of token holders, and the head's state stay; of a stateless store's codes those that a kept block used. It stops
// with the context's error when that ends; what is left of a block then goes first the next time. It is for a loop
// beside the one that appends. It goes in batches of about [pruneRows] rows that are not waited for, and holds that one
// up for no longer than such a batch. A run is cut short only for a batch that is not the last: the last waits until
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

// pruneRows is how many rows one batch of pruning deletes: a few milliseconds. It may have the rows of several blocks,
// and a block may take several.
const pruneRows = 4096

// pruneOldest deletes what a stopped pruning left and the oldest blocks of the view, as many as fill a batch, and
// reports whether there was anything to do. From its first batch on a block counts as pruned; its body, which says
// which rows there are, goes with the last. The caller holds s.pruning: nothing else changes a block.
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
		s.writing.Lock() // a run need not hurry: nothing is left to do
	}
	return true, p.commit()
}

// pruner deletes blocks' rows in batches.
type pruner struct {
	store   *Store
	ctx     context.Context
	from    types.Height // of the first block with rows in the batch
	next    types.Height // after that of the last one
	batch   *kv.Batch
	rows    int
	publish bool             // whether the batch changes what readers are told
	codes   []types.CodeHash // in a stateless store, those that these blocks may have used
}

// open begins a batch, with rows of a block first.
func (p *pruner) open(h types.Height) {
	p.batch, p.from, p.rows, p.publish = p.store.db.NewBatch(1<<16), h, 0, false
}

// block deletes all of a block. With its first row it counts as pruned.
func (p *pruner) block(v *view, h types.Height) error {
	if v.stateless {
		accesses, err := readAccesses(v.snapshot, h)
		if err != nil {
			return err
		}
		codes, err := listedCodes(accesses)
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

// remove deletes a row of the newest block in the batch, which goes to the database first where it is full.
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

// commit writes the batch, and ends the turn to write, which the caller has.
func (p *pruner) commit() error {
	s := p.store
	defer s.writing.Unlock()
	v, err := s.writable() // a block may have come, and used a code again
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

// deleteBlock deletes the rows that a block has of its own. Of block 0 the header and its hash stay.
func (v *view) deleteBlock(b *kv.Batch, h types.Height) error {
	err := v.eachRow(h, func(key, _ []byte) error { b.Delete(key); return nil })
	deleteBody(b, h)
	return err
}

// eachRow gives the index and history rows of a block, but for the hash of block 0.
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

// deleteBody deletes what eachRow reads of a block, and why its transactions failed.
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
