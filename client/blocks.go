package client

import (
	"context"
	"fmt"
	"net/url"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// BlockByNumber is the block that a reference names, nil above the head; full asks for its transactions and not only
// their hashes.
func (c *Client) BlockByNumber(ctx context.Context, block api.BlockRef, full bool) (*api.Block, error) {
	return Invoke(ctx, c, api.GetBlockByNumber, api.GetBlockByNumberParams{Block: block, Full: full})
}

// BlockByHash is the block with a hash, nil where there is none. A node that does not have all blocks, and not this one,
// fails with [api.ErrPruned]: it cannot know.
func (c *Client) BlockByHash(ctx context.Context, hash types.BlockHash, full bool) (*api.Block, error) {
	return Invoke(ctx, c, api.GetBlockByHash, api.GetBlockByHashParams{Hash: hash, Full: full})
}

// Blocks are the blocks from one height to another, both included, ascending. The node may answer with fewer, from the
// first on, and does with none when that is above its head.
func (c *Client) Blocks(ctx context.Context, from, to types.Height, transactions bool) ([]api.BlockItem, error) {
	return Invoke(ctx, c, api.GetBlocks, api.GetBlocksParams{
		Range: api.BlockRange{From: from, To: to, IncludeTransactions: transactions},
	})
}

// maxBlocksFile is how long the answer of [Client.EncodedBlocks] may be: blocks of [api.MaxBlocksBytes], or one that is
// larger.
const maxBlocksFile = max(api.MaxBlocksBytes, maxEncodedBlock) + 8 + 8*api.MaxBlocks

const maxEncodedBlock = types.MaxBlockBytes + types.SignedHeaderBytes + 8

// EncodedBlocks are bincode(Block) of the blocks from one height to another, both included, ascending: like
// [Client.Blocks], but downloaded as bytes. follower, unless it is empty, names a node that follows this one, in at
// most [api.MaxFollowerBytes]. The node answers with at most [api.MaxBlocks]. Errors are [ErrBadAnswer], [ErrTooLarge]
// and those of [Client.Download].
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
		blocks[i] = d.Bytes(maxEncodedBlock)
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: blocks: %w", ErrBadAnswer, err)
	}
	return blocks, nil
}

// Transaction is a pending or included transaction, nil when it is neither. [api.ErrPruned] is as for
// [Client.BlockByHash].
func (c *Client) Transaction(ctx context.Context, id types.TxID) (*api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionByHash, api.TransactionParams{Hash: id})
}

// Receipt is the receipt of an included transaction, nil while it is pending, and where it is in no block since genesis.
// [api.ErrPruned] is as for [Client.BlockByHash].
func (c *Client) Receipt(ctx context.Context, id types.TxID) (*api.Receipt, error) {
	return Invoke(ctx, c, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
}

// TransactionStatus says where a transaction is. [api.ErrPruned] is as for [Client.BlockByHash].
func (c *Client) TransactionStatus(ctx context.Context, id types.TxID) (api.TransactionStatus, error) {
	return Invoke(ctx, c, api.GetTransactionStatus, api.TransactionParams{Hash: id})
}

// TransactionsOf lists the included transactions in which an account has a part, newest first, at most limit (1 to
// [api.MaxTransactionsPage]). The next page is before the cursor of the last one seen; "" begins with the newest.
func (c *Client) TransactionsOf(
	ctx context.Context, account types.Account, limit uint64, before string,
) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionsByAddress, api.GetTransactionsByAddressParams{
		Account: account.String(), Page: api.TransactionPage{Limit: &limit, Before: before},
	})
}

// RecentTransactions lists the newest included transactions of all accounts, newest first, at most limit (1 to
// [api.MaxRecentTransactions]).
func (c *Client) RecentTransactions(ctx context.Context, limit uint64) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.ListRecentTransactions, api.ListRecentTransactionsParams{Limit: &limit})
}

// BlockTransactions are the transactions of a block in their order from an index on, at most limit (1 to
// [api.MaxTransactionsPage]); none behind the last and above the head.
func (c *Client) BlockTransactions(
	ctx context.Context, block api.BlockRef, from, limit uint64,
) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.GetBlockTransactions, api.GetBlockTransactionsParams{
		Block: block, Page: api.BlockTransactionsPage{From: from, Limit: &limit},
	})
}

// BlockReceipts are the receipts of a block in the order of its transactions, from an index on, at most limit (1 to
// [api.MaxReceiptsPage]) and fewer if they are large; none behind the last and above the head.
func (c *Client) BlockReceipts(ctx context.Context, block api.BlockRef, from, limit uint64) ([]api.Receipt, error) {
	return Invoke(ctx, c, api.GetBlockReceipts, api.GetBlockReceiptsParams{
		Block: block, Page: api.BlockReceiptsPage{From: from, Limit: &limit},
	})
}
