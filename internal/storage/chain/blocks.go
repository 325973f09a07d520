package chain

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// has returns nil if the view has the block at a height, else [ErrNotFound] or [ErrPruned].
func (v *view) has(h types.Height) error {
	switch {
	case v.empty || h > v.head.Header.Height:
		return fmt.Errorf("block %d: %w", h, ErrNotFound)
	case h < v.oldest:
		return fmt.Errorf("block %d: %w: the oldest kept is %d", h, ErrPruned, v.oldest)
	default:
		return nil
	}
}

// ofBlock reads from the newest view if that has the block.
func ofBlock[T any](s *Store, h types.Height, f func(r kv.Reader) (T, error)) (T, error) {
	return read(s, func(v *view) (T, error) {
		if err := v.has(h); err != nil {
			return *new(T), err
		}
		return f(v.snapshot)
	})
}

// Header returns the header of a block. The error is [ErrPruned] below the oldest height except for block 0,
// [ErrNotFound] above the head.
func (s *Store) Header(h types.Height) (types.SignedHeader, error) {
	return read(s, func(v *view) (types.SignedHeader, error) {
		if err := v.has(h); err != nil && (h > 0 || v.empty) {
			return types.SignedHeader{}, err
		}
		if !v.empty && h == v.head.Header.Height {
			return v.head, nil
		}
		return readHeader(v.snapshot, h)
	})
}

// Block returns a block. The error is [ErrPruned] below the oldest height, [ErrNotFound] above the head.
func (s *Store) Block(h types.Height) (types.Block, error) {
	return ofBlock(s, h, func(r kv.Reader) (types.Block, error) {
		header, err := readHeader(r, h)
		if err != nil {
			return types.Block{}, err
		}
		txs, err := readRuns(r, tableTransactions, h, itemsDecoder(types.DecodeSignedTransaction))
		return types.Block{Header: header.Header, Seal: header.Seal, Transactions: txs}, err
	})
}

// EncodedBlock is an encoded block. Its transactions have not been decoded.
type EncodedBlock struct {
	Header types.SignedHeader
	Count  int    // number of transactions
	Bytes  []byte // bincode(Block)
}

// EncodedBlock returns a block as it is stored, with the errors of [Store.Block].
func (s *Store) EncodedBlock(h types.Height) (EncodedBlock, error) {
	return ofBlock(s, h, func(r kv.Reader) (b EncodedBlock, err error) {
		if b.Header, err = readHeader(r, h); err != nil {
			return b, err
		}
		sizes, err := readSizes(r, h)
		if err != nil {
			return b, err
		}
		b.Count = int(sizes.Transactions)
		size := types.BlockStartBytes + int(sizes.TransactionBytes)
		start := types.EncodeBlockStart(make([]byte, 0, size), b.Header, b.Count)
		joined, count, err := appendRuns(start, r, tableTransactions, h, 0, math.MaxInt, appendItems)
		if err == nil && (count != sizes.Transactions || len(joined) != size) {
			err = fmt.Errorf("%w: block %d has %d transactions in %d bytes, not %d in %d",
				ErrCorrupt, h, count, len(joined), sizes.Transactions, size)
		}
		b.Bytes = joined
		return b, err
	})
}

// Outline is a block with only the number and the IDs of its transactions.
type Outline struct {
	Header types.SignedHeader
	Count  int          // number of transactions
	Size   int          // size of bincode(Block)
	IDs    []types.TxID // nil unless requested
}

// Outline returns the outline of a block, with the errors of [Store.Block]. It decodes transactions only for their IDs.
func (s *Store) Outline(h types.Height, ids bool) (Outline, error) {
	return ofBlock(s, h, func(r kv.Reader) (o Outline, err error) {
		if o.Header, err = readHeader(r, h); err != nil {
			return o, err
		}
		sizes, err := readSizes(r, h)
		o.Count, o.Size = int(sizes.Transactions), types.BlockStartBytes+int(sizes.TransactionBytes)
		if err != nil || !ids {
			return o, err
		}
		o.IDs, err = readIDs(r, h, o.Count)
		return o, err
	})
}

// readIDs computes the IDs of a block's count transactions, a run at a time.
func readIDs(r kv.Reader, h types.Height, count int) ([]types.TxID, error) {
	ids := make([]types.TxID, 0, count)
	var items [][]byte
	lower, upper := tableTransactions.heightBounds(h)
	err := kv.Scan(r, lower, upper, func(_, row []byte) (err error) {
		if items, err = splitItems(items[:0], row); err != nil {
			return err
		}
		for _, item := range items {
			id, err := types.TransactionID(item)
			if err != nil {
				return fmt.Errorf("%w: transaction %d of block %d: %w", ErrCorrupt, len(ids), h, err)
			}
			ids = append(ids, id)
		}
		return nil
	})
	if err == nil && len(ids) != count {
		err = fmt.Errorf("%w: block %d has %d transactions, not %d", ErrCorrupt, h, len(ids), count)
	}
	return ids, err
}

// TransactionCount returns the number of transactions in a block, with the errors of [Store.Block]. It reads a single
// row.
func (s *Store) TransactionCount(h types.Height) (int, error) {
	return ofBlock(s, h, func(r kv.Reader) (int, error) {
		txs, err := newItemReader(r, tableTransactions)
		if err != nil {
			return 0, err
		}
		count, err := txs.count(h)
		return int(count), errors.Join(err, txs.close())
	})
}

// HeightOf returns the height of a stored block, or [ErrNotFound].
func (s *Store) HeightOf(hash types.BlockHash) (types.Height, error) {
	return read(s, func(v *view) (types.Height, error) {
		row, err := v.snapshot.Get(tableHashes.key(hash[:]))
		if err != nil {
			return 0, fmt.Errorf("block %s: %w", hash, notFound(err))
		}
		h, err := decodeHeight(row)
		if err == nil && h > 0 && h < v.oldest { // its row is about to be pruned
			err = fmt.Errorf("block %s: %w", hash, ErrNotFound)
		}
		return h, err
	})
}

// Receipts returns the receipts of a block in the order of its transactions, with the errors of [Store.Block].
func (s *Store) Receipts(h types.Height) ([]types.Receipt, error) {
	return ofBlock(s, h, func(r kv.Reader) ([]types.Receipt, error) {
		return readReceipts(r, h)
	})
}

// Accesses returns the state keys that a block read or wrote, ascending, with the errors of [Store.Block]. For block 0
// they are the writes of the genesis.
func (s *Store) Accesses(h types.Height) ([]types.Access, error) {
	return ofBlock(s, h, func(r kv.Reader) ([]types.Access, error) { return readAccesses(r, h) })
}

// Code returns a contract's code, or [ErrNotFound]. Code is kept when its block is pruned. A stateless store, however,
// only has the codes that its stored blocks created or called.
func (s *Store) Code(hash types.CodeHash) ([]byte, error) {
	return read(s, func(v *view) ([]byte, error) { return v.code(hash) })
}

func (v *view) code(hash types.CodeHash) ([]byte, error) {
	row, err := v.snapshot.Get(tableCodes.key(hash[:]))
	if err != nil {
		return nil, fmt.Errorf("code %s: %w", hash, notFound(err))
	}
	return row, nil
}

// CodeSize returns the length of a contract's code in bytes, or [ErrNotFound]. It does not read the code.
func (s *Store) CodeSize(hash types.CodeHash) (int, error) {
	return read(s, func(v *view) (int, error) { return v.codeSize(hash) })
}

func (v *view) codeSize(hash types.CodeHash) (int, error) {
	row, err := v.snapshot.Get(tableCodeSizes.key(hash[:]))
	if err != nil {
		return 0, fmt.Errorf("size of code %s: %w", hash, notFound(err))
	}
	known, err := decodeCodeSize(row)
	return int(known.size), err
}

// Reasons returns the failure reasons of a block's transactions in order, empty for successful ones, with the errors of
// [Store.Block].
func (s *Store) Reasons(h types.Height) ([]exec.Reason, error) {
	return ofBlock(s, h, func(r kv.Reader) ([]exec.Reason, error) {
		receipts, err := readReceipts(r, h)
		if err != nil {
			return nil, err
		}
		reasons := make([]exec.Reason, len(receipts))
		for i, receipt := range receipts {
			if reasons[i], err = readReason(r, Position{h, uint32(i)}, receipt); err != nil {
				return nil, err
			}
		}
		return reasons, nil
	})
}

// readReason reads the failure reason of a transaction. It is empty for a successful one.
func readReason(r kv.Reader, p Position, receipt types.Receipt) (exec.Reason, error) {
	if receipt.Status == types.StatusSuccess {
		return exec.Success, nil
	}
	row, err := r.Get(tableFailures.at(p.Height, p.Index))
	if err != nil {
		return "", fmt.Errorf("why transaction %d of block %d failed: %w", p.Index, p.Height, missing(err))
	}
	return decodeReason(row)
}

// failureReasons are the reasons that are stored.
var failureReasons = []exec.Reason{
	exec.OutOfGas, exec.Trap, exec.StackOverflow, exec.Reverted, exec.ModuleRefused, exec.NoSuchContract,
	exec.NoSuchFunction, exec.LoadExceeded,
}

// FailureReason reports whether reason is a valid failure reason.
func FailureReason(reason exec.Reason) bool { return slices.Contains(failureReasons, reason) }

func decodeReason(row []byte) (exec.Reason, error) {
	if reason := exec.Reason(row); FailureReason(reason) {
		return reason, nil
	}
	return "", fmt.Errorf("%w: %q is not a reason of failure", ErrCorrupt, row)
}

func readHeader(r kv.Reader, h types.Height) (types.SignedHeader, error) {
	row, err := r.Get(tableHeaders.atHeight(h))
	if err != nil {
		return types.SignedHeader{}, fmt.Errorf("header %d: %w", h, missing(err))
	}
	header, err := types.DecodeSignedHeader(row)
	if err != nil {
		return header, fmt.Errorf("%w: header %d: %w", ErrCorrupt, h, err)
	}
	return header, nil
}

func readTransactions(r kv.Reader, h types.Height) ([]*types.Tx, error) {
	return readRuns(r, tableTransactions, h, itemsDecoder(types.DecodeTx))
}

func readReceipts(r kv.Reader, h types.Height) ([]types.Receipt, error) {
	return readRuns(r, tableReceipts, h, itemsDecoder(types.DecodeReceipt))
}

func readAccesses(r kv.Reader, h types.Height) ([]types.Access, error) {
	return readRuns(r, tableAccesses, h, decodeRunOfAccesses)
}

// notFound converts the error for a row that may be absent.
func notFound(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return ErrNotFound
	}
	return err
}

// missing converts the error for a row that must be present because other rows refer to it.
func missing(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}
