package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A proof or a witness can be made again, also by other nodes. So a damaged one is dropped, and the node continues.

// spare returns a row from a table of dispensable data, by height or by span number. A damaged row is dropped, and the
// error is [ErrNotFound].
func (s *Store) spare(h types.Height, t table, what string, allowed func(*view) error) ([]byte, error) {
	if _, damaged := s.damaged.Load(string(t.atHeight(h))); damaged {
		return nil, fmt.Errorf("%s: %w: it was damaged", named(t, h, what), ErrNotFound)
	}
	row, err := read(s, func(v *view) ([]byte, error) {
		if err := allowed(v); err != nil {
			return nil, err
		}
		return heightRow(v.snapshot.Get, t, h, what)
	})
	if !errors.Is(err, kv.ErrDamaged) {
		return row, err
	}
	if dropped := s.drop(t, h); dropped != nil {
		return nil, errors.Join(err, dropped)
	}
	s.damaged.Store(string(t.atHeight(h)), struct{}{}) // reading past the deletion would find the damage again
	s.dropped.Add(1)
	if s.options.OnDropped != nil {
		of := h
		if t == tableRanges {
			what, of = what+" of a range", blockproof.Span(h).Last()
		}
		s.options.OnDropped(what, of, err)
	}
	return nil, fmt.Errorf("%s: %w: it was damaged", named(t, h, what), ErrNotFound)
}

// named describes a row of a table.
func named(t table, h types.Height, what string) string {
	if t == tableRanges {
		span := blockproof.Span(h)
		return fmt.Sprintf("%s of blocks %d to %d", what, span.First(), span.Last())
	}
	return fmt.Sprintf("%s of block %d", what, h)
}

// Dropped returns the number of damaged proofs and witnesses dropped since the start.
func (s *Store) Dropped() uint64 { return s.dropped.Load() }

// drop deletes a row without reading it.
func (s *Store) drop(t table, h types.Height) error {
	s.lock()
	defer s.writing.Unlock()
	if _, err := s.writable(); err != nil {
		return err
	}
	b := s.db.NewBatch(64)
	b.Delete(t.atHeight(h))
	if t == tableWitnesses || t == tableSpent {
		if err := s.recount(b, t, h, h+1); err != nil {
			return errors.Join(err, b.Discard())
		}
	}
	return s.commit(b, false)
}

// edges returns the first and the last height, from a height on, with a row in a table of dispensable data. It drops
// damaged rows at the edges one by one.
func (s *Store) edges(t table, from types.Height) (ProofRange, error) {
	there := func(h types.Height) (bool, error) {
		_, err := s.spare(h, t, allTables[t], func(*view) error { return nil })
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	return search(from, s.Head().Header.Height, there)
}

// search returns the first and the last height in [from, head] for which there returns true. An earlier answer may
// become outdated during the search.
func search(from, head types.Height, there func(types.Height) (bool, error)) (r ProofRange, err error) {
	found := false
	for r.Oldest = from; !found && err == nil && r.Oldest <= head; {
		if found, err = there(r.Oldest); !found {
			r.Oldest++
		}
	}
	if err != nil {
		return r, err
	}
	if !found {
		return r, ErrNotFound
	}
	for r.Newest = head; r.Newest > r.Oldest; r.Newest-- {
		if found, err = there(r.Newest); found || err != nil {
			break
		}
	}
	return r, err
}

// recount recomputes the total size of the witnesses. It leaves out those that are in the table given by without and
// belong to blocks in [from, to).
func (s *Store) recount(b *kv.Batch, without table, from, to types.Height) error {
	var kept uint64
	count := func(_, value []byte) error {
		kept += uint64(len(value))
		return nil
	}
	for _, t := range []table{tableWitnesses, tableSpent} {
		lower, upper := t.bounds()
		if t == without {
			if err := kv.Scan(s.db, lower, t.atHeight(from), count); err != nil {
				return err
			}
			lower = t.atHeight(to)
		}
		if err := kv.Scan(s.db, lower, upper, count); err != nil {
			return err
		}
	}
	b.Set(keyWitnessBytes, binary.BigEndian.AppendUint64(nil, kept))
	return nil
}

// deleteWitness deletes the witness of a block, if there is one.
func (s *Store) deleteWitness(b *kv.Batch, v *view, h types.Height) error {
	err := deleteWitnesses(b, v.snapshot, h, h+1, tableWitnesses)
	if errors.Is(err, kv.ErrDamaged) {
		b.Delete(tableWitnesses.atHeight(h))
		err = s.recount(b, tableWitnesses, h, h+1)
	}
	return err
}
