package client

import (
	"context"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// BlockNumber is the height of the latest block.
func (c *Client) BlockNumber(ctx context.Context) (types.Height, error) {
	height, err := Invoke(ctx, c, api.BlockNumber, api.NoParams{})
	return types.Height(height), err
}

// ChainID is the chain id that transactions are signed for. The node is asked once.
func (c *Client) ChainID(ctx context.Context) (uint64, error) {
	if id := c.chainID.Load(); id != nil {
		return *id, nil
	}
	answer, err := Invoke(ctx, c, api.ChainID, api.NoParams{})
	if err != nil {
		return 0, err
	}
	id := uint64(answer)
	c.chainID.Store(&id)
	return id, nil
}

// Balance is an account's balance after the block at, in smallest units; 0 for an account that was never touched.
func (c *Client) Balance(ctx context.Context, account types.Account, at api.BlockRef) (types.Amount, error) {
	params := api.GetBalanceParams{Account: account.String(), Block: at}
	if at != api.Latest() {
		balance, err := Invoke(ctx, c, api.GetBalance, params)
		return types.Amount(balance), err
	}
	balance, err := invokeLatest(ctx, c, api.GetBalance, params)
	return types.Amount(balance), err
}

// Nonce is an account's nonce at a point. api.NonceRef{} is after the latest block. api.Pending() counts the executable
// transactions in the mempool too, and is the nonce for the next transaction.
func (c *Client) Nonce(ctx context.Context, account types.Account, at api.NonceRef) (uint64, error) {
	params := api.GetTransactionCountParams{Account: account.String(), Block: at}
	if at != (api.NonceRef{}) && at != api.Pending() {
		nonce, err := Invoke(ctx, c, api.GetTransactionCount, params)
		return uint64(nonce), err
	}
	nonce, err := invokeLatest(ctx, c, api.GetTransactionCount, params)
	return uint64(nonce), err
}

// ResolveAddress is the account of an address of any network, as the node reads it; types.ParseAddress does the same
// here.
func (c *Client) ResolveAddress(ctx context.Context, address string) (types.Account, error) {
	resolved, err := Invoke(ctx, c, api.ResolveAddress, api.ResolveAddressParams{Address: address})
	return resolved.PublicKey, err
}

// NodeInfo says what the node is, and which chain it follows.
func (c *Client) NodeInfo(ctx context.Context) (api.NodeInfo, error) {
	return Invoke(ctx, c, api.GetNodeInfo, api.NoParams{})
}

// SyncStatus says how far the node is behind the primary.
func (c *Client) SyncStatus(ctx context.Context) (api.SyncStatus, error) {
	return Invoke(ctx, c, api.GetSyncStatus, api.NoParams{})
}

// Genesis is the chain's genesis.
func (c *Client) Genesis(ctx context.Context) (api.GenesisInfo, error) {
	return Invoke(ctx, c, api.GetGenesis, api.NoParams{})
}

// Parameters are the chain's parameters after the latest block, with their Merkle proof.
func (c *Client) Parameters(ctx context.Context) (api.ParametersInfo, error) {
	return Invoke(ctx, c, api.GetParameters, api.ParametersParams{})
}

// AccountProof is a Merkle proof of an account's record, or of its absence, after the block at, which must be within
// the node's window of proofs.
func (c *Client) AccountProof(ctx context.Context, account types.Account, at api.BlockRef) (api.AccountProof, error) {
	return Invoke(ctx, c, api.GetAccountProof, api.AccountProofParams{Account: account.String(), Block: at})
}

// StateProof is a Merkle proof of what any state key has, or of its absence, after the block at, which must be within
// the node's window of proofs. The keys are in docs/protocol.md, "State".
func (c *Client) StateProof(ctx context.Context, key []byte, at api.BlockRef) (api.AccountProof, error) {
	return Invoke(ctx, c, api.GetStateProof, api.StateProofParams{Key: key, Block: at})
}

// GasPrice says what to pay per gas now.
func (c *Client) GasPrice(ctx context.Context) (api.GasPriceInfo, error) {
	return Invoke(ctx, c, api.GasPrice, api.NoParams{})
}

// FeeMarket is the base fee of the next block and the bounds of its rule.
func (c *Client) FeeMarket(ctx context.Context) (api.FeeMarket, error) {
	return Invoke(ctx, c, api.GetFeeMarket, api.NoParams{})
}

// FeeHistory is what the latest blocks, 1 to [api.MaxFeeBlocks], charged, with the priority fees at percentiles,
// ascending from 0 to 100; without any the node's own choice.
func (c *Client) FeeHistory(ctx context.Context, blocks uint64, percentiles ...float64) (api.FeeHistory, error) {
	return Invoke(ctx, c, api.GetFeeHistory, api.GetFeeHistoryParams{Blocks: &blocks, Percentiles: percentiles})
}

// PendingTransactions lists what is in the mempool of the node: of one sender ascending by nonce, else the newest
// first.
func (c *Client) PendingTransactions(ctx context.Context, filter api.PendingFilter) ([]api.PendingTransaction, error) {
	return Invoke(ctx, c, api.GetPendingTransactions, api.PendingTransactionsParams{Filter: filter})
}

// TransactionByNonce is the included transaction in which an account used a nonce; nil where none that the node keeps
// did.
func (c *Client) TransactionByNonce(
	ctx context.Context, account types.Account, nonce uint64,
) (*api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionByNonce, api.TransactionByNonceParams{
		Account: account.String(), Nonce: api.LooseQuantity(nonce),
	})
}

// MempoolStats says how full the mempool is.
func (c *Client) MempoolStats(ctx context.Context) (api.MempoolStats, error) {
	return Invoke(ctx, c, api.GetMempoolStats, api.NoParams{})
}
