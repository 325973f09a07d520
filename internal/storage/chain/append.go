package chain

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Entry is a block with all that its execution gave.
type Entry struct {
	Block    types.Block
	IDs      []types.TxID              // of the transactions, in their order
	Receipts []types.Receipt           // likewise
	Accesses []types.Access            // ascending by key
	Leaves   []tree.LeafChange         // of the accesses that are writes, ascending by path
	Codes    map[types.CodeHash][]byte // of the contracts that the block created; known ones may be among them
}

// Init begins the chain with block 0. For a store that already holds the chain of this genesis it does nothing; for
// another's it returns [ErrOtherGenesis].
func (s *Store) Init(g types.Genesis, e Entry) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	if !v.empty {
		if s.Genesis().Digest() != g.Digest() {
			return fmt.Errorf("%w: it has %s, not %s", ErrOtherGenesis, s.Genesis().Digest(), g.Digest())
		}
		return nil
	}
	if e.Block.Header.Height != 0 || e.Block.Header.Parent != g.Digest() || len(e.Block.Transactions) > 0 {
		return fmt.Errorf("%w: block 0 is not that of the genesis", ErrBadEntry)
	}
	b := s.db.NewBatch(1 << 20)
	b.Set(keyFormat, encodeFormat())
	b.Set(keySchedule, s.options.Schedule[:])
	b.Set(keyGenesis, g.Encode())
	b.Set(keyOldest, encodeHeight(0))
	if err := v.putBlock(b, e); err != nil {
		return errors.Join(err, b.Discard())
	}
	s.genesis.Store(&g) // before the view that says there is one
	if err := s.commit(b, true); err != nil {
		s.genesis.Store(nil)
		return err
	}
	return nil
}

// Append adds the next block with everything that belongs to it, in one batch: when it returns nil the block is on
// disk and the head; after an error or a crash the store has all of it or nothing. An entry that does not fit is
// [ErrBadEntry] and changes nothing. After a failure to write, every further write fails until the store is opened
// anew.
func (s *Store) Append(e Entry) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	switch h := e.Block.Header; {
	case v.empty:
		return fmt.Errorf("%w: the store is empty", ErrBadEntry)
	case h.Height != v.head.Header.Height+1:
		return fmt.Errorf("%w: block %d after %d", ErrBadEntry, h.Height, v.head.Header.Height)
	case h.Parent != v.hash:
		return fmt.Errorf("%w: block %d has the parent %s, the head is %s", ErrBadEntry, h.Height, h.Parent, v.hash)
	}
	b := s.db.NewBatch(1 << 20)
	if err := v.putBlock(b, e); err != nil {
		return errors.Join(err, b.Discard())
	}
	return s.commit(b, true)
}

// putBlock writes all rows of a block and makes it the head.
func (v *view) putBlock(b *kv.Batch, e Entry) error {
	if err := checkLists(e); err != nil {
		return err
	}
	h := e.Block.Header.Height
	b.Set(tableHeaders.atHeight(h), e.Block.Signed().Encode())
	putItems(b, tableTransactions, h, encodeAll(e.Block.Transactions))
	putItems(b, tableReceipts, h, encodeAll(e.Receipts))
	putAccesses(b, h, e.Accesses)
	index := indexed{h, e.Block.Header.Hash(), e.Block.Transactions, e.Receipts}
	set := func(key, value []byte) error { b.Set(key, value); return nil }
	if err := index.rows(set); err != nil {
		return err
	}
	if err := putState(b, h, e); err != nil {
		return err
	}
	for hash, code := range e.Codes {
		key := tableCodes.key(hash[:])
		_, err := v.snapshot.Get(key)
		switch {
		case errors.Is(err, kv.ErrNotFound):
			b.Set(key, codeRow(h, code))
		case err != nil:
			return err
		}
	}
	b.Set(keyHead, encodeHeight(h))
	return nil
}

func encodeAll[T interface{ Encode() []byte }](items []T) [][]byte {
	encoded := make([][]byte, len(items))
	for i, item := range items {
		encoded[i] = item.Encode()
	}
	return encoded
}

// checkLists refuses lists that do not belong together.
func checkLists(e Entry) error {
	n := len(e.Block.Transactions)
	if len(e.IDs) != n || len(e.Receipts) != n {
		return fmt.Errorf("%w: %d transactions, %d IDs, %d receipts", ErrBadEntry, n, len(e.IDs), len(e.Receipts))
	}
	for i, r := range e.Receipts {
		if r.Transaction != e.IDs[i] {
			return fmt.Errorf("%w: receipt %d is of %s, not %s", ErrBadEntry, i, r.Transaction, e.IDs[i])
		}
	}
	return nil
}

// putState writes the state after the block, the leaves of its tree, and what it replaced.
func putState(b *kv.Batch, h types.Height, e Entry) error {
	writes := types.Writes(e.Accesses)
	if len(writes) != len(e.Leaves) {
		return fmt.Errorf("%w: %d writes, %d leaves", ErrBadEntry, len(writes), len(e.Leaves))
	}
	old := make(map[string][]byte, len(writes))
	for _, w := range writes {
		old[string(w.Key)] = w.Old
		setOrDelete(b, tableState.key(w.Key), w.New)
	}
	for _, leaf := range e.Leaves {
		before, written := old[string(leaf.Key)]
		if !written {
			return fmt.Errorf("%w: a leaf of key %x, which is not written", ErrBadEntry, leaf.Key)
		}
		path := leaf.Path.Bytes()
		if h > 0 { // nothing comes before block 0
			b.Set(tableHistory.withHeight(path, h), before)
		}
		var row []byte
		if !leaf.Deleted {
			row = leafRow{leaf.Leaf, leaf.ValueHash, leaf.Key}.encode()
		}
		setOrDelete(b, tableLeaves.key(path[:]), row)
	}
	return nil
}

// setOrDelete writes a row of state, where an empty value is absence.
func setOrDelete(b *kv.Batch, key, value []byte) {
	if len(value) == 0 {
		b.Delete(key)
		return
	}
	b.Set(key, value)
}
