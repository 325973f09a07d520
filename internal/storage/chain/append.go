package chain

import (
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Entry is a block with the results of its execution and the ledger's additions.
type Entry struct {
	// Result has the state root in its header. For a stateless store, its codes include those that the block called.
	// They may include codes that the store already has.
	exec.Result
	Seal    types.Seal        // the producer's seal; zero for block 0
	Leaves  []tree.LeafChange // leaf changes for the accesses that are writes, ascending by path
	Witness []byte            // witness of the accesses in the state before, for the proof; empty to keep none
	Proof   []byte            // the block's proof, verified by the caller, if it came with one
}

// Signed returns the block's header with its seal.
func (e Entry) Signed() types.SignedHeader {
	return types.SignedHeader{Header: e.Header, Seal: e.Seal}
}

// Init begins the chain with block 0. It does nothing if the store already holds the chain of this genesis, and returns
// [ErrOtherGenesis] if it holds another.
func (s *Store) Init(g types.Genesis, e Entry) error {
	s.lock()
	defer s.writing.Unlock()
	v, err := s.writable()
	if err != nil {
		return err
	}
	if !v.empty {
		if s.Genesis().Digest() != g.Digest() {
			return ErrOtherGenesis
		}
		return nil
	}
	if e.Header.Height != 0 || e.Header.Parent != g.Digest() || len(e.Transactions) > 0 {
		return fmt.Errorf("%w: block 0 does not match the genesis", ErrBadEntry)
	}
	b := s.db.NewBatch(1 << 20)
	b.Set(keyFormat, encodeFormat())
	b.Set(keySchedule, s.options.Schedule[:])
	b.Set(keyGenesis, g.Encode())
	b.Set(keyOldest, encodeHeight(0))
	if s.options.Archive {
		b.Set(keyArchive, nil)
	}
	if s.options.Stateless {
		b.Set(keyStateless, nil)
	}
	begun := &view{snapshot: v.snapshot, stateless: s.options.Stateless}
	if err := begun.putBlock(b, e); err != nil {
		return errors.Join(err, b.Discard())
	}
	s.genesis.Store(&g) // set before the view shows a chain
	if err := s.commit(b, true); err != nil {
		s.genesis.Store(nil)
		return err
	}
	return nil
}

// Append adds the next block with all its rows in one batch. When it returns nil, the block is on disk and is the head.
// After an error or a crash, the store has all of it or nothing. [ErrBadEntry] means that the entry does not fit;
// nothing has changed. After a failed write, all further writes fail until the store is reopened.
func (s *Store) Append(e Entry) error {
	r, err := s.Begin()
	if err != nil {
		return err
	}
	err = r.Append(e, true)
	if ended := r.End(); err == nil {
		err = ended
	}
	return err
}

// size estimates the size in bytes of a block's batch; the batch is copied if it grows larger. It grows with the
// block's transactions, including their receipts and index rows, and with its accesses. Each access is in the block's
// list, and a write is also in the rows of state, history and leaves.
func (e *Entry) size() int {
	const (
		head        = 4 << 10
		transaction = 512
		access      = 100 // without keys and values
	)
	size := head + transaction*len(e.Transactions) + len(e.Witness) + len(e.Proof)
	for i := range e.Accesses {
		a := &e.Accesses[i]
		size += access + 4*len(a.Key) + 2*(len(a.Old)+len(a.New))
	}
	return size
}

// putBlock writes all rows of a block and makes it the head. It adds rows to the batch in key order, table by table:
// the database sorts a large batch, which is immediate if it is already in order.
func (v *view) putBlock(b *kv.Batch, e Entry) error {
	if err := checkLists(e); err != nil {
		return err
	}
	writes := types.Writes(e.Accesses)
	if v.stateless {
		writes, e.Leaves = v.kept(writes), nil
	} else if err := checkLeaves(writes, e.Leaves); err != nil {
		return err
	}
	h := e.Header.Height
	index := indexed{h, e.Header.Hash(), e.Transactions, e.Receipts}
	set := func(key, value []byte) error { b.Set(key, value); return nil }
	if err := index.accounts(set); err != nil {
		return err
	}
	var holders []holderChange
	if !v.stateless {
		var err error
		if holders, err = v.holderChanges(transfersOf(e.Receipts)); err != nil {
			return err
		}
	}
	putHolders(b, holders)
	sizes, err := v.putCodes(b, h, e.Codes)
	if err != nil {
		return err
	}
	if !v.stateless {
		if err := deploys(h, e.Accesses, set); err != nil {
			return err
		}
	}
	if err := index.events(set); err != nil {
		return err
	}
	putFailures(b, h, e.Reasons)
	if err := v.putCounts(b, h, writes); err != nil {
		return err
	}
	b.Set(tableHeaders.atHeight(h), e.Signed().Encode())
	b.Set(tableSizes.atHeight(h), e.sizes().encode())
	putAccesses(b, h, e.Accesses)
	b.Set(keyHead, encodeHeight(h))
	if err := index.ofHash(set); err != nil {
		return err
	}
	putRanks(b, holders)
	putLeaves(b, e.Leaves)
	putReceipts(b, h, e.Receipts)
	var key []byte
	for _, w := range writes {
		key = tableState.appendKey(key[:0], w.Key)
		setOrDelete(b, key, w.New)
	}
	putTransactions(b, h, e.Transactions)
	if err := v.putPolicies(b, index); err != nil {
		return err
	}
	if err := index.ids(set); err != nil {
		return err
	}
	if h > 0 { // block 0 has no earlier state
		for _, w := range writes {
			key = appendHistoryRow(key[:0], w.Key, h)
			b.Set(key, w.Old)
		}
	}
	putSizes(b, sizes)
	return nil
}

// putCodes writes the codes that the store does not have, and returns the code sizes to be written.
func (v *view) putCodes(b *kv.Batch, h types.Height,
	codes map[types.CodeHash][]byte) (map[types.CodeHash]codeSize, error) {
	sizes := make(map[types.CodeHash]codeSize, len(codes))
	for hash, code := range codes {
		known, err := has(v.snapshot, tableCodeSizes.key(hash[:]))
		if err != nil {
			return nil, err
		}
		if !known {
			b.Set(tableCodes.key(hash[:]), code)
		}
		if !known || v.stateless {
			sizes[hash] = codeSize{h, uint32(len(code))}
		}
	}
	return sizes, nil
}

// putSizes writes the sizes returned by putCodes.
func putSizes(b *kv.Batch, sizes map[types.CodeHash]codeSize) {
	for hash, size := range sizes {
		b.Set(tableCodeSizes.key(hash[:]), size.encode())
	}
}

// putFailures writes the failure reasons of transactions.
func putFailures(b *kv.Batch, h types.Height, reasons []exec.Reason) {
	for i, reason := range reasons {
		if reason != exec.Success {
			b.Set(tableFailures.at(h, uint32(i)), []byte(reason))
		}
	}
}

// checkLists rejects lists that do not match. It cannot check that each receipt belongs to its transaction, as receipts
// name none: the caller guarantees that.
func checkLists(e Entry) error {
	n := len(e.Transactions)
	if len(e.Receipts) != n || len(e.Reasons) != n {
		return fmt.Errorf("%w: %d transactions, %d receipts, %d reasons", ErrBadEntry, n, len(e.Receipts), len(e.Reasons))
	}
	var gas types.Gas
	for i, r := range e.Receipts {
		gas += r.GasUsed
		if reason := e.Reasons[i]; (reason == exec.Success) != (r.Status == types.StatusSuccess) {
			return fmt.Errorf("%w: receipt %d has the status %d and the reason %q", ErrBadEntry, i, r.Status, reason)
		}
	}
	if gas != e.Header.GasUsed {
		return fmt.Errorf("%w: its receipts used %d gas, its header says %d", ErrBadEntry, gas, e.Header.GasUsed)
	}
	return nil
}

// checkLeaves rejects leaves that do not match the written keys. The two lists have different orders, so it compares
// sums of seeded hashes, which nobody can predict.
func checkLeaves(writes []types.Access, leaves []tree.LeafChange) error {
	if len(writes) != len(leaves) {
		return fmt.Errorf("%w: %d writes, %d leaves", ErrBadEntry, len(writes), len(leaves))
	}
	seed, difference := maphash.MakeSeed(), uint64(0)
	for i := range writes {
		difference += maphash.Bytes(seed, writes[i].Key) - maphash.Bytes(seed, leaves[i].Key)
	}
	if difference != 0 {
		return fmt.Errorf("%w: the leaves do not belong to the written keys", ErrBadEntry)
	}
	return nil
}

// putLeaves writes the changed leaves of the state tree.
func putLeaves(b *kv.Batch, leaves []tree.LeafChange) {
	var key, row []byte
	for i := range leaves {
		leaf := &leaves[i]
		row = row[:0]
		if !leaf.Deleted {
			row = leafRow{leaf.Leaf, leaf.Key}.appendTo(row)
		}
		path := leaf.Path.Bytes()
		key = tableLeaves.appendKey(key[:0], path[:])
		setOrDelete(b, key, row)
	}
}

// setOrDelete writes a row of state. An empty value deletes it.
func setOrDelete(b *kv.Batch, key, value []byte) {
	if len(value) == 0 {
		b.Delete(key)
		return
	}
	b.Set(key, value)
}
