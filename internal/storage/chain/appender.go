package chain

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Appender appends blocks in order and syncs them together. They become visible only at [Appender.End]: everything
// visible in the store is on disk. A crash before End leaves the first blocks, or none. It is not safe for concurrent
// use.
type Appender struct {
	store  *Store
	view   *view // after the last block; initially the store's newest
	locked bool  // whether it holds store.writing: from the first block on
	synced bool  // whether the last block is on disk
}

// Begin returns an Appender at the head. The caller must call [Appender.End].
func (s *Store) Begin() (*Appender, error) {
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	return &Appender{store: s, view: v, synced: true}, nil
}

// State returns the state after the last appended block, initially the head's. The caller must close it.
func (a *Appender) State() *State {
	a.view.refs.Add(1) // in addition to the appender's own reference
	return &State{view: a.view, height: a.view.head.Header.Height}
}

// Code is like [Store.Code], including the codes of appended blocks.
func (a *Appender) Code(hash types.CodeHash) ([]byte, error) { return a.view.code(hash) }

// CodeSize is like [Store.CodeSize], including the codes of appended blocks.
func (a *Appender) CodeSize(hash types.CodeHash) (int, error) { return a.view.codeSize(hash) }

// KeepsWitnesses reports whether the store would keep an appended witness, provided that it is not too long.
func (a *Appender) KeepsWitnesses() (bool, error) {
	most := a.store.options.WitnessBytes
	if most == 0 {
		return false, nil
	}
	kept, err := witnessBytes(a.view.snapshot)
	return kept < most, err
}

// Append adds the next block with all its rows in one batch. With sync, the block is on disk when it returns.
// [ErrBadEntry] means that the entry does not fit; nothing has changed. After a failed write, all further writes fail
// until the store is reopened, and the appender ends without its blocks.
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

// Logged declares that the appended blocks are already on disk in a log from which a restart derives them again. End
// then does not wait for a sync.
func (a *Appender) Logged() { a.synced = true }

// Fail makes the appender end without its blocks, which may be on disk but stay invisible. All further writes fail with
// err until the store is reopened.
func (a *Appender) Fail(err error) { a.store.failed = err }

// lock excludes other writers until the appender ends, since their writes would make its blocks visible. It is first
// taken when there is a block to append, because making one may take long.
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
	// The store was written to since Begin: blocks were pruned, or a proof was added.
	newest.refs.Add(1) // the store holds a reference while s.writing is held
	before := a.view
	a.view = newest
	return before.release()
}

// Awaited reports whether another write waits for the appender to end, other than the last batch of [Store.Prune].
func (a *Appender) Awaited() bool { return a.store.waiting.Load() > 0 }

// End syncs the blocks to disk if necessary, and makes the last one the head. After an error none of them is visible,
// and all further writes fail until the store is reopened.
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

// write writes a batch on top of the view before, and returns the resulting view. The caller must hold s.writing.
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
