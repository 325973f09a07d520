package client

import (
	"context"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// BlockByNumber is the block that a reference names, nil above the head; full asks for its transactions and not only
// their hashes.
func (c *Client) BlockByNumber(ctx context.Context, block api.BlockRef, full bool) (*api.Block, error) {
	return Invoke(ctx, c, api.GetBlockByNumber, api.GetBlockByNumberParams{Block: block, Full: full})
}

// BlockByHash is the block with a hash, nil when the node has none.
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

// Transaction is a pending or included transaction, nil when it is neither.
func (c *Client) Transaction(ctx context.Context, id types.TxID) (*api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionByHash, api.TransactionParams{Hash: id})
}

// Receipt is the receipt of an included transaction, nil while it is pending or unknown.
func (c *Client) Receipt(ctx context.Context, id types.TxID) (*api.Receipt, error) {
	return Invoke(ctx, c, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
}

// TransactionStatus says where a transaction is.
func (c *Client) TransactionStatus(ctx context.Context, id types.TxID) (api.TransactionStatus, error) {
	return Invoke(ctx, c, api.GetTransactionStatus, api.TransactionParams{Hash: id})
}

// TransactionsOf lists the included transactions in which an account has a part, newest first, at most limit (1 to
// [api.MaxTransactionsPage]). The next page is before the cursor of the last one seen; "" begins with the newest.
func (c *Client) TransactionsOf(ctx context.Context, account types.Account, limit uint64, before string) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionsByAddress, api.GetTransactionsByAddressParams{
		Account: account.String(), Page: api.TransactionPage{Limit: &limit, Before: before},
	})
}

// RecentTransactions lists the newest included transactions of all accounts, newest first, at most limit (1 to
// [api.MaxRecentTransactions]).
func (c *Client) RecentTransactions(ctx context.Context, limit uint64) ([]api.Transaction, error) {
	return Invoke(ctx, c, api.ListRecentTransactions, api.ListRecentTransactionsParams{Limit: &limit})
}
