package chain

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Appender appends blocks one after the other, which are synced together. Until [Appender.End] nobody else is told of
// them: what the store says is on disk. A crash before it leaves the first of them, or none. It is for one goroutine.
type Appender struct {
	store  *Store
	view   *view // after the last block; the store's newest while there is none
	locked bool  // whether it holds store.writing: from the first block on
	synced bool  // whether the last block is on disk
}

// Begin begins to append at the head. [Appender.End] ends it.
func (s *Store) Begin() (*Appender, error) {
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	return &Appender{store: s, view: v, synced: true}, nil
}

// State is the state after the last block that was appended, at first the head's. The caller closes it.
func (a *Appender) State() *State {
	a.view.refs.Add(1) // the appender has one, too
	return &State{view: a.view, height: a.view.head.Header.Height}
}

// Code is that of [Store.Code], with the codes of the appended blocks.
func (a *Appender) Code(hash types.CodeHash) ([]byte, error) { return a.view.code(hash) }

// CodeSize is that of [Store.CodeSize], with the codes of the appended blocks.
func (a *Appender) CodeSize(hash types.CodeHash) (int, error) { return a.view.codeSize(hash) }

// KeepsWitnesses reports whether a witness that is appended is kept unless it is long.
func (a *Appender) KeepsWitnesses() (bool, error) {
	most := a.store.options.WitnessBytes
	if most == 0 {
		return false, nil
	}
	kept, err := witnessBytes(a.view.snapshot)
	return kept < most, err
}

// Append adds the next block with everything that belongs to it, in one batch, with sync on disk when it returns. An
// entry that does not fit is [ErrBadEntry] and changes nothing. After a failure to write, every further write fails
// until the store is opened anew, and the appender ends without its blocks.
func (a *Appender) Append(e Entry, sync bool) error {
	s := a.store
	if err := a.lock(); err != nil {
		return err
	}
	switch h := e.Header; {
	case a.view.empty:
		return fmt.Errorf("%w: the store is empty", ErrBadEntry)
	case h.Height != a.view.head.Header.Height+1:
		return fmt.Errorf("%w: block %d after %d", ErrBadEntry, h.Height, a.view.head.Header.Height)
	case h.Parent != a.view.hash:
		return fmt.Errorf("%w: block %d has the parent %s, the head is %s", ErrBadEntry, h.Height, h.Parent, a.view.hash)
	}
	b := s.db.NewBatch(e.size())
	err := a.view.putBlock(b, e)
	if err == nil {
		err = s.putWitness(b, a.view, e.Header.Height, e.Witness)
	}
	if err != nil {
		return errors.Join(err, b.Discard())
	}
	s.putProof(b, e.Header.Height, e.Proof)
	next, err := s.write(b, a.view, sync)
	if err != nil {
		return err
	}
	before := a.view
	a.view, a.synced = next, sync
	return before.release()
}

// Logged says that what was appended is on this disk already, in a log from which a start makes it again. So End does
// not wait until it is there as blocks, too.
func (a *Appender) Logged() { a.synced = true }

// Fail has the appender end without its blocks, which may be on disk. Nobody is told of them, and every further write
// fails with err until the store is opened anew.
func (a *Appender) Fail(err error) { a.store.failed = err }

// lock keeps other writers away until the appender ends: what they wrote would show its blocks. It is not held before
// there is one, which may take long to be made.
func (a *Appender) lock() error {
	s := a.store
	if !a.locked {
		s.lock()
		a.locked = true
	}
	newest, err := s.writable()
	if err != nil || a.view.number >= newest.number {
		return err
	}
	// Something else was written since Begin: blocks pruned, or a proof.
	newest.refs.Add(1) // under s.writing the store keeps it
	before := a.view
	a.view = newest
	return before.release()
}

// Awaited reports whether somebody waits for the end to write something else, except for the last batch of
// [Store.Prune].
func (a *Appender) Awaited() bool { return a.store.waiting.Load() > 0 }

// End puts the blocks on disk, unless they are, and makes the last one the head. After an error none of them is there
// for anybody, and every further write fails until the store is opened anew.
func (a *Appender) End() error {
	s := a.store
	if !a.locked {
		return a.view.release()
	}
	defer s.writing.Unlock()
	newest, err := s.writable()
	switch {
	case err != nil:
		return errors.Join(err, a.view.release())
	case a.view == newest:
		return a.view.release()
	}
	if !a.synced {
		if err := s.db.Sync(); err != nil {
			s.failed = err
			return errors.Join(err, a.view.release())
		}
	}
	return s.publish(a.view)
}

// write writes a batch and returns the view after it and one before. The caller holds s.writing.
func (s *Store) write(b *kv.Batch, before *view, sync bool) (*view, error) {
	err := s.db.Commit(b, sync)
	if err == nil {
		var v *view
		if v, err = newView(s.db, false); err == nil {
			v.number = before.number + 1
			return v, nil
		}
	}
	s.failed = err
	return nil, err
}
