package rpc

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// blockReader reads blocks and renders them for clients.
type blockReader struct{ chain blockStore }

type blockHandlers struct {
	*blockReader
	files     *files
	followers *followers // nodes that ask for ranges of blocks
}

func (h *blockHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetBlockByNumber, h.getBlockByNumber),
		bind(e, api.GetBlockByHash, h.getBlockByHash),
		bind(e, api.GetBlocks, h.getBlocks),
	}
}

func (h *blockHandlers) getBlockByNumber(ctx context.Context, p api.GetBlockByNumberParams) (*api.Block, error) {
	return h.block(ctx, p.Block.Resolve(h.chain.Head().Header.Height), contentsOf(p.Full, p.HeadersOnly))
}

func (h *blockHandlers) getBlockByHash(ctx context.Context, p api.GetBlockByHashParams) (*api.Block, error) {
	height, err := h.chain.HeightOf(p.Hash)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, unknown(h.chain)
	}
	if err != nil {
		return nil, err
	}
	return h.block(ctx, height, contentsOf(p.Full, p.HeadersOnly))
}

// contents selects how a block's transactions are rendered.
type contents int

const (
	hashes contents = iota
	whole
	none
)

func contentsOf(full, headersOnly bool) contents {
	switch {
	case headersOnly:
		return none
	case full:
		return whole
	}
	return hashes
}

// block returns the rendered block at a height; nil if there is none.
func (r *blockReader) block(ctx context.Context, height types.Height, shown contents) (*api.Block, error) {
	if shown != none {
		count, err := r.chain.TransactionCount(height)
		switch {
		case err != nil:
		case shown == hashes:
			err = manyHashes(ctx, count)
		default:
			err = heavy(ctx, count)
		}
		if err != nil {
			return nil, absentBlock(err)
		}
	}
	outline, err := r.chain.Outline(height, shown == hashes)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	block := newBlock(outline)
	if shown != whole {
		return &block, nil
	}
	if 1024*outline.Count+3*outline.Size > api.MaxFullBlockBytes {
		return nil, withMessage(api.ErrResponseSize,
			"the block has too many transactions for one response: svc_getBlockTransactions has them in pages")
	}
	at := place{header: outline.Header.Header, hash: block.Hash}
	block.Transactions = api.BlockTransactions{Each: r.each(ctx, at, outline.Count)}
	return &block, nil
}

// each reads the transactions of a block of count, a run at a time: no more is held while the client reads the answer.
func (r *blockReader) each(ctx context.Context, block place, count int) iter.Seq2[*api.Transaction, error] {
	return func(yield func(*api.Transaction, error) bool) {
		run := make([]foundTransaction, 0, heavyItems)
		for next := uint32(0); int(next) < count; next += uint32(len(run)) {
			var err error
			if run, err = r.run(ctx, run[:0], block, next); err != nil {
				yield(nil, err)
				return
			}
			for i := range run {
				if !yield(new(included(&run[i])), nil) {
					return
				}
			}
		}
	}
}

// run appends to run some of the transactions of a block from an index on, at least one.
func (r *blockReader) run(
	ctx context.Context, run []foundTransaction, block place, from uint32,
) ([]foundTransaction, error) {
	if err := errors.Join(ctx.Err(), admission.Yield(ctx)); err != nil {
		return nil, err
	}
	return r.readRun(run, block, from)
}

// readRun is run within the present slice of the turn.
func (r *blockReader) readRun(run []foundTransaction, block place, from uint32) ([]foundTransaction, error) {
	size := 0
	err := r.chain.TransactionsFrom(chain.Position{Height: block.header.Height, Index: from}, func(i chain.Included) bool {
		at := block
		at.index = from + uint32(len(run))
		run = append(run, foundTransaction{i.ID, i.Transaction, i.Receipt, i.Reason, at})
		size += sizeOf(&i.Transaction)
		return len(run) < heavyItems && size < largeBytes
	})
	if err != nil {
		return nil, err
	}
	// On a development chain that was reverted meanwhile another block may be there, or none.
	header, err := r.chain.Header(block.header.Height)
	if err == nil && (len(run) == 0 || header.Header.Hash() != block.hash) {
		err = chain.ErrNotFound
	}
	return run, err
}

// hashesPerItem is how many transaction hashes cost as much as one transaction.
const hashesPerItem = 8

// manyHashes turns a call that reads hashes into long work if they are many, and makes room for them: they are held until
// the client has read them.
func manyHashes(ctx context.Context, count int) error {
	if err := heavy(ctx, count/hashesPerItem); err != nil || count <= hashesPerItem*heavyItems {
		return err
	}
	if errors.Is(counterOf(ctx)(count*len(types.TxID{})+pieceBytes), errNoMemory) {
		return api.ErrBusy
	}
	return nil
}

// absentBlock returns nil for the error of a missing block, and other errors unchanged.
func absentBlock(err error) error {
	if errors.Is(err, chain.ErrNotFound) {
		return nil
	}
	return err
}

// receipts returns a block's receipts and checks that their number is transactions.
func (r *blockReader) receipts(height types.Height, transactions int) ([]types.Receipt, error) {
	receipts, err := r.chain.Receipts(height)
	if err == nil && len(receipts) != transactions {
		err = fmt.Errorf("block %d has %d transactions and %d receipts", height, transactions, len(receipts))
	}
	return receipts, err
}

// newBlock renders a block with its transactions as hashes, if the outline has them.
func newBlock(outline chain.Outline) api.Block {
	header := outline.Header.Header
	hashes := outline.IDs
	if hashes == nil {
		hashes = []types.TxID{}
	}
	return api.Block{
		Height:           header.Height,
		Hash:             header.Hash(),
		Timestamp:        seconds(header.Timestamp),
		TxCount:          uint64(outline.Count),
		StateRoot:        header.StateRoot,
		Transactions:     api.BlockTransactions{Hashes: hashes},
		ParentHash:       header.Parent,
		TransactionsRoot: header.TransactionsRoot,
		ReceiptsRoot:     header.ReceiptsRoot,
		GasUsed:          api.Quantity(header.GasUsed),
		GasLimit:         api.Quantity(header.GasLimit),
		BaseFee:          api.Quantity(header.BaseFee),
		Producer:         header.Producer,
		Seal:             api.Seal{Type: api.SealSignature, Signature: outline.Header.Seal.Signature[:]},
		Version:          header.Version,
		TimestampMs:      header.Timestamp,
		Size:             uint64(outline.Size),
	}
}

// seconds converts a time in milliseconds.
func seconds(ms uint64) uint64 { return ms / 1000 }

// Bounds on the JSON of a block item, in bytes: for its fixed fields, and for each transaction hash.
const (
	blockItemBytes = 2048
	hashItemBytes  = len(`"0x",`) + 64
)

func (h *blockHandlers) getBlocks(ctx context.Context, p api.GetBlocksParams) (api.BlockItems, error) {
	if len(p.Range.Follower) > api.MaxFollowerBytes {
		return nil, jsonrpc.InvalidParam("range", "a follower's name must have at most 64 bytes", "reason", "out_of_range",
			"member", "follower", "max", api.MaxFollowerBytes)
	}
	if p.Range.From > p.Range.To {
		return nil, endsFirst("range", "from_height", p.Range.To)
	}
	if p.Range.Follower != "" {
		h.followers.saw(request.Of(ctx).Source, p.Range.Follower, time.Now())
	}
	items, size := api.BlockItems{}, 0
	last := min(p.Range.To, h.chain.Head().Header.Height)
	for height := p.Range.From; height <= last && len(items) < api.MaxBlocks; height++ {
		if err := grown(ctx, size); err != nil {
			return nil, err
		}
		item, raw, err := h.blockItem(ctx, height, p.Range)
		if errors.Is(err, chain.ErrNotFound) { // a development chain was reverted meanwhile
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		size += blockItemBytes + 2*raw
		if item.Block != nil {
			size += hashItemBytes * len(item.Block.Transactions.Hashes)
		}
		if size > api.MaxBlocksBytes && len(items) > 0 {
			break
		}
		items = append(items, item)
	}
	return items, nil
}

// blockItem returns the parts of a block that a range asks for, and the length of its raw bytes.
func (h *blockHandlers) blockItem(
	ctx context.Context, height types.Height, wanted api.BlockRange,
) (item api.BlockItem, raw int, err error) {
	if wanted.RawOnly && !wanted.IncludeTransactions {
		header, err := h.chain.Header(height)
		return api.BlockItem{Raw: header.Encode()}, types.SignedHeaderBytes, err
	}
	if wanted.IncludeTransactions || !wanted.HeadersOnly {
		count, err := h.chain.TransactionCount(height)
		if err == nil {
			err = manyHashes(ctx, count)
		}
		if err != nil {
			return item, 0, err
		}
	}
	if wanted.IncludeTransactions {
		block, err := h.chain.MeasuredBlock(height)
		if err != nil {
			return item, 0, err
		}
		item.Raw, item.Rest, err = h.raw(ctx, block)
		raw = types.BlockStartBytes + int(block.TransactionBytes)
		if err != nil || wanted.RawOnly {
			return item, raw, err
		}
	}
	outline, err := h.chain.Outline(height, !wanted.HeadersOnly)
	if err != nil {
		return item, 0, err
	}
	if !wanted.IncludeTransactions {
		item.Raw, raw = outline.Header.Encode(), types.SignedHeaderBytes
	}
	item.Block = new(newBlock(outline))
	return item, raw, nil
}

// raw returns the bytes of a block, or of a large one the beginning and the rest, which is read as it is sent.
func (h *blockHandlers) raw(
	ctx context.Context, block chain.MeasuredBlock,
) (raw api.Data, rest iter.Seq2[[]byte, error], err error) {
	if block.TransactionBytes <= largeBytes {
		encoded, err := h.chain.EncodedBlock(block.Header.Header.Height)
		return encoded.Bytes, nil, err
	}
	start := types.EncodeBlockStart(nil, block.Header, int(block.Transactions))
	return start, func(yield func([]byte, error) bool) {
		piece := make([]byte, 0, pieceRoom)
		for next, left := uint32(0), int(block.TransactionBytes); left > 0; {
			err := errors.Join(ctx.Err(), admission.Yield(ctx))
			if err == nil {
				piece, next, err = h.chain.TransactionPiece(piece[:0], block.Header, next, pieceBytes)
			}
			if left -= len(piece); err == nil && (len(piece) == 0 || left < 0) {
				err = fmt.Errorf("%w: block %d does not have its recorded length", chain.ErrCorrupt, block.Header.Header.Height)
			}
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}, nil
}
