package chain

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// restoreBatch is the size in bytes at which a restore writes what it was given.
const restoreBatch = 8 << 20

// Restore fills an empty store with the state after one block, in any order of its parts; [Restore.Finish] makes it the
// chain's head. Until then the database is no store: opening it fails. A restore is for one goroutine.
type Restore struct {
	store *Store
	batch *kv.Batch
	held  int // bytes in the batch

	codes map[types.CodeHash]*restoredCode
	// contracts is the sum of hashes of the state's contracts with their heights, less that of the listed ones.
	contracts uint64
	seed      maphash.Seed
	last      Position // of the contract that was listed last
}

// restoredCode is a code that a contract has or that was put.
type restoredCode struct {
	since types.Height // of the first contract that has it
	size  uint32
	used  bool
	there bool
}

// Restore begins to fill the store, which must be empty. Nothing else may be done with it until the restore is finished.
func (s *Store) Restore() (*Restore, error) {
	if !s.Empty() {
		return nil, fmt.Errorf("%w: the store is not empty", ErrBadEntry)
	}
	return &Restore{
		store: s, batch: s.db.NewBatch(restoreBatch), codes: make(map[types.CodeHash]*restoredCode), seed: maphash.MakeSeed(),
	}, nil
}

// PutState adds a state key. That the leaf is the key's and the value's is the caller's to see to.
func (r *Restore) PutState(e StateEntry) error {
	if len(e.Key) > 0 && state.Domain(e.Key[0]) == state.DomainContract {
		if err := r.contract(e.Key, e.Value); err != nil {
			return err
		}
	}
	path := e.Path.Bytes()
	return errors.Join(r.put(tableState.key(e.Key), e.Value), r.put(tableLeaves.key(path[:]), leafRow{e.Leaf, e.Key}.encode()))
}

func (r *Restore) contract(key, value []byte) error {
	contract, err := state.DecodeContract(value)
	if len(key) != 33 {
		err = fmt.Errorf("its key has %d bytes", len(key))
	}
	if err != nil {
		return fmt.Errorf("%w: contract %x: %w", ErrBadEntry, key[1:], err)
	}
	r.contracts += r.hash(types.ContractID(key[1:]), contract.Height)
	code := r.code(contract.CodeHash)
	if !code.used || contract.Height < code.since {
		code.used, code.since = true, contract.Height
	}
	return nil
}

// hash is one that nobody outside can foresee.
func (r *Restore) hash(id types.ContractID, height types.Height) uint64 {
	return maphash.Bytes(r.seed, append(encodeHeight(height), id[:]...))
}

func (r *Restore) code(hash types.CodeHash) *restoredCode {
	code := r.codes[hash]
	if code == nil {
		code = new(restoredCode)
		r.codes[hash] = code
	}
	return code
}

// PutCode adds a contract's code.
func (r *Restore) PutCode(code []byte) error {
	if len(code) > math.MaxUint32 {
		return fmt.Errorf("%w: a code of %d bytes", ErrBadEntry, len(code))
	}
	hash := types.CodeHash(sha256.Sum256(code))
	c := r.code(hash)
	c.there, c.size = true, uint32(len(code))
	return r.put(tableCodes.key(hash[:]), code)
}

// PutDeployment adds a contract to the list, which ascends by position.
func (r *Restore) PutDeployment(d Deployment) error {
	if d.Position.Compare(r.last) <= 0 {
		return fmt.Errorf("%w: the list of contracts does not ascend at %s", ErrBadEntry, d.Contract)
	}
	r.last = d.Position
	r.contracts -= r.hash(d.Contract, d.Height)
	return r.put(tableDeploys.at(d.Height, d.Index), d.Contract[:])
}

// PutHolder adds a holder of a token.
func (r *Restore) PutHolder(h TokenSum) error {
	var of holding
	copy(of[:], h.Token[:])
	copy(of[32:], h.Account[:])
	sum := tokenSum{h.High, h.Low}
	if sum == (tokenSum{}) {
		return fmt.Errorf("%w: a holder of nothing, %s", ErrBadEntry, h.Account)
	}
	return errors.Join(r.put(tableHolders.key(of[:]), sum.appendTo(nil)), r.put(appendRank(nil, &of, sum), nil))
}

// put writes a row, with others at a time.
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

// Finish adds block 0's header and the block after which the state is, and makes it the head and the oldest block. It
// fails with [ErrBadEntry] where parts do not belong together: codes and the list of contracts with the state's
// contracts, what the block left with the state. What headers commit to is the caller's to see to. Leaves of the entry
// are not asked for.
func (r *Restore) Finish(g types.Genesis, zero types.SignedHeader, e Entry) error {
	if err := errors.Join(checkLists(e), r.checkContracts(), r.flush()); err != nil {
		return err
	}
	for _, a := range e.Accesses {
		value, err := r.store.db.Get(tableState.key(a.Key))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		if !bytes.Equal(value, a.New) {
			return fmt.Errorf("%w: state key %x is not as its block left it", ErrBadEntry, a.Key)
		}
	}
	r.store.writing.Lock()
	defer r.store.writing.Unlock()
	if _, err := r.store.writable(); err != nil {
		return err
	}
	if err := r.putHead(g, zero, e); err != nil {
		return err
	}
	r.store.genesis.Store(&g) // before the view that says there is one
	return r.store.commit(r.batch, true)
}

// putHead writes the rows of the block, and those that make a store of the database.
func (r *Restore) putHead(g types.Genesis, zero types.SignedHeader, e Entry) error {
	b, h := r.batch, e.Block.Header.Height
	set := func(key, value []byte) error { b.Set(key, value); return nil }
	for hash, code := range r.codes {
		b.Set(tableCodeSizes.key(hash[:]), codeSize{code.since, code.size}.encode())
	}
	zeroHash := zero.Header.Hash()
	b.Set(tableHeaders.atHeight(0), zero.Encode())
	b.Set(tableHashes.key(zeroHash[:]), encodeHeight(0))
	b.Set(tableHeaders.atHeight(h), e.Block.Signed().Encode())
	if err := (indexed{h, e.Block.Header.Hash(), e.Block.Transactions, e.Receipts}).rows(set); err != nil {
		return err
	}
	putFailures(b, h, e.Reasons)
	putAccesses(b, h, e.Accesses)
	putItems(b, tableReceipts, h, e.Receipts)
	putItems(b, tableTransactions, h, e.Block.Transactions)
	for _, w := range types.Writes(e.Accesses) {
		b.Set(historyRow(w.Key, h), w.Old)
	}
	b.Set(keyFormat, encodeFormat())
	b.Set(keySchedule, r.store.options.Schedule[:])
	b.Set(keyGenesis, g.Encode())
	b.Set(keyHead, encodeHeight(h))
	b.Set(keyOldest, encodeHeight(h))
	return nil
}

func (r *Restore) checkContracts() error {
	for hash, code := range r.codes {
		if !code.used || !code.there {
			return fmt.Errorf("%w: code %s: a contract has it: %t, it is there: %t", ErrBadEntry, hash, code.used, code.there)
		}
	}
	if r.contracts != 0 {
		return fmt.Errorf("%w: the list of contracts is not that of the state's", ErrBadEntry)
	}
	return nil
}

// Discard gives the restore up. The database is of no use then.
func (r *Restore) Discard() error { return r.batch.Discard() }

// StateEntry is a state key with its place in the state tree.
type StateEntry struct {
	Path, Leaf poseidon.Digest
	Key, Value []byte
}
