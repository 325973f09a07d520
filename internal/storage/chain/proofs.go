package chain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A block's witness is kept until the block has its proof. The total size of the witnesses is bounded, so that a prover
// that cannot keep up does not fill the disk.

// ProofRange holds the first and the last block that have a proof or witness. Blocks in between may have none.
type ProofRange struct{ Oldest, Newest types.Height }

// putWitness writes the witness of a block, unless the total would exceed the options' limit.
func (s *Store) putWitness(b *kv.Batch, v *view, h types.Height, witness []byte) error {
	if len(witness) == 0 {
		return nil
	}
	kept, err := witnessBytes(v.snapshot)
	if err != nil || kept+uint64(len(witness)) > s.options.WitnessBytes {
		return err
	}
	b.Set(tableWitnesses.atHeight(h), witness)
	b.Set(keyWitnessBytes, binary.BigEndian.AppendUint64(nil, kept+uint64(len(witness))))
	return nil
}

// deleteWitnesses deletes any witnesses of blocks in [from, to) from the tables.
func deleteWitnesses(b *kv.Batch, r kv.Reader, from, to types.Height, tables ...table) error {
	var freed uint64
	for _, t := range tables {
		err := kv.Scan(r, t.atHeight(from), t.atHeight(to), func(key, value []byte) error {
			freed += uint64(len(value))
			b.Delete(key)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if freed == 0 {
		return nil
	}
	kept, err := witnessBytes(r)
	if err != nil {
		return err
	}
	if kept < freed {
		return fmt.Errorf("%w: witnesses of %d bytes, %d counted", ErrCorrupt, freed, kept)
	}
	b.Set(keyWitnessBytes, binary.BigEndian.AppendUint64(nil, kept-freed))
	return nil
}

// witnessBytes returns the total size of the stored witnesses.
func witnessBytes(r kv.Reader) (uint64, error) {
	row, err := r.Get(keyWitnessBytes)
	switch {
	case errors.Is(err, kv.ErrNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	case len(row) != 8:
		return 0, fmt.Errorf("%w: a count of %d bytes", ErrCorrupt, len(row))
	}
	return binary.BigEndian.Uint64(row), nil
}

// ProofRetention returns the number of blocks whose proofs are kept, 0 for all.
func (s *Store) ProofRetention() types.Height { return types.Height(s.options.ProofRetention) }

// WitnessBytes returns the total size of the witnesses that are kept for proofs of blocks or spans.
func (s *Store) WitnessBytes() (uint64, error) {
	return read(s, func(v *view) (uint64, error) { return witnessBytes(v.snapshot) })
}

// Witness returns the witness that was appended with a block. It returns [ErrNotFound] if there is none, or no longer,
// and the errors of [Store.Block].
func (s *Store) Witness(h types.Height) ([]byte, error) {
	return s.spare(h, tableWitnesses, "witness", func(v *view) error { return v.has(h) })
}

// Proof returns the proof of a block. It returns [ErrNotFound] if there is none, [ErrPruned] below
// [Store.OldestProvable], and the errors of [Store.Block].
func (s *Store) Proof(h types.Height) ([]byte, error) {
	return s.spare(h, tableProofs, "proof", func(v *view) error { return v.hasProvable(h) })
}

// HasProof reports whether [Store.Proof] has a proof of a block. It does not read the proof.
func (s *Store) HasProof(h types.Height) (bool, error) {
	return read(s, func(v *view) (bool, error) {
		if v.hasProvable(h) != nil {
			return false, nil
		}
		_, err := heightAtEdge(v.snapshot, tableProofs.atHeight(h), tableProofs.atHeight(h+1), (*kv.Iter).First)
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
}

// OldestProvable returns the oldest block whose parent's header is stored, too: a proof shows nothing without it. After
// pruning or restoring a snapshot, the parent's header of the oldest block is gone, unless the parent is block 0.
func (s *Store) OldestProvable() types.Height {
	v := s.view.Load()
	if v == nil {
		return 0
	}
	return v.oldestProvable()
}

func (v *view) oldestProvable() types.Height {
	if v.oldest <= 1 {
		return v.oldest
	}
	return v.oldest + 1
}

// hasProvable is like has, but also returns [ErrPruned] for a block whose parent's header is gone.
func (v *view) hasProvable(h types.Height) error {
	if err := v.has(h); err != nil {
		return err
	}
	if first := v.oldestProvable(); h < first {
		return fmt.Errorf("the parent of block %d: %w: the oldest block with its parent is %d", h, ErrPruned, first)
	}
	return nil
}

func heightRow(get func(key []byte) ([]byte, error), t table, h types.Height, what string) ([]byte, error) {
	row, err := get(t.atHeight(h))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", named(t, h, what), notFound(err))
	}
	return row, nil
}

// Unproven returns the first block from a height on that waits for a proof, or [ErrNotFound].
func (s *Store) Unproven(from types.Height) (types.Height, error) {
	return read(s, func(v *view) (types.Height, error) {
		_, upper := tableWitnesses.bounds()
		h, err := heightAtEdge(v.snapshot, tableWitnesses.atHeight(from), upper, (*kv.Iter).First)
		if err != nil {
			return 0, fmt.Errorf("a block from %d on without a proof: %w", from, err)
		}
		return h, nil
	})
}

// WithoutProof returns the first block from a height on that has no proof, or [ErrNotFound]. The block at that height
// must be stored.
func (s *Store) WithoutProof(from types.Height) (types.Height, error) {
	return read(s, func(v *view) (h types.Height, err error) {
		if h = from; v.has(h) != nil {
			return 0, v.has(h)
		}
		_, upper := tableProofs.bounds()
		it, err := v.snapshot.NewIter(tableProofs.atHeight(from), upper)
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, it.Close()) }()
		for more := it.First(); more && bytes.Equal(it.Key(), tableProofs.atHeight(h)); more = it.Next() {
			h++
		}
		if err := it.Err(); err != nil {
			return 0, err
		}
		if h > v.head.Header.Height {
			return 0, fmt.Errorf("a block from %d on without a proof: %w", from, ErrNotFound)
		}
		return h, nil
	})
}

// Witnesses returns the range of the blocks that wait for a proof, or [ErrNotFound].
func (s *Store) Witnesses() (ProofRange, error) {
	return s.heightsOf(tableWitnesses, func(*view) types.Height { return 0 })
}

// Proofs returns the range of the blocks whose proofs [Store.Proof] returns, or [ErrNotFound].
func (s *Store) Proofs() (ProofRange, error) { return s.heightsOf(tableProofs, (*view).oldestProvable) }

// heightsOf returns the first and the last height, from a height on, that have a row in a table.
func (s *Store) heightsOf(t table, from func(*view) types.Height) (ProofRange, error) {
	var first types.Height
	r, err := read(s, func(v *view) (r ProofRange, err error) {
		_, upper := t.bounds()
		first = from(v)
		lower := t.atHeight(first)
		if r.Oldest, err = heightAtEdge(v.snapshot, lower, upper, (*kv.Iter).First); err != nil {
			return r, err
		}
		r.Newest, err = heightAtEdge(v.snapshot, lower, upper, (*kv.Iter).Last)
		return r, err
	})
	if errors.Is(err, kv.ErrDamaged) {
		return s.edges(t, first)
	}
	return r, err
}

// heightAtEdge returns the height in the key of the first or last row of a range, or [ErrNotFound].
func heightAtEdge(r kv.Reader, lower, upper []byte, edge func(*kv.Iter) bool) (h types.Height, err error) {
	it, err := r.NewIter(lower, upper)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	if !edge(it) {
		return 0, errors.Join(it.Err(), ErrNotFound)
	}
	return decodeHeight(it.Key()[1:])
}

// PutProof stores a block's proof, which the caller must have verified. The block's witness is deleted or becomes
// spent. PutProof deletes the proofs of blocks that are behind it by the options' retention or more. It does not wait
// for the disk: if a crash loses the proof, the witness is back, too, and the proof is made again. For a block that is
// not stored it returns the errors of [Store.Proof].
func (s *Store) PutProof(h types.Height, proof []byte) error {
	s.lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	if err := v.hasProvable(h); err != nil {
		return err
	}
	b := s.db.NewBatch(len(proof) + 64)
	if err := s.spendWitness(b, v, h); err != nil {
		return errors.Join(err, b.Discard())
	}
	s.putProof(b, h, proof)
	return s.commit(b, false)
}

// putProof writes the proof of a block, unless it is empty, and deletes the proofs beyond the options' retention.
func (s *Store) putProof(b *kv.Batch, h types.Height, proof []byte) {
	if len(proof) == 0 {
		return
	}
	s.damaged.Delete(string(tableProofs.atHeight(h)))
	b.Set(tableProofs.atHeight(h), proof)
	if keep := types.Height(s.options.ProofRetention); keep > 0 && h > keep {
		b.DeleteRange(tableProofs.atHeight(0), tableProofs.atHeight(h-keep+1))
	}
}
