package chain

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A block's transactions, receipts and accesses are lists. They are stored in runs, each under the index of its first
// item. So there are few rows, and an item can be read without the rest of the block.

// runBytes is the size at which a run ends, about the block size of the database.
const runBytes = 16 << 10

// putTransactions writes a block's transactions, which must be encoded.
func putTransactions(b *kv.Batch, h types.Height, txs []*types.Tx) {
	putItems(b, tableTransactions, h, len(txs), func(i int) []byte { return txs[i].Encoded() })
}

// putReceipts writes a block's receipts.
func putReceipts(b *kv.Batch, h types.Height, receipts []types.Receipt) {
	item := codec.NewEncoder(1 << 10)
	putItems(b, tableReceipts, h, len(receipts), func(i int) []byte {
		item.Reset()
		receipts[i].EncodeTo(item)
		return item.Data()
	})
}

// putItems writes a list of n encoded items. Each item need only be valid until the next call of item.
func putItems(b *kv.Batch, t table, h types.Height, n int, item func(i int) []byte) {
	run, from := codec.NewEncoder(runBytes+1<<10), 0
	for i := range n {
		run.Bytes(item(i))
		if run.Len() >= runBytes || i == n-1 {
			b.Set(t.at(h, uint32(from)), run.Data())
			run.Reset()
			from = i + 1
		}
	}
}

// putAccesses writes a block's accesses.
func putAccesses(b *kv.Batch, h types.Height, accesses []types.Access) {
	from, held := 0, 0
	for i, a := range accesses {
		held += len(a.Key) + len(a.Old) + len(a.New)
		if held >= runBytes || i == len(accesses)-1 {
			b.Set(tableAccesses.at(h, uint32(from)), types.EncodeAccesses(accesses[from:i+1]))
			from, held = i+1, 0
		}
	}
}

// splitItems appends the encoded items of a run to items. They alias row.
func splitItems(items [][]byte, row []byte) ([][]byte, error) {
	d := codec.NewDecoder(row)
	for d.Remaining() > 0 {
		items = append(items, d.Bytes(len(row)))
	}
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return items, nil
}

// readRuns decodes and joins the runs of a height's list. decode may retain the row, which is a copy.
func readRuns[T any](r kv.Reader, t table, h types.Height, decode func(row []byte) ([]T, error)) ([]T, error) {
	var all []T
	lower, upper := t.heightBounds(h)
	err := kv.Scan(r, lower, upper, func(key, row []byte) error {
		if !bytes.Equal(key, t.at(h, uint32(len(all)))) {
			return fmt.Errorf("%w: %s of block %d: key %x after %d items", ErrCorrupt, allTables[t], h, key, len(all))
		}
		items, err := decode(bytes.Clone(row))
		if err == nil && len(items) == 0 {
			err = fmt.Errorf("%w: an empty run", ErrCorrupt)
		}
		if err != nil {
			return fmt.Errorf("%s of block %d from %d on: %w", allTables[t], h, len(all), err)
		}
		all = append(all, items...)
		return nil
	})
	return all, err
}

// itemsDecoder returns a decoder for runs of items of one kind.
func itemsDecoder[T any](decode func([]byte) (T, error)) func(row []byte) ([]T, error) {
	var items [][]byte
	return func(row []byte) (_ []T, err error) {
		items, err = splitItems(items[:0], row)
		if err != nil {
			return nil, err
		}
		decoded := make([]T, len(items))
		for i, item := range items {
			if decoded[i], err = decode(item); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
			}
		}
		return decoded, nil
	}
}

// decodeRunOfAccesses decodes a run of accesses.
func decodeRunOfAccesses(row []byte) ([]types.Access, error) {
	accesses, err := types.DecodeAccesses(row)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return accesses, nil
}

// readItem returns one item of a height's list, or [ErrNotFound].
func readItem(r kv.Reader, t table, p Position) (item []byte, err error) {
	lower, upper := t.heightBounds(p.Height)
	it, err := r.NewIter(lower, upper)
	if err != nil {
		return nil, err
	}
	// The item is in the last run that begins at or before it.
	if it.SeekLT(append(t.at(p.Height, p.Index), 0)) {
		item, err = itemOfRun(it.Key(), it.Value(), p.Index)
	} else {
		err = ErrNotFound
	}
	if closeErr := it.Close(); closeErr != nil { // the values read may differ from the stored ones
		return nil, closeErr
	}
	return item, err
}

func itemOfRun(key, row []byte, index uint32) ([]byte, error) {
	if len(key) != 1+8+4 {
		return nil, fmt.Errorf("%w: key %x has %d bytes, not 13", ErrCorrupt, key, len(key))
	}
	d := codec.NewDecoder(row)
	for skip := index - binary.BigEndian.Uint32(key[9:]); skip > 0 && d.Remaining() > 0; skip-- {
		d.Bytes(len(row))
	}
	if d.Err() == nil && d.Remaining() == 0 {
		return nil, ErrNotFound
	}
	item := bytes.Clone(d.Bytes(len(row)))
	if err := d.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return item, nil
}

// itemReader reads items of a table's lists by position. It looks up a run only once for consecutive positions in it.
type itemReader struct {
	table  table
	rows   *kv.Iter // the runs
	begins Position // position of the first item in the current run
	items  [][]byte // items of the current run; empty before the first read
}

func newItemReader(r kv.Reader, t table) (*itemReader, error) {
	rows, err := r.NewIter(t.bounds())
	return &itemReader{table: t, rows: rows}, err
}

func (r *itemReader) close() error {
	if r == nil || r.rows == nil {
		return nil
	}
	return r.rows.Close()
}

// count returns the number of items in the list of a height.
func (r *itemReader) count(h types.Height) (uint32, error) {
	r.items = r.items[:0]
	lower, upper := r.table.heightBounds(h)
	if !r.rows.SeekLT(upper) || !bytes.HasPrefix(r.rows.Key(), lower) { // to the last run
		return 0, r.rows.Err()
	}
	begins, err := decodePosition(r.rows.Key()[1:])
	if err != nil {
		return 0, err
	}
	items, err := splitItems(nil, r.rows.Value())
	return begins.Index + uint32(len(items)), err
}

// readNext decodes the item at a position, which must exist.
func readNext[T any](r *itemReader, p Position, decode func([]byte) (T, error)) (T, error) {
	item, err := r.item(p)
	if err != nil {
		return *new(T), fmt.Errorf("%s, block %d, %d: %w", allTables[r.table], p.Height, p.Index, err)
	}
	decoded, err := decode(bytes.Clone(item))
	if err != nil {
		err = fmt.Errorf("%w: %s, block %d, %d: %w", ErrCorrupt, allTables[r.table], p.Height, p.Index, err)
	}
	return decoded, err
}

// item returns an encoded item, valid until the next call.
func (r *itemReader) item(p Position) (_ []byte, err error) {
	if p.Height != r.begins.Height || p.Index < r.begins.Index || p.Index-r.begins.Index >= uint32(len(r.items)) {
		r.items = r.items[:0]
		lower, _ := r.table.heightBounds(p.Height)
		if !r.rows.SeekLT(append(r.table.at(p.Height, p.Index), 0)) || !bytes.HasPrefix(r.rows.Key(), lower) {
			return nil, fmt.Errorf("%w: the item is missing", ErrCorrupt)
		}
		if r.begins, err = decodePosition(r.rows.Key()[1:]); err != nil {
			return nil, err
		}
		if r.items, err = splitItems(r.items, r.rows.Value()); err != nil {
			return nil, err
		}
		if p.Index-r.begins.Index >= uint32(len(r.items)) {
			return nil, fmt.Errorf("%w: the item is missing", ErrCorrupt)
		}
	}
	return r.items[p.Index-r.begins.Index], nil
}
