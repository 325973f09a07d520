package chain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// FindTransaction returns the position of a transaction in a stored block, or [ErrNotFound].
func (s *Store) FindTransaction(id types.TxID) (Position, error) {
	return read(s, func(v *view) (Position, error) {
		row, err := v.snapshot.Get(tableIDs.key(id[:]))
		if err != nil {
			return Position{}, fmt.Errorf("transaction %s: %w", id, notFound(err))
		}
		p, err := decodePosition(row)
		if err == nil && p.Height < v.oldest { // its row is about to be pruned
			err = fmt.Errorf("transaction %s: %w", id, ErrNotFound)
		}
		return p, err
	})
}

// Included is a transaction of a stored block with its outcome.
type Included struct {
	ID          types.TxID
	Transaction types.SignedTransaction
	Receipt     types.Receipt
	Reason      exec.Reason // failure reason; empty on success
}

// Transaction returns the transaction at a position. The error is [ErrNotFound] if there is none, [ErrPruned] below the
// oldest height.
func (s *Store) Transaction(p Position) (Included, error) {
	return ofBlock(s, p.Height, func(r kv.Reader) (i Included, err error) {
		tx, err := decodeItem(r, tableTransactions, p, types.DecodeTx)
		if err != nil {
			return i, err
		}
		i.ID, i.Transaction = tx.ID(), *tx.Signed()
		if i.Receipt, err = decodeItem(r, tableReceipts, p, types.DecodeReceipt); err != nil {
			return i, err
		}
		i.Reason, err = readReason(r, p, i.Receipt)
		return i, err
	})
}

// TransactionsFrom calls yield for the transactions of a block from a position on, in order, until yield returns false.
// Beyond the last transaction it yields none. It returns the errors of [Store.Block].
func (s *Store) TransactionsFrom(p Position, yield func(Included) bool) error {
	_, err := ofBlock(s, p.Height, func(r kv.Reader) (_ struct{}, err error) {
		var txs, receipts *itemReader
		defer func() { err = errors.Join(err, txs.close(), receipts.close()) }()
		if txs, err = newItemReader(r, tableTransactions); err != nil {
			return struct{}{}, err
		}
		if receipts, err = newItemReader(r, tableReceipts); err != nil {
			return struct{}{}, err
		}
		count, err := txs.count(p.Height)
		for more := true; more && err == nil && p.Index < count; p.Index++ {
			var i Included
			if i, err = readIncluded(r, txs, receipts, p); err == nil {
				more = yield(i)
			}
		}
		return struct{}{}, err
	})
	return err
}

func readIncluded(r kv.Reader, txs, receipts *itemReader, p Position) (i Included, err error) {
	tx, err := readNext(txs, p, types.DecodeTx)
	if err != nil {
		return i, err
	}
	i.ID, i.Transaction = tx.ID(), *tx.Signed()
	if i.Receipt, err = readNext(receipts, p, types.DecodeReceipt); err != nil {
		return i, err
	}
	i.Reason, err = readReason(r, p, i.Receipt)
	return i, err
}

func decodeItem[T any](r kv.Reader, t table, p Position, decode func([]byte) (T, error)) (T, error) {
	item, err := readItem(r, t, p)
	if err != nil {
		return *new(T), fmt.Errorf("block %d, transaction %d: %w", p.Height, p.Index, err)
	}
	decoded, err := decode(item)
	if err != nil {
		err = fmt.Errorf("%w: %s, block %d, %d: %w", ErrCorrupt, allTables[t], p.Height, p.Index, err)
	}
	return decoded, err
}

// ByAccount returns the stored transactions that concern an account, newest first. These are the transactions that it
// sent or paid for, those that name it as recipient or as the called or created contract, even in a step of a batch,
// and those in which code paid it or was paid by it. Unless before is zero, only transactions older than before are
// returned. At most limit are returned.
func (s *Store) ByAccount(account types.Account, before Position, limit int) ([]Position, error) {
	return read(s, func(v *view) ([]Position, error) {
		prefix := tableAccounts.key(account[:])
		return newestFirst(v.snapshot, accountRow(account, v.oldest), kv.PrefixEnd(prefix), limit, func(it *kv.Iter) bool {
			if before == (Position{}) {
				return it.Last()
			}
			return it.SeekLT(append(accountRow(account, before.Height), 0))
		}, func(key, row []byte) ([]Position, error) {
			h, err := heightAtEnd(key)
			if err != nil {
				return nil, err
			}
			indices, err := decodeIndices(row)
			positions := make([]Position, 0, len(indices))
			for _, i := range indices {
				if p := (Position{h, i}); before == (Position{}) || p.Compare(before) < 0 {
					positions = append(positions, p)
				}
			}
			return positions, err
		})
	})
}

// Recent returns the positions of the last stored transactions, at most limit, newest first.
func (s *Store) Recent(limit int) ([]Position, error) {
	return read(s, func(v *view) ([]Position, error) {
		_, upper := tableTransactions.bounds()
		lower := tableTransactions.atHeight(v.oldest)
		return newestFirst(v.snapshot, lower, upper, limit, (*kv.Iter).Last, func(key, row []byte) ([]Position, error) {
			if len(key) != 1+8+4 {
				return nil, fmt.Errorf("%w: key %x has %d bytes, not 13", ErrCorrupt, key, len(key))
			}
			items, err := splitItems(nil, row)
			positions := make([]Position, len(items))
			for i := range positions {
				positions[i] = Position{
					types.Height(binary.BigEndian.Uint64(key[1:])), binary.BigEndian.Uint32(key[9:]) + uint32(i),
				}
			}
			return positions, err
		})
	})
}

// newestFirst walks backwards from the row that start moves to, and collects the positions in the rows, which hold them
// in ascending order.
func newestFirst(r kv.Reader, lower, upper []byte, limit int, start func(*kv.Iter) bool,
	positions func(key, row []byte) ([]Position, error)) ([]Position, error) {
	if limit <= 0 {
		return nil, nil
	}
	it, err := r.NewIter(lower, upper)
	if err != nil {
		return nil, err
	}
	var found []Position
	for ok := start(it); ok && len(found) < limit; ok = it.Prev() {
		row, err := positions(it.Key(), it.Value())
		if err != nil {
			return nil, errors.Join(err, it.Close())
		}
		slices.Reverse(row)
		found = append(found, row[:min(len(row), limit-len(found))]...)
	}
	return found, it.Close()
}

// Compare compares positions by their order in the chain. It returns −1, 0 or 1.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Height, other.Height), cmp.Compare(p.Index, other.Index))
}

// indexed holds the parts of a block from which its index rows are derived.
type indexed struct {
	height   types.Height
	hash     types.BlockHash
	txs      []*types.Tx
	receipts []types.Receipt
}

// codes returns the hashes of the codes that the block's deploys brought, some of which may have been there before.
func (b indexed) codes() (codes []types.CodeHash) {
	for i, tx := range b.txs {
		deploy, is := tx.Signed().Payload.(types.Deploy)
		if is && b.receipts[i].Status == types.StatusSuccess {
			codes = append(codes, sha256.Sum256(deploy.Code))
		}
	}
	return codes
}

// rows calls put for each index row of the block. Key and value are only valid during the call. This is the single
// definition of the index rows: writing, deleting and checking all use rows or its parts.
func (b indexed) rows(put func(key, value []byte) error) error {
	for _, part := range []func(put func(key, value []byte) error) error{b.accounts, b.events, b.ofHash, b.ids} {
		if err := part(put); err != nil {
			return err
		}
	}
	return nil
}

// ofHash calls put for the row that finds the block by its hash.
func (b indexed) ofHash(put func(key, value []byte) error) error {
	return put(tableHashes.key(b.hash[:]), encodeHeight(b.height))
}

// ids calls put for the rows that find transactions by their IDs, ascending.
func (b indexed) ids(put func(key, value []byte) error) error {
	ids := types.IDs(b.txs)
	order := make([]concern, len(ids))
	for i := range ids {
		order[i] = newConcern((*[32]byte)(&ids[i]), uint32(i))
	}
	var key, row []byte
	for _, c := range sorted(order) {
		key, row = tableIDs.appendKey(key[:0], c.name[:]), Position{b.height, c.index}.appendTo(row[:0])
		if err := put(key, row); err != nil {
			return err
		}
	}
	return nil
}

// accounts calls put for the rows that find an account's transactions, ascending.
func (b indexed) accounts(put func(key, value []byte) error) error {
	concerned := b.concerned()
	var key, row []byte
	for i, c := range concerned {
		last := i+1 == len(concerned) || *concerned[i+1].name != *c.name
		if last || concerned[i+1].index != c.index { // only once, whatever roles the account has in the transaction
			row = appendIndex(row, c.index)
		}
		if last {
			key = appendAccountRow(key[:0], (*types.Account)(c.name), b.height)
			if err := put(key, row); err != nil {
				return err
			}
			row = row[:0]
		}
	}
	return nil
}

// concern is a name and the index of a transaction or event that it belongs to.
type concern struct {
	prefix uint64 // first bytes of the name; they nearly always decide a comparison
	index  uint32
	name   *[32]byte
}

func newConcern(name *[32]byte, index uint32) concern {
	return concern{binary.BigEndian.Uint64(name[:]), index, name}
}

func (c concern) compare(other concern) int {
	if c.prefix != other.prefix {
		return cmp.Compare(c.prefix, other.prefix)
	}
	return cmp.Or(bytes.Compare(c.name[:], other.name[:]), cmp.Compare(c.index, other.index))
}

// sorted returns the concerns in ascending order, and may reorder c. Most names are hashes, so their first bits nearly
// determine their places. For a large block, a sort by comparisons alone takes three times as long.
func sorted(c []concern) []concern {
	const few = 128
	if len(c) < few {
		slices.SortFunc(c, concern.compare)
		return c
	}
	shift := 64 - bits.Len(uint(len(c)/4)) // about four in each part
	ends := make([]int, 1<<(64-shift))     // ends of the parts; initially their beginnings
	for i := range c {
		ends[c[i].prefix>>shift]++
	}
	begin := 0
	for i, size := range ends {
		ends[i] = begin
		begin += size
	}
	parts := make([]concern, len(c))
	for i := range c {
		end := &ends[c[i].prefix>>shift]
		parts[*end] = c[i]
		*end++
	}
	begin = 0
	for _, end := range ends {
		slices.SortFunc(parts[begin:end], concern.compare)
		begin = end
	}
	return parts
}

// concerned returns pairs of accounts and the transactions that concern them, ascending. A pair may occur twice.
func (b indexed) concerned() []concern {
	pairs := make([]concern, 0, 2*len(b.txs))
	for i := range b.txs {
		tx := b.txs[i].Signed()
		add := func(a *[32]byte) { pairs = append(pairs, newConcern(a, uint32(i))) }
		add((*[32]byte)(&tx.Sender))
		if tx.Payer != nil {
			add((*[32]byte)(tx.Payer))
		}
		if to, ok := tx.Recipient(); ok {
			add((*[32]byte)(&to))
		}
		if batch, is := tx.Payload.(types.Batch); is {
			for j := range batch.Steps {
				add((*[32]byte)(&batch.Steps[j].Target))
			}
		}
		for j := range b.receipts[i].Logs {
			if log := &b.receipts[i].Logs[j]; exec.IsPayment(log) {
				add(&log.Topics[0])
				add(&log.Topics[1])
			}
		}
	}
	return sorted(pairs)
}

// readIndexed reads the parts of a stored block from which its index rows are derived.
func readIndexed(r kv.Reader, h types.Height) (b indexed, err error) {
	b.height = h
	header, err := readHeader(r, h)
	if err != nil {
		return b, err
	}
	b.hash = header.Header.Hash()
	if b.txs, err = readTransactions(r, h); err != nil {
		return b, err
	}
	b.receipts, err = readReceipts(r, h)
	if err == nil && len(b.receipts) != len(b.txs) {
		err = fmt.Errorf("%w: block %d has %d transactions and %d receipts", ErrCorrupt, h, len(b.txs), len(b.receipts))
	}
	return b, err
}
