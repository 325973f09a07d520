package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// BlockByNumber returns the block that a reference names, or nil above the head. With full it includes the
// transactions, not only their hashes. If they are too many for one answer, it reads them in pages.
func (c *Client) BlockByNumber(ctx context.Context, block api.BlockRef, full bool) (*api.Block, error) {
	return c.block(ctx, full, func(full bool) (*api.Block, error) {
		return Invoke(ctx, c, api.GetBlockByNumber, api.GetBlockByNumberParams{Block: block, Full: full})
	})
}

// block asks for a block, and for the pages of its transactions if they are too many for one answer.
func (c *Client) block(ctx context.Context, full bool, ask func(full bool) (*api.Block, error)) (*api.Block, error) {
	block, err := ask(full)
	if !full || !errors.Is(err, api.ErrResponseSize) {
		return block, err
	}
	if block, err = ask(false); block == nil || err != nil {
		return nil, err
	}
	hashes := block.Transactions.Hashes
	txs := make([]api.Transaction, 0, len(hashes))
	for len(txs) < len(hashes) {
		page, err := c.BlockTransactions(ctx, api.AtHeight(block.Height), uint64(len(txs)), api.MaxTransactionsPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			if len(txs) == len(hashes) || page[i].Hash != hashes[len(txs)] {
				return nil, fmt.Errorf("%w: the transactions do not match block %d", ErrBadAnswer, block.Height)
			}
			txs = append(txs, page[i])
		}
		if len(page) == 0 {
			return nil, fmt.Errorf("%w: block %d has fewer transactions than hashes", ErrBadAnswer, block.Height)
		}
	}
	block.Transactions = api.BlockTransactions{Full: txs}
	return block, nil
}

// BlockByHash returns the block with a hash, or nil if there is none. A node without full history cannot know that a
// block it lacks does not exist: it fails with [api.ErrPruned]. full means the same as for [Client.BlockByNumber].
func (c *Client) BlockByHash(ctx context.Context, hash types.BlockHash, full bool) (*api.Block, error) {
	return c.block(ctx, full, func(full bool) (*api.Block, error) {
		return Invoke(ctx, c, api.GetBlockByHash, api.GetBlockByHashParams{Hash: hash, Full: full})
	})
}

// Blocks returns the blocks of a range of heights, both ends included, ascending. The node may return only the first
// blocks of the range, and returns none if from is above its head.
func (c *Client) Blocks(ctx context.Context, from, to types.Height, transactions bool) ([]api.BlockItem, error) {
	return Invoke(ctx, c, api.GetBlocks, api.GetBlocksParams{
		Range: api.BlockRange{From: from, To: to, IncludeTransactions: transactions},
	})
}

// maxBlocksFile bounds the response of [Client.EncodedBlocks]: [api.MaxBlocksBytes] of blocks, or one larger block.
const maxBlocksFile = max(api.MaxBlocksBytes, types.MaxEncodedBlockBytes) + 8 + 8*api.MaxBlocks

// EncodedBlocks returns the bincode encodings of the blocks in a range of heights, both ends included, ascending. It is
// like [Client.Blocks], but downloads bytes, at most [api.MaxBlocks] blocks. A non-empty follower of at most
// [api.MaxFollowerBytes] names the node that follows this one. It fails with [ErrBadAnswer], [ErrTooLarge] or an error
// of [Client.Download].
func (c *Client) EncodedBlocks(ctx context.Context, from, to types.Height, follower string) ([][]byte, error) {
	path := fmt.Sprintf("%s%d-%d", api.BlocksPath, from, to)
	if follower != "" {
		path += "?follower=" + url.QueryEscape(follower)
	}
	answer, err := c.file(ctx, path, maxBlocksFile)
	if err != nil {
		return nil, err
	}
	return decodeBlocks(answer)
}

func decodeBlocks(answer []byte) ([][]byte, error) {
	d := codec.NewDecoder(answer)
	blocks := make([][]byte, d.Length(api.MaxBlocks, 8))
	for i := range blocks {
		blocks[i] = d.Bytes(types.MaxEncodedBlockBytes)
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: blocks: %w", ErrBadAnswer, err)
	}
	return blocks, nil
}

// Transaction returns a pending or included transaction, or nil if there is none. It fails with [api.ErrPruned] as
// [Client.BlockByHash] does.
func (c *Client) Transaction(ctx context.Context, id types.TxID) (*api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionByHash, api.TransactionParams{Hash: id})
}

// Receipt returns the receipt of an included transaction, or nil if the transaction is pending or in no block since
// genesis. It fails with [api.ErrPruned] as [Client.BlockByHash] does.
func (c *Client) Receipt(ctx context.Context, id types.TxID) (*api.Receipt, error) {
	return Invoke(ctx, c, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
}

// TransactionStatus returns the status of a transaction. It fails with [api.ErrPruned] as [Client.BlockByHash] does.
func (c *Client) TransactionStatus(ctx context.Context, id types.TxID) (api.TransactionStatus, error) {
	return Invoke(ctx, c, api.GetTransactionStatus, api.TransactionParams{Hash: id})
}

// TransactionsOf lists the included transactions that involve an account, newest first, at most limit (1 to
// [api.MaxTransactionsPage]). To get the next page, pass the cursor of the last transaction; "" begins with the
// newest.
func (c *Client) TransactionsOf(
	ctx context.Context, account types.Account, limit uint64, cursor string,
) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionsByAddress, api.GetTransactionsByAddressParams{
		Account: account.String(), Page: api.TransactionPage{Limit: &limit, Cursor: cursor},
	})
}

// RecentTransactions lists the newest included transactions of all accounts, newest first, at most limit (1 to
// [api.MaxRecentTransactions]).
func (c *Client) RecentTransactions(ctx context.Context, limit uint64) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.ListRecentTransactions, api.ListRecentTransactionsParams{Limit: &limit})
}

// BlockTransactions returns the transactions of a block in order, from an index on, at most limit (1 to
// [api.MaxTransactionsPage]). There are none past the last or above the head.
func (c *Client) BlockTransactions(
	ctx context.Context, block api.BlockRef, from, limit uint64,
) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.GetBlockTransactions, api.GetBlockTransactionsParams{
		Block: block, Page: api.BlockTransactionsPage{From: from, Limit: &limit},
	})
}

// BlockReceipts returns the receipts of a block in the order of its transactions, from an index on, at most limit (1 to
// [api.MaxReceiptsPage]) and fewer if they are large. There are none past the last or above the head.
func (c *Client) BlockReceipts(ctx context.Context, block api.BlockRef, from, limit uint64) ([]api.Receipt, error) {
	return Invoke(ctx, c, api.GetBlockReceipts, api.GetBlockReceiptsParams{
		Block: block, Page: api.BlockReceiptsPage{From: from, Limit: &limit},
	})
}
