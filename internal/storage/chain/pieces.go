package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

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

// TransactionPiece returns the concatenated encodings of a block's transactions from an index on, in whole runs until
// the piece has at least the given number of bytes. The next piece begins at next. The error is [ErrReverted] if the
// block at that height now has another header, or one of [Store.Block].
func (s *Store) TransactionPiece(of types.SignedHeader, index uint32, bytes int) (piece []byte, next uint32, err error) {
	return s.pieceOf(of, tableTransactions, index, bytes, func(dst, row []byte) ([]byte, int, error) {
		items, err := splitItems(row)
		for _, item := range items {
			dst = append(dst, item...)
		}
		return dst, len(items), err
	})
}

// AccessPiece is like [Store.TransactionPiece] for a block's accesses.
func (s *Store) AccessPiece(of types.SignedHeader, index uint32, bytes int) (piece []byte, next uint32, err error) {
	return s.pieceOf(of, tableAccesses, index, bytes, func(dst, row []byte) ([]byte, int, error) {
		if len(row) < countBytes {
			return nil, 0, fmt.Errorf("%w: a run of %d bytes", ErrCorrupt, len(row))
		}
		return append(dst, row[countBytes:]...), int(binary.LittleEndian.Uint64(row)), nil
	})
}

// pieceOf joins runs of a block's list. add appends the items of a row and returns their number.
func (s *Store) pieceOf(
	of types.SignedHeader, t table, index uint32, bytes int, add func(dst, row []byte) ([]byte, int, error),
) (piece []byte, next uint32, err error) {
	h := of.Header.Height
	piece, err = ofBlock(s, h, func(r kv.Reader) (piece []byte, err error) {
		now, err := readHeader(r, h)
		if err != nil {
			return nil, err
		}
		if now != of {
			return nil, fmt.Errorf("block %d is another one by now: %w", h, ErrReverted)
		}
		next = index
		_, upper := t.heightBounds(h)
		rows, err := r.NewIter(t.at(h, index), upper)
		if err != nil {
			return nil, err
		}
		for more := rows.First(); more && len(piece) < bytes && err == nil; more = rows.Next() {
			if key := t.at(h, next); string(rows.Key()) != string(key) {
				err = fmt.Errorf("%w: %s of block %d: key %x at item %d", ErrCorrupt, allTables[t], h, rows.Key(), next)
				break
			}
			items := 0
			piece, items, err = add(piece, rows.Value())
			next += uint32(items)
		}
		return piece, errors.Join(err, rows.Close())
	})
	return piece, next, err
}
