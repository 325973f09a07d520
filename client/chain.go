package client

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// BlockNumber returns the height of the latest block.
func (c *Client) BlockNumber(ctx context.Context) (types.Height, error) {
	height, err := Invoke(ctx, c, api.BlockNumber, api.NoParams{})
	return types.Height(height), err
}

// ChainID returns the chain ID that transactions are signed for. It asks the node once and caches the result.
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

// Balance returns an account's balance after the block at, in smallest units; 0 for an account that was never touched.
func (c *Client) Balance(ctx context.Context, account types.Account, at api.BlockRef) (types.Amount, error) {
	params := api.GetBalanceParams{Account: account.String(), Block: at}
	if at != api.Latest() {
		balance, err := Invoke(ctx, c, api.GetBalance, params)
		return types.Amount(balance), err
	}
	balance, err := invokeLatest(ctx, c, api.GetBalance, params)
	return types.Amount(balance), err
}

// Account returns an account after the block at: balance, nonce, and who may sign for it.
func (c *Client) Account(ctx context.Context, account types.Account, at api.BlockRef) (api.Account, error) {
	params := api.GetAccountParams{Account: account.String(), Block: at}
	if at != api.Latest() {
		return Invoke(ctx, c, api.GetAccount, params)
	}
	return invokeLatest(ctx, c, api.GetAccount, params)
}

// Party returns an account with its current authority, for building a transaction whose sender or payer signs
// elsewhere. If the authority is a policy that no transaction has shown yet, the node does not know it, and Party
// returns a [KeyAccount].
func (c *Client) Party(ctx context.Context, account types.Account) (Party, error) {
	found, err := c.Account(ctx, account, api.Latest())
	if err != nil {
		return nil, err
	}
	policy := found.Policy
	if r := found.Recovery; r != nil && r.From <= milliseconds(time.Now()) {
		policy = r.Policy // in force with the next block
	}
	if policy == nil {
		return KeyAccount(account), nil
	}
	return PolicyAccount{ID: account, Policy: *policy}, nil
}

// VerifyMessage reports whether an account signed a message: whether the witness claims the authority that is in force
// for the account after the latest block, and holds. The node provides the authority; the rest is verified here.
func (c *Client) VerifyMessage(ctx context.Context, network types.Network, m Message, w types.Witness) (bool, error) {
	if !types.VerifyMessage(network, m.ChainID, m.Contract, m.Account, m.Bytes, w) {
		return false, nil
	}
	account, err := c.Account(ctx, m.Account, api.Latest())
	return err == nil && w.Claim(m.Account) == account.Authority, err
}

// Nonce returns an account's nonce at a point. api.NonceRef{} means after the latest block. api.Pending() also counts
// the executable transactions in the mempool, which gives the nonce for the next transaction.
func (c *Client) Nonce(ctx context.Context, account types.Account, at api.NonceRef) (uint64, error) {
	params := api.GetTransactionCountParams{Account: account.String(), Block: at}
	if at != (api.NonceRef{}) && at != api.Pending() {
		nonce, err := Invoke(ctx, c, api.GetTransactionCount, params)
		return uint64(nonce), err
	}
	nonce, err := invokeLatest(ctx, c, api.GetTransactionCount, params)
	return uint64(nonce), err
}

// ResolveAddress returns the account of an address of any network, as parsed by the node; types.ParseAddress does the
// same locally.
func (c *Client) ResolveAddress(ctx context.Context, address string) (types.Account, error) {
	resolved, err := Invoke(ctx, c, api.ResolveAddress, api.ResolveAddressParams{Address: address})
	return resolved.PublicKey, err
}

// NodeInfo returns a description of the node and of the chain that it follows.
func (c *Client) NodeInfo(ctx context.Context) (api.NodeInfo, error) {
	return Invoke(ctx, c, api.GetNodeInfo, api.NoParams{})
}

// SyncStatus reports how far the node is behind the primary.
func (c *Client) SyncStatus(ctx context.Context) (api.SyncStatus, error) {
	return Invoke(ctx, c, api.GetSyncStatus, api.NoParams{})
}

// Genesis returns the chain's genesis.
func (c *Client) Genesis(ctx context.Context) (api.GenesisInfo, error) {
	return Invoke(ctx, c, api.GetGenesis, api.NoParams{})
}

// Parameters returns the chain's parameters after the latest block, with their Merkle proof.
func (c *Client) Parameters(ctx context.Context) (api.ParametersInfo, error) {
	return Invoke(ctx, c, api.GetParameters, api.ParametersParams{})
}

// AccountProof returns a Merkle proof of an account's record, or of its absence, after the block at, which must be
// within the node's proof window.
func (c *Client) AccountProof(ctx context.Context, account types.Account, at api.BlockRef) (api.AccountProof, error) {
	return Invoke(ctx, c, api.GetAccountProof, api.AccountProofParams{Account: account.String(), Block: at})
}

// StateProof returns a Merkle proof of the value of any state key, or of its absence, after the block at, which must be
// within the node's proof window. The keys are specified in docs/protocol.md, "State".
func (c *Client) StateProof(ctx context.Context, key []byte, at api.BlockRef) (api.AccountProof, error) {
	return Invoke(ctx, c, api.GetStateProof, api.StateProofParams{Key: key, Block: at})
}

// GasPrice returns the node's suggested price per gas.
func (c *Client) GasPrice(ctx context.Context) (api.GasPriceInfo, error) {
	return Invoke(ctx, c, api.GasPrice, api.NoParams{})
}

// FeeMarket returns the base fee of the next block and the bounds of its rule.
func (c *Client) FeeMarket(ctx context.Context) (api.FeeMarket, error) {
	return Invoke(ctx, c, api.GetFeeMarket, api.NoParams{})
}

// FeeHistory returns the fees of the latest blocks (1 to [api.MaxFeeBlocks]), with their priority fees at percentiles,
// which ascend from 0 to 100. Without percentiles the node uses its defaults.
func (c *Client) FeeHistory(ctx context.Context, blocks uint64, percentiles ...float64) (api.FeeHistory, error) {
	return Invoke(ctx, c, api.GetFeeHistory, api.GetFeeHistoryParams{Blocks: &blocks, Percentiles: percentiles})
}

// PendingTransactions lists the transactions in the node's mempool: of one sender by ascending nonce, otherwise
// newest first.
func (c *Client) PendingTransactions(ctx context.Context, filter api.PendingFilter) ([]api.PendingTransaction, error) {
	return Invoke(ctx, c, api.GetPendingTransactions, api.PendingTransactionsParams{Filter: filter})
}

// TransactionByNonce returns the included transaction in which an account used a nonce, or nil if the node has none.
func (c *Client) TransactionByNonce(
	ctx context.Context, account types.Account, nonce uint64,
) (*api.Transaction, error) {
	return Invoke(ctx, c, api.GetTransactionByNonce, api.TransactionByNonceParams{
		Account: account.String(), Nonce: api.LooseQuantity(nonce),
	})
}

// MempoolStats returns the usage of the mempool.
func (c *Client) MempoolStats(ctx context.Context) (api.MempoolStats, error) {
	return Invoke(ctx, c, api.GetMempoolStats, api.NoParams{})
}
