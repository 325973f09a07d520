package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A proof, or a witness, can be made again, by others too: one that the disk has damaged is dropped, and the node goes
// on.

// spare is the row of a block in a table of what can be done without. Where it is damaged it is dropped, and it is
// [ErrNotFound].
func (s *Store) spare(h types.Height, t table, what string, allowed func(*view) error) ([]byte, error) {
	if _, damaged := s.damaged.Load(string(t.atHeight(h))); damaged {
		return nil, fmt.Errorf("%s of block %d: %w: it was damaged", what, h, ErrNotFound)
	}
	row, err := read(s, func(v *view) ([]byte, error) {
		if err := allowed(v); err != nil {
			return nil, err
		}
		return heightRow(v.snapshot.GetSpare, t, h, what)
	})
	if !errors.Is(err, kv.ErrDamaged) {
		return row, err
	}
	if dropped := s.drop(t, h); dropped != nil {
		return nil, errors.Join(err, dropped)
	}
	s.damaged.Store(string(t.atHeight(h)), struct{}{}) // reading past what deletes it finds it again
	s.dropped.Add(1)
	if s.options.OnDropped != nil {
		s.options.OnDropped(what, h, err)
	}
	return nil, fmt.Errorf("%s of block %d: %w: it was damaged", what, h, ErrNotFound)
}

// Dropped is how many proofs and witnesses were dropped since the start because they were damaged.
func (s *Store) Dropped() uint64 { return s.dropped.Load() }

// drop deletes a row, which is not read for that.
func (s *Store) drop(t table, h types.Height) error {
	s.lock()
	defer s.writing.Unlock()
	if _, err := s.writable(); err != nil {
		return err
	}
	b := s.db.NewBatch(64)
	b.Delete(t.atHeight(h))
	if t == tableWitnesses {
		if err := s.recount(b, h); err != nil {
			return errors.Join(err, b.Discard())
		}
	}
	return s.commit(b, false)
}

// edges are the first and the last height from one on that has a row in a table of what can be done without, where the
// rows at the edges of the table are damaged: those are dropped, one by one.
func (s *Store) edges(t table, from types.Height) (r ProofRange, err error) {
	there := func(h types.Height) (bool, error) {
		_, err := s.spare(h, t, allTables[t], func(*view) error { return nil })
		if errors.Is(err, ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	head, found := s.Head().Header.Height, false
	for r.Oldest = from; !found && err == nil && r.Oldest <= head; {
		if found, err = there(r.Oldest); !found {
			r.Oldest++
		}
	}
	if err != nil || !found {
		return r, errors.Join(err, ErrNotFound)
	}
	found = false
	for r.Newest = head; !found && err == nil; {
		if found, err = there(r.Newest); !found {
			r.Newest--
		}
	}
	return r, err
}

// recount counts the bytes of the witnesses anew, without that of a block.
func (s *Store) recount(b *kv.Batch, without types.Height) error {
	var kept uint64
	count := func(_, value []byte) error {
		kept += uint64(len(value))
		return nil
	}
	lower, upper := tableWitnesses.bounds()
	r := s.db.Spare()
	defer r.Close()
	err := errors.Join(kv.Scan(r, lower, tableWitnesses.atHeight(without), count),
		kv.Scan(r, tableWitnesses.atHeight(without+1), upper, count))
	b.Set(keyWitnessBytes, binary.BigEndian.AppendUint64(nil, kept))
	return err
}

// deleteWitness deletes the witness of a block, if there is one.
func (s *Store) deleteWitness(b *kv.Batch, v *view, h types.Height) error {
	defer s.db.Spare().Close()
	err := deleteWitnesses(b, v.snapshot, h, h+1)
	if errors.Is(err, kv.ErrDamaged) {
		b.Delete(tableWitnesses.atHeight(h))
		err = s.recount(b, h)
	}
	return err
}
