package rpc

import (
	"context"
	"errors"
	"fmt"
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
			err = heavy(ctx, count/hashesPerItem)
		default:
			err = grown(ctx, count*transactionBytes)
		}
		if err != nil {
			return nil, absentBlock(err)
		}
	}
	outline, err := r.chain.Outline(height, shown != none)
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
	executed, err := r.executed(height)
	if err != nil {
		return nil, err
	}
	reasons, err := r.chain.Reasons(height)
	if err == nil && len(reasons) != len(executed.receipts) {
		err = fmt.Errorf("block %d has %d receipts and %d reasons", height, len(executed.receipts), len(reasons))
	}
	if err != nil {
		return nil, err
	}
	block.Transactions = api.BlockTransactions{Full: make([]api.Transaction, len(executed.receipts))}
	at := place{header: executed.block.Header, hash: block.Hash}
	for i, receipt := range executed.receipts {
		if i%heavyItems == 0 {
			if err := admission.Yield(ctx); err != nil {
				return nil, err
			}
		}
		at.index = uint32(i)
		tx := executed.block.Transactions[i]
		block.Transactions.Full[i] = included(&foundTransaction{outline.IDs[i], tx, receipt, reasons[i], at})
	}
	return &block, nil
}

// hashesPerItem is how many transaction hashes cost as much as one transaction.
const hashesPerItem = 16

// absentBlock returns nil for the error of a missing block, and other errors unchanged.
func absentBlock(err error) error {
	if errors.Is(err, chain.ErrNotFound) {
		return nil
	}
	return err
}

// executedBlock is a block with its receipts.
type executedBlock struct {
	block    types.Block
	receipts []types.Receipt
}

func (r *blockReader) executed(height types.Height) (e executedBlock, err error) {
	if e.block, err = r.chain.Block(height); err != nil {
		return e, err
	}
	e.receipts, err = r.receipts(height, len(e.block.Transactions))
	return e, err
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
		return nil, jsonrpc.InvalidParam("range", "a follower's name has at most 64 bytes", "reason", "out_of_range",
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
		item, err := h.blockItem(ctx, height, p.Range)
		if errors.Is(err, chain.ErrNotFound) { // a development chain was reverted meanwhile
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		size += blockItemBytes + 2*len(item.Raw)
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

// blockItem returns the parts of a block that a range asks for.
func (h *blockHandlers) blockItem(
	ctx context.Context, height types.Height, wanted api.BlockRange,
) (api.BlockItem, error) {
	if wanted.RawOnly && !wanted.IncludeTransactions {
		header, err := h.chain.Header(height)
		return api.BlockItem{Raw: header.Encode()}, err
	}
	if wanted.IncludeTransactions || !wanted.HeadersOnly {
		count, err := h.chain.TransactionCount(height)
		if err == nil {
			err = heavy(ctx, count/hashesPerItem)
		}
		if err != nil {
			return api.BlockItem{}, err
		}
	}
	var item api.BlockItem
	if wanted.IncludeTransactions {
		encoded, err := h.chain.EncodedBlock(height)
		if item.Raw = encoded.Bytes; err != nil || wanted.RawOnly {
			return item, err
		}
	}
	outline, err := h.chain.Outline(height, !wanted.HeadersOnly)
	if err != nil {
		return api.BlockItem{}, err
	}
	if !wanted.IncludeTransactions {
		item.Raw = outline.Header.Encode()
	}
	item.Block = new(newBlock(outline))
	return item, nil
}
