package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// The blocks of a span may have a joint proof, made from their lists and witnesses. So the witness of a proven block is
// not deleted at once: it is spent, and deleted when no span needs it any more.

// rangeRow returns the key of a span's proof.
func rangeRow(s blockproof.Span) []byte { return tableRanges.atHeight(types.Height(s)) }

// rangeRows returns the bounds of the rows of spans of 2^log blocks.
func rangeRows(log int) (lower, upper []byte) {
	return rangeRow(blockproof.NewSpan(0, log)), rangeRow(blockproof.NewSpan(0, log+1))
}

// hasSpan returns nil if the span's blocks and the header before them are stored, else an error like [Store.Proof].
func (v *view) hasSpan(span blockproof.Span) error {
	if !span.Valid() {
		return fmt.Errorf("%x is not a span: %w", uint64(span), ErrNotFound)
	}
	if err := v.has(span.Last()); err != nil {
		return err
	}
	return v.hasProvable(span.First())
}

// RangeProof returns the proof of a span of several blocks, with the errors of [Store.Proof].
func (s *Store) RangeProof(span blockproof.Span) ([]byte, error) {
	return s.spare(types.Height(span), tableRanges, "proof", func(v *view) error { return v.hasSpan(span) })
}

// HasRangeProof reports whether there is a proof of a span. It does not read the proof.
func (s *Store) HasRangeProof(span blockproof.Span) (bool, error) {
	return read(s, func(v *view) (bool, error) {
		if v.hasSpan(span) != nil {
			return false, nil
		}
		_, err := heightAtEdge(v.snapshot, rangeRow(span), rangeRow(span+1), (*kv.Iter).First)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
}

// PutRangeProof stores the proof of a span, which the caller must have verified. It deletes the proofs of earlier spans
// of this length beyond the options' retention, which counts proofs. It does not wait for the disk. If the blocks are
// not stored, it returns the errors of [Store.RangeProof].
func (s *Store) PutRangeProof(span blockproof.Span, proof []byte) error {
	s.lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	if err := v.hasSpan(span); err != nil {
		return err
	}
	b := s.db.NewBatch(len(proof) + 64)
	s.putRangeProof(b, span, proof)
	return s.commit(b, false)
}

func (s *Store) putRangeProof(b *kv.Batch, span blockproof.Span, proof []byte) {
	s.damaged.Delete(string(rangeRow(span)))
	b.Set(rangeRow(span), proof)
	lower, _ := rangeRows(span.Log())
	if keep := types.Height(s.options.ProofRetention); keep > 0 && span.Last()/span.Blocks() > keep {
		b.DeleteRange(lower, rangeRow(blockproof.NewSpan(span.Last()-keep*span.Blocks()+1, span.Log())))
	}
}

// Ranges describes the proofs for spans of one length: the first block of the oldest span and the last block of the
// newest. Spans in between may have none.
type Ranges struct {
	Blocks types.Height // length of a span
	ProofRange
}

// Ranges returns the ranges of spans whose proofs [Store.RangeProof] returns, ascending by length. It omits lengths
// without proofs.
func (s *Store) Ranges() (all []Ranges, err error) {
	for log := 1; log <= blockproof.MaxSpanLog; log++ {
		r, err := s.rangesOf(log)
		if errors.Is(err, kv.ErrDamaged) {
			if err = s.dropDamagedRanges(log); err == nil {
				r, err = s.rangesOf(log)
			}
		}
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// rangesOf returns the range for spans of 2^log blocks, or [ErrNotFound].
func (s *Store) rangesOf(log int) (Ranges, error) {
	return read(s, func(v *view) (Ranges, error) {
		lower, upper := rangeRows(log)
		first, err := heightAtEdge(v.snapshot, lower, upper, (*kv.Iter).First)
		if err != nil {
			return Ranges{}, err
		}
		last, err := heightAtEdge(v.snapshot, lower, upper, (*kv.Iter).Last)
		oldest, newest := blockproof.Span(first), blockproof.Span(last)
		return Ranges{oldest.Blocks(), ProofRange{oldest.First(), newest.Last()}}, err
	})
}

// dropDamagedRanges reads all proofs of spans of 2^log blocks, which drops the damaged ones.
func (s *Store) dropDamagedRanges(log int) error {
	blocks := types.Height(1) << log
	for last := s.OldestProvable() / blocks * blocks; last <= s.Head().Header.Height; last += blocks {
		_, err := s.RangeProof(blockproof.NewSpan(last, log))
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrPruned) {
			return err
		}
	}
	return nil
}

// spendWitness removes a block from those that wait for a proof. It keeps the witness for proofs of spans if the
// options say so and all witnesses take no more than half of the limit.
func (s *Store) spendWitness(b *kv.Batch, v *view, h types.Height) error {
	if err := s.deleteWitness(b, v, h); err != nil || !s.options.SpentWitnesses {
		return err
	}
	row, err := v.snapshot.Get(tableWitnesses.atHeight(h))
	if errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrDamaged) {
		return nil
	}
	if err != nil {
		return err
	}
	kept, err := witnessBytes(v.snapshot)
	if err != nil || kept > s.options.WitnessBytes/2 {
		return err
	}
	b.Set(tableSpent.atHeight(h), row)
	b.Set(keyWitnessBytes, binary.BigEndian.AppendUint64(nil, kept)) // overrides the total that deleteWitness set
	return nil
}

// AnyWitness returns the witness of a block, whether or not the block is proven, with the errors of [Store.Witness].
func (s *Store) AnyWitness(h types.Height) ([]byte, error) {
	w, err := s.Witness(h)
	if !errors.Is(err, ErrNotFound) {
		return w, err
	}
	return s.spare(h, tableSpent, "witness", func(v *view) error { return v.has(h) })
}

// OldestSpent returns the oldest proven block whose witness is kept, or [ErrNotFound].
func (s *Store) OldestSpent() (types.Height, error) {
	r, err := s.heightsOf(tableSpent, func(*view) types.Height { return 0 })
	return r.Oldest, err
}

// DropSpent deletes the witnesses of the proven blocks up to a height.
func (s *Store) DropSpent(to types.Height) error {
	s.lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	b := s.db.NewBatch(1 << 10)
	err = deleteWitnesses(b, v.snapshot, 0, to+1, tableSpent)
	if errors.Is(err, kv.ErrDamaged) { // damaged rows are deleted unread
		err = s.recount(b, tableSpent, 0, to+1)
		b.DeleteRange(tableSpent.atHeight(0), tableSpent.atHeight(to+1))
	}
	if err != nil {
		return errors.Join(err, b.Discard())
	}
	return s.commit(b, false)
}

// pruneRanges deletes the proofs of the spans for which pruning block h removes a block or the header before the first.
func pruneRanges(b *kv.Batch, h types.Height) {
	for log := 1; log <= blockproof.MaxSpanLog; log++ {
		blocks := types.Height(1) << log
		if h == 1 {
			b.Delete(rangeRow(blockproof.NewSpan(blocks, log)))
		}
		if h > 0 && h%blocks == 0 {
			b.Delete(rangeRow(blockproof.NewSpan(h+blocks, log)))
		}
	}
}

// rewindRanges deletes the proofs of the spans that have a block above h.
func rewindRanges(b *kv.Batch, h types.Height) {
	for log := 1; log <= blockproof.MaxSpanLog; log++ {
		_, upper := rangeRows(log)
		b.DeleteRange(rangeRow(blockproof.NewSpan(h+1, log)), upper)
	}
}

// ranges checks that the blocks of all proven spans are stored.
func (c *checker) ranges() error {
	lower, upper := tableRanges.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, _ []byte) error {
		n, err := decodeHeight(key[1:])
		span := blockproof.Span(n)
		if err != nil || span.Log() == 0 || c.view.hasSpan(span) != nil {
			c.add(allTables[tableRanges], "an orphaned row under %x", key)
		}
		return c.ctx.Err()
	})
}

// AppendTogether appends the blocks of a span to a stateless store, with the span's proof, in one batch. The proof only
// shows the last block's root, so the store has all of the blocks or none. Otherwise it is like [Store.Append].
func (s *Store) AppendTogether(entries []Entry, span blockproof.Span, proof []byte) error {
	s.lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	if !v.stateless {
		return fmt.Errorf("%w: only a stateless node stores blocks as ranges", ErrBadEntry)
	}
	size := len(proof)
	for i := range entries {
		size += entries[i].size()
	}
	b, last, hash := s.db.NewBatch(size), v.head.Header.Height, v.hash
	for i := range entries {
		h := &entries[i].Header
		if h.Height != last+1 || h.Parent != hash {
			return errors.Join(fmt.Errorf("%w: block %d after %d", ErrBadEntry, h.Height, last), b.Discard())
		}
		if err := v.putBlock(b, entries[i]); err != nil {
			return errors.Join(err, b.Discard())
		}
		last, hash = h.Height, h.Hash()
	}
	if span.Last() != last || span.Blocks() != types.Height(len(entries)) {
		err := fmt.Errorf("%w: %d blocks up to %d are not the span", ErrBadEntry, len(entries), last)
		return errors.Join(err, b.Discard())
	}
	s.putRangeProof(b, span, proof)
	return s.commit(b, true)
}
