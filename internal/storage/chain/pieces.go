package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A block's lists can be read in pieces, each from a view of its own, so that a reader that takes hours does not keep a
// view alive. The sizes of the lists are known before they are read.

// Sizes holds the sizes of a block's lists.
type Sizes struct {
	Transactions     uint32
	TransactionBytes uint32 // total size of their encodings
	Accesses         uint32
	AccessBytes      uint64 // total size of their encodings
}

func (e *Entry) sizes() (s Sizes) {
	s.Transactions, s.Accesses = uint32(len(e.Transactions)), uint32(len(e.Accesses))
	for _, tx := range e.Transactions {
		s.TransactionBytes += uint32(len(tx.Encoded()))
	}
	s.AccessBytes = uint64(types.AccessesBytes(e.Accesses) - countBytes)
	return s
}

// countBytes is the length of the count at the beginning of a list's encoding.
const countBytes = 8

func (s Sizes) encode() []byte {
	row := binary.BigEndian.AppendUint32(nil, s.Transactions)
	row = binary.BigEndian.AppendUint32(row, s.TransactionBytes)
	row = binary.BigEndian.AppendUint32(row, s.Accesses)
	return binary.BigEndian.AppendUint64(row, s.AccessBytes)
}

func readSizes(r kv.Reader, h types.Height) (s Sizes, err error) {
	row, err := r.Get(tableSizes.atHeight(h))
	if err != nil {
		return s, fmt.Errorf("%s of block %d: %w", allTables[tableSizes], h, missing(err))
	}
	if len(row) != 3*4+8 {
		return s, fmt.Errorf("%w: %s of block %d: %d bytes", ErrCorrupt, allTables[tableSizes], h, len(row))
	}
	return Sizes{
		Transactions:     binary.BigEndian.Uint32(row),
		TransactionBytes: binary.BigEndian.Uint32(row[4:]),
		Accesses:         binary.BigEndian.Uint32(row[8:]),
		AccessBytes:      binary.BigEndian.Uint64(row[12:]),
	}, nil
}

// MeasuredBlock is a block's header with the sizes of its lists.
type MeasuredBlock struct {
	Header types.SignedHeader
	Sizes
}

// MeasuredBlock returns a block's header and sizes, with the errors of [Store.Block]. It does not read the lists.
func (s *Store) MeasuredBlock(h types.Height) (MeasuredBlock, error) {
	return ofBlock(s, h, func(r kv.Reader) (b MeasuredBlock, err error) {
		if b.Header, err = readHeader(r, h); err == nil {
			b.Sizes, err = readSizes(r, h)
		}
		return b, err
	})
}

// TransactionPiece appends to dst the concatenated encodings of a block's transactions from an index on, in whole runs
// until the piece has at least the given number of bytes. The next piece begins at next. The error is [ErrReverted] if
// the block at that height now has another header, or one of [Store.Block].
func (s *Store) TransactionPiece(
	dst []byte, of types.SignedHeader, index uint32, bytes int,
) (piece []byte, next uint32, err error) {
	return s.pieceOf(dst, of, tableTransactions, index, bytes, appendItems)
}

// TransactionRun returns the run of a block's transactions that begins at an index, a few kilobytes. The block must have
// it. Errors are as for [Store.TransactionPiece].
func (s *Store) TransactionRun(of types.SignedHeader, index uint32) (txs []*types.Tx, err error) {
	decode := itemsDecoder(types.DecodeTx)
	_, next, err := s.pieceOf(nil, of, tableTransactions, index, 1, func(dst, row []byte) (_ []byte, _ int, err error) {
		dst = append(dst, row...) // the transactions keep it
		txs, err = decode(dst)
		return dst, len(txs), err
	})
	if err == nil && next == index {
		err = fmt.Errorf("%w: block %d has no transaction %d", ErrCorrupt, of.Header.Height, index)
	}
	return txs, err
}

// AccessPiece is like [Store.TransactionPiece] for a block's accesses.
func (s *Store) AccessPiece(
	dst []byte, of types.SignedHeader, index uint32, bytes int,
) (piece []byte, next uint32, err error) {
	return s.pieceOf(dst, of, tableAccesses, index, bytes, func(dst, row []byte) ([]byte, int, error) {
		if len(row) < countBytes {
			return nil, 0, fmt.Errorf("%w: a run of %d bytes", ErrCorrupt, len(row))
		}
		return append(dst, row[countBytes:]...), int(binary.LittleEndian.Uint64(row)), nil
	})
}

// appender appends the items of a row to dst and returns their number.
type appender func(dst, row []byte) ([]byte, int, error)

// appendItems is an [appender] of encoded items.
func appendItems(dst, row []byte) (_ []byte, count int, err error) {
	d := codec.NewDecoder(row)
	for ; d.Remaining() > 0; count++ {
		dst = append(dst, d.Bytes(len(row))...)
	}
	if err := d.Err(); err != nil {
		return dst, 0, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return dst, count, nil
}

// pieceOf joins runs of a block's list.
func (s *Store) pieceOf(
	dst []byte, of types.SignedHeader, t table, index uint32, bytes int, add appender,
) (piece []byte, next uint32, err error) {
	h := of.Header.Height
	piece, err = ofBlock(s, h, func(r kv.Reader) (piece []byte, err error) {
		now, err := readHeader(r, h)
		if err != nil {
			return nil, err
		}
		if now != of {
			return nil, fmt.Errorf("block %d has been replaced: %w", h, ErrReverted)
		}
		piece, next, err = appendRuns(dst, r, t, h, index, len(dst)+bytes, add)
		return piece, err
	})
	return piece, next, err
}

// appendRuns joins runs of a height's list from an index on, until dst has at least the given number of bytes.
func appendRuns(
	dst []byte, r kv.Reader, t table, h types.Height, index uint32, bytes int, add appender,
) (joined []byte, next uint32, err error) {
	next = index
	_, upper := t.heightBounds(h)
	rows, err := r.NewIter(t.at(h, index), upper)
	if err != nil {
		return nil, next, err
	}
	for more := rows.First(); more && len(dst) < bytes && err == nil; more = rows.Next() {
		if key := t.at(h, next); string(rows.Key()) != string(key) {
			err = fmt.Errorf("%w: %s of block %d: key %x at item %d", ErrCorrupt, allTables[t], h, rows.Key(), next)
			break
		}
		items := 0
		dst, items, err = add(dst, rows.Value())
		next += uint32(items)
	}
	return dst, next, errors.Join(err, rows.Close())
}
