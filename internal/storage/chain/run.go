package chain

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Run is blocks that are appended one after the other and synced together. Until [Run.End] nobody else is told of them:
// what the store says is on disk. A crash before it leaves the first of them, or none. It is for one goroutine.
type Run struct {
	store  *Store
	view   *view // after the last block; the store's newest while there is none
	locked bool  // whether it holds store.writing: from the first block on
	synced bool  // whether the last block is on disk
}

// Begin begins a run at the head. It is ended by [Run.End].
func (s *Store) Begin() (*Run, error) {
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	return &Run{store: s, view: v, synced: true}, nil
}

// State is the state after the run's last block, at first the head's. The caller closes it.
func (r *Run) State() *State {
	r.view.refs.Add(1) // the run has one, too
	return &State{r.view, r.view.head.Header.Height}
}

// Code is that of [Store.Code], with the codes of the run's blocks.
func (r *Run) Code(hash types.CodeHash) ([]byte, error) { return r.view.code(hash) }

// CodeSize is that of [Store.CodeSize], with the codes of the run's blocks.
func (r *Run) CodeSize(hash types.CodeHash) (int, error) { return r.view.codeSize(hash) }

// KeepsWitnesses reports whether a witness that is appended is kept unless it is long.
func (r *Run) KeepsWitnesses() (bool, error) {
	most := r.store.options.WitnessBytes
	if most == 0 {
		return false, nil
	}
	kept, err := witnessBytes(r.view.snapshot)
	return kept < most, err
}

// Append adds the next block with everything that belongs to it, in one batch, with sync on disk when it returns. An entry
// that does not fit is [ErrBadEntry] and changes nothing. After a failure to write, every further write fails until the store
// is opened anew, and the run ends without its blocks.
func (r *Run) Append(e Entry, sync bool) error {
	s := r.store
	if err := r.lock(); err != nil {
		return err
	}
	switch h := e.Header; {
	case r.view.empty:
		return fmt.Errorf("%w: the store is empty", ErrBadEntry)
	case h.Height != r.view.head.Header.Height+1:
		return fmt.Errorf("%w: block %d after %d", ErrBadEntry, h.Height, r.view.head.Header.Height)
	case h.Parent != r.view.hash:
		return fmt.Errorf("%w: block %d has the parent %s, the head is %s", ErrBadEntry, h.Height, h.Parent, r.view.hash)
	}
	b := s.db.NewBatch(e.size())
	err := r.view.putBlock(b, e)
	if err == nil {
		err = s.putWitness(b, r.view, e.Header.Height, e.Witness)
	}
	if err != nil {
		return errors.Join(err, b.Discard())
	}
	s.putProof(b, e.Header.Height, e.Proof)
	next, err := s.write(b, r.view, sync)
	if err != nil {
		return err
	}
	before := r.view
	r.view, r.synced = next, sync
	return before.release()
}

// Logged says that what was appended is on this disk already, in a log that a start makes it from again: End does not
// wait until it is there as blocks, too.
func (r *Run) Logged() { r.synced = true }

// Fail has the run end without its blocks, which may be on disk: nobody is told of them, and every further write fails with err
// until the store is opened anew.
func (r *Run) Fail(err error) { r.store.failed = err }

// lock keeps other writers away until the run ends: what they wrote would show its blocks. It is not held before there is
// one, which may take long to be made.
func (r *Run) lock() error {
	s := r.store
	if !r.locked {
		s.lock()
		r.locked = true
	}
	newest, err := s.writable()
	if err != nil || r.view.number >= newest.number {
		return err
	}
	// Something else was written since Begin: blocks pruned, or a proof.
	newest.refs.Add(1) // under s.writing the store keeps it
	before := r.view
	r.view = newest
	return before.release()
}

// Awaited reports whether somebody waits for the run's end to write something else, but for the last batch of [Store.Prune].
func (r *Run) Awaited() bool { return r.store.waiting.Load() > 0 }

// End puts the run's blocks on disk, unless they are, and makes the last one the head. After an error none of them is there
// for anybody, and every further write fails until the store is opened anew.
func (r *Run) End() error {
	s := r.store
	if !r.locked {
		return r.view.release()
	}
	defer s.writing.Unlock()
	newest, err := s.writable()
	switch {
	case err != nil:
		return errors.Join(err, r.view.release())
	case r.view == newest:
		return r.view.release()
	}
	if !r.synced {
		if err := s.db.Sync(); err != nil {
			s.failed = err
			return errors.Join(err, r.view.release())
		}
	}
	return s.publish(r.view)
}

// write writes a batch and returns the view after it and one before. The caller holds s.writing.
func (s *Store) write(b *kv.Batch, before *view, sync bool) (*view, error) {
	err := s.db.Commit(b, sync)
	if err == nil {
		var v *view
		if v, err = newView(s.db); err == nil {
			v.number = before.number + 1
			return v, nil
		}
	}
	s.failed = err
	return nil, err
}
