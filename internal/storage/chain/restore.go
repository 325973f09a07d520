package chain

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// restoreBatch is the size in bytes at which a restore writes its batch.
const restoreBatch = 8 << 20

// Restore fills an empty store with the state after one block, in any order of its parts. [Restore.Finish] makes that
// block the chain's head; before that, the database cannot be opened as a store. The caller must ensure that the parts
// are complete and belong together. A Restore is not safe for concurrent use.
type Restore struct {
	store *Store
	batch *kv.Batch
	held  int // bytes in the batch
	has   Counts
}

// Restore begins to fill the store, which must be empty. The store must not be used otherwise until the restore is
// finished.
func (s *Store) Restore() (*Restore, error) {
	if !s.Empty() {
		return nil, fmt.Errorf("%w: the store is not empty", ErrBadEntry)
	}
	return &Restore{store: s, batch: s.db.NewBatch(restoreBatch)}, nil
}

// PutState adds a state key.
func (r *Restore) PutState(e StateEntry) error {
	path := e.Path.Bytes()
	r.has.write(types.Access{Key: e.Key, New: e.Value})
	return errors.Join(
		r.put(tableState.key(e.Key), e.Value), r.put(tableLeaves.key(path[:]), leafRow{e.Leaf, e.Key}.encode()),
	)
}

// PutParameters adds the encoded parameters, the only part of the state in a stateless store.
func (r *Restore) PutParameters(encoded []byte) error {
	return r.put(tableState.key(parametersKey), encoded)
}

// PutCode adds a code. since is a block up to the restored one, the latest that may have brought it.
func (r *Restore) PutCode(hash types.CodeHash, code []byte, since types.Height) error {
	return errors.Join(r.put(tableCodes.key(hash[:]), code),
		r.put(tableCodeSizes.key(hash[:]), codeSize{since, uint32(len(code))}.encode()))
}

// PutDeployment adds a contract to the list.
func (r *Restore) PutDeployment(d Deployment) error {
	return r.put(tableDeploys.at(d.Height, d.Index), d.Contract[:])
}

// PutHolder adds a holder of a token.
func (r *Restore) PutHolder(h TokenSum) error {
	var of holding
	copy(of[:], h.Token[:])
	copy(of[32:], h.Account[:])
	sum := tokenSum{h.High, h.Low}
	return errors.Join(r.put(tableHolders.key(of[:]), sum.appendTo(nil)), r.put(appendRank(nil, &of, sum), nil))
}

// put adds a row to the batch, and writes the batch if it is full.
func (r *Restore) put(key, value []byte) error {
	r.batch.Set(key, value)
	if r.held += len(key) + len(value); r.held < restoreBatch {
		return nil
	}
	return r.flush()
}

func (r *Restore) flush() error {
	err := r.store.db.Commit(r.batch, false)
	r.batch, r.held = r.store.db.NewBatch(restoreBatch), 0
	return err
}

// Finish adds block 0's header and the block of the state, and makes that block the head and the oldest block. It
// ignores the entry's leaves and witness and, unless the store is stateless, its codes. It ends the restore, even if it
// returns an error.
func (r *Restore) Finish(g types.Genesis, zero types.SignedHeader, e Entry) error {
	if err := checkLists(e); err != nil {
		return errors.Join(err, r.Discard())
	}
	r.store.lock()
	defer r.store.writing.Unlock()
	v, err := r.store.writable()
	if err != nil {
		return errors.Join(err, r.Discard())
	}
	if err := r.putHead(v, g, zero, e); err != nil {
		return errors.Join(err, r.Discard())
	}
	r.store.genesis.Store(&g) // set before the view shows a chain
	return r.store.commit(r.batch, true)
}

// putHead writes the rows of the block, and those that turn the database into a store. v is the empty view.
func (r *Restore) putHead(v *view, g types.Genesis, zero types.SignedHeader, e Entry) error {
	b, h := r.batch, e.Header.Height
	set := func(key, value []byte) error { b.Set(key, value); return nil }
	zeroHash := zero.Header.Hash()
	b.Set(tableHeaders.atHeight(0), zero.Encode())
	b.Set(tableHashes.key(zeroHash[:]), encodeHeight(0))
	b.Set(tableHeaders.atHeight(h), e.Signed().Encode())
	b.Set(tableSizes.atHeight(h), e.sizes().encode())
	index := indexed{h, e.Header.Hash(), e.Transactions, e.Receipts}
	if err := index.rows(set); err != nil {
		return err
	}
	putFailures(b, h, e.Reasons)
	putAccesses(b, h, e.Accesses)
	putReceipts(b, h, e.Receipts)
	putTransactions(b, h, e.Transactions)
	of := &view{snapshot: v.snapshot, stateless: r.store.options.Stateless}
	for _, w := range of.kept(types.Writes(e.Accesses)) {
		b.Set(historyRow(w.Key, h), w.Old)
	}
	if of.stateless {
		b.Set(keyStateless, nil)
		sizes, err := of.putCodes(b, h, e.Codes)
		if err != nil {
			return err
		}
		putSizes(b, sizes)
	} else {
		b.Set(tableCounts.atHeight(h), r.has.encode())
		for hash, policy := range index.policies() {
			b.Set(tablePolicies.key(hash[:]), revealed{h, policy}.encode())
		}
	}
	r.store.putProof(b, h, e.Proof)
	b.Set(keyFormat, encodeFormat())
	b.Set(keySchedule, r.store.options.Schedule[:])
	b.Set(keyGenesis, g.Encode())
	b.Set(keyHead, encodeHeight(h))
	b.Set(keyOldest, encodeHeight(h))
	return nil
}

// Discard abandons the restore. The database is unusable afterwards.
func (r *Restore) Discard() error { return r.batch.Discard() }

// StateEntry is a state key with its value, path and leaf digest.
type StateEntry struct {
	Path, Leaf poseidon.Digest
	Key, Value []byte
}
