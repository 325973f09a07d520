package rpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

func (s *Server) getBlockByNumber(_ context.Context, p api.GetBlockByNumberParams) (*api.Block, error) {
	return s.block(p.Block.Resolve(s.chain.Head().Header.Height), p.Full)
}

func (s *Server) getBlockByHash(_ context.Context, p api.GetBlockByHashParams) (*api.Block, error) {
	height, err := s.chain.HeightOf(p.Hash)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.block(height, p.Full)
}

// block is the block of a height as a client sees it; nil where there is none.
func (s *Server) block(height types.Height, full bool) (*api.Block, error) {
	executed, err := s.executed(height)
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	block := newBlock(executed, len(executed.block.Encode()))
	if full {
		block.Transactions = api.BlockTransactions{Full: make([]api.Transaction, len(executed.receipts))}
		reasons, err := s.chain.Reasons(height)
		if err == nil && len(reasons) != len(executed.receipts) {
			err = fmt.Errorf("block %d has %d receipts and %d reasons", height, len(executed.receipts), len(reasons))
		}
		if err != nil {
			return nil, err
		}
		for i, receipt := range executed.receipts {
			tx := &executed.block.Transactions[i]
			block.Transactions.Full[i] = included(tx, receipt, reasons[i], place{executed.block.Header, block.Hash, uint32(i)})
		}
	}
	return &block, nil
}

// executedBlock is a block with its receipts.
type executedBlock struct {
	block    types.Block
	receipts []types.Receipt
}

func (s *Server) executed(height types.Height) (e executedBlock, err error) {
	if e.block, err = s.chain.Block(height); err != nil {
		return e, err
	}
	if e.receipts, err = s.chain.Receipts(height); err != nil {
		return e, err
	}
	if len(e.receipts) != len(e.block.Transactions) {
		return e, fmt.Errorf("block %d has %d transactions and %d receipts", height, len(e.block.Transactions), len(e.receipts))
	}
	return e, nil
}

// newBlock renders a block with its transactions as hashes; size is that of its encoding.
func newBlock(e executedBlock, size int) api.Block {
	header := e.block.Header
	hashes := make([]types.TxID, len(e.receipts))
	for i := range e.receipts {
		hashes[i] = e.receipts[i].Transaction
	}
	return api.Block{
		Height: header.Height, Hash: header.Hash(), Timestamp: header.Timestamp, TxCount: uint64(len(hashes)),
		StateRoot: header.StateRoot, Transactions: api.BlockTransactions{Hashes: hashes},
		ParentHash: header.Parent, TransactionsRoot: header.TransactionsRoot, ReceiptsRoot: header.ReceiptsRoot,
		GasUsed: api.Quantity(header.GasUsed), GasLimit: api.Quantity(header.GasLimit), BaseFee: api.Quantity(header.BaseFee),
		Producer: header.Producer, Signature: e.block.Signature[:], Size: uint64(size),
	}
}

// The JSON of a block item, in bytes: that of its fixed fields at most, and a transaction's hash.
const (
	blockItemBytes = 2048
	hashItemBytes  = len(`"0x",`) + 64
)

func (s *Server) getBlocks(ctx context.Context, p api.GetBlocksParams) ([]api.BlockItem, error) {
	items, size := []api.BlockItem{}, 0
	last := min(p.Range.To, s.chain.Head().Header.Height)
	for height := p.Range.From; height <= last && len(items) < api.MaxBlocks; height++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		executed, err := s.executed(height)
		if errors.Is(err, chain.ErrNotFound) { // a development chain went back meanwhile
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		encoded := executed.block.Encode()
		item := api.BlockItem{Block: newBlock(executed, len(encoded)), Raw: encoded}
		if !p.Range.IncludeTransactions {
			item.Raw = executed.block.Signed().Encode()
		}
		size += blockItemBytes + 2*len(item.Raw) + hashItemBytes*len(executed.receipts)
		if size > api.MaxBlocksBytes && len(items) > 0 {
			break
		}
		items = append(items, item)
	}
	return items, nil
}
