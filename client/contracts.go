package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// View calls a contract's function in view context after the block at, and returns the function's output. args is a
// JSON object by parameter name, or nil for a function without parameters.
func (c *Client) View(
	ctx context.Context, contract types.ContractID, function string, args []byte, at api.BlockRef,
) ([]byte, error) {
	result, err := Invoke(ctx, c, api.ViewCall, api.ViewCallParams{
		Contract: contract, Function: function, Args: args, Block: at,
	})
	return result, err
}

// Views makes at most [api.MaxViewCalls] view calls after the latest block. Each has its own result or error.
func (c *Client) Views(ctx context.Context, calls []api.ViewCallItem) ([]api.ViewResult, error) {
	return Invoke(ctx, c, api.BatchViewCall, api.BatchViewCallParams{Calls: calls})
}

// ViewProof returns the state that a view call reads, with a witness. Package proof/view repeats the call from it
// without trusting the node. Code whose hash is in known is not sent.
func (c *Client) ViewProof(
	ctx context.Context, contract types.ContractID, function string, args []byte, at api.BlockRef, known ...types.CodeHash,
) (api.ViewProof, error) {
	return Invoke(ctx, c, api.GetViewProof, api.GetViewProofParams{
		Contract: contract, Function: function, Args: args, Block: at, KnownCodes: known,
	})
}

// StorageAt returns the value of a key in a contract's storage after the block at; empty if the key has none.
func (c *Client) StorageAt(
	ctx context.Context, contract types.ContractID, key []byte, at api.BlockRef,
) ([]byte, error) {
	value, err := Invoke(ctx, c, api.GetStorageAt, api.GetStorageAtParams{Contract: contract, Key: key, Block: at})
	return value, err
}

// StorageProof returns a Merkle proof of a value in a contract's storage, or of its absence, after the block at, which
// must be within the node's proof window.
func (c *Client) StorageProof(
	ctx context.Context, contract types.ContractID, key []byte, at api.BlockRef,
) (api.AccountProof, error) {
	return Invoke(ctx, c, api.GetStorageProof, api.GetStorageProofParams{Contract: contract, Key: key, Block: at})
}

// Contracts lists contracts in order of deployment, at most limit (1 to [api.MaxContracts]). To get the next page, pass
// the cursor of the last contract; "" begins with the first.
func (c *Client) Contracts(ctx context.Context, limit uint64, cursor string) ([]api.Contract, error) {
	return Invoke(ctx, c, api.ListContracts, api.ListContractsParams{Limit: &limit, Cursor: cursor})
}

// Contract returns a contract's record, or nil if no contract has the ID.
func (c *Client) Contract(ctx context.Context, id types.ContractID) (*api.Contract, error) {
	return Invoke(ctx, c, api.GetContract, api.ContractParams{Contract: id})
}

// ContractABI returns the functions and events that a contract declares, or nil if it declares no ABI.
func (c *Client) ContractABI(ctx context.Context, id types.ContractID) (*abi.ABI, error) {
	return Invoke(ctx, c, api.GetContractABI, api.ContractParams{Contract: id})
}

// ContractCode returns a contract's code as deployed.
func (c *Client) ContractCode(ctx context.Context, id types.ContractID) ([]byte, error) {
	code, err := Invoke(ctx, c, api.GetContractCode, api.ContractParams{Contract: id})
	return code, err
}

// Code returns the code with a hash. The caller must check it against the hash.
func (c *Client) Code(ctx context.Context, hash types.CodeHash) ([]byte, error) {
	code, err := Invoke(ctx, c, api.GetCode, api.CodeParams{CodeHash: hash})
	return code, err
}

// Source downloads an archive of source code published at the node, by its hash and of at most limit bytes. It returns
// [ErrBadAnswer] if the content has another hash, [ErrTooLarge] or an error of [Client.Download].
func (c *Client) Source(ctx context.Context, hash [sha256.Size]byte, limit int64) ([]byte, error) {
	path := api.SourcesPath + "0x" + hex.EncodeToString(hash[:])
	archive, err := c.file(ctx, path, limit)
	if err == nil && sha256.Sum256(archive) != hash {
		return nil, fmt.Errorf("%w: the download from %s has a different hash", ErrBadAnswer, path)
	}
	return archive, err
}

// CallAs is like [Call], but encodes arguments as the contract expects them: in binary if its ABI says so, otherwise as
// JSON. It refuses arguments that do not fit the ABI.
func (c *Client) CallAs(
	ctx context.Context, contract types.ContractID, function string, args any, value types.Amount,
) (Action, error) {
	encoded, err := encodeArgs(args)
	if err != nil {
		return Action{}, err
	}
	declared, err := c.ContractABI(ctx, contract)
	if err != nil {
		return Action{}, err
	}
	if declared != nil && declared.TakesBinary {
		f, ok := declared.Function(function)
		if !ok {
			return Action{}, fmt.Errorf("%w: the contract has no function %q", abi.ErrArgument, function)
		}
		if encoded, err = declared.EncodeJSON(f.Args, encoded, abi.Hex); err != nil {
			return Action{}, err
		}
		if encoded, err = declared.Arguments(f.Args, encoded); err != nil {
			return Action{}, err
		}
	}
	return CallEncoded(contract, function, encoded, value), nil
}

// Events lists the events that match a filter, in the chain's order. To get the next page, copy the last event's cursor
// to the filter; an empty page is the end.
func (c *Client) Events(ctx context.Context, filter api.EventFilter) ([]api.Event, error) {
	return Invoke(ctx, c, api.GetEvents, api.GetEventsParams{Filter: filter})
}

// TokenBalance returns an account's balance of a NEP-20 token after the block at.
func (c *Client) TokenBalance(
	ctx context.Context, token types.ContractID, account types.Account, at api.BlockRef,
) (api.TokenBalance, error) {
	return Invoke(ctx, c, api.GetTokenBalance, api.GetTokenBalanceParams{
		Token: token, Account: account.String(), Block: at,
	})
}

// TokenHolders lists the holders of a NEP-20 token by descending balance, at most limit (1 to [api.MaxHolders]). To get
// the next page, pass the cursor of the last holder; "" begins with the first.
func (c *Client) TokenHolders(
	ctx context.Context, token types.ContractID, limit uint64, cursor string,
) ([]api.TokenHolder, error) {
	return Invoke(ctx, c, api.GetTokenHolders, api.GetTokenHoldersParams{
		Token: token, Page: api.HolderPage{Limit: &limit, Cursor: cursor},
	})
}

// Trace returns the calls that an included transaction made, or nil if it is not included.
func (c *Client) Trace(ctx context.Context, id types.TxID) (*api.Trace, error) {
	return Invoke(ctx, c, api.TraceTransaction, api.TraceParams{Hash: id})
}

// TraceUnsent returns the calls that a transaction would make on the latest state, without sending it. With view it
// runs in view context, as by [Client.View]; with places it includes the code offsets of failures.
func (c *Client) TraceUnsent(ctx context.Context, tx types.Transaction, view, places bool) (*api.Trace, error) {
	return Invoke(ctx, c, api.TraceUnsent, api.TraceUnsentParams{Transaction: tx.EncodeUnsigned(), View: view, Places: places})
}

// Costs holds what a transaction costs. Without a payer its sender pays all of it.
type Costs struct {
	Amount    types.Amount // moved from the sender
	LikelyGas types.Gas    // gas that it would use on the latest state
	LikelyFee types.Amount // fee in the next block, on the latest state
	FeeCap    types.Amount // fee of the whole gas limit at the max fee; the payer's balance must cover it
}

// Costs tries a transaction on the latest state without sending it. Applications should show both fees: most of the gas
// limit may be a reserve that is never spent.
func (c *Client) Costs(ctx context.Context, tx types.Transaction) (Costs, error) {
	trace, err := c.TraceUnsent(ctx, tx, false, false)
	if err != nil {
		return Costs{}, err
	}
	price, err := c.GasPrice(ctx)
	if err != nil {
		return Costs{}, err
	}
	return CostsOf(tx, types.Gas(trace.GasUsed), types.Amount(price.BaseFee))
}

// CostsOf returns the costs of a transaction that uses an amount of gas at a base fee. It returns an error if an amount
// overflows.
func CostsOf(tx types.Transaction, gas types.Gas, baseFee types.Amount) (costs Costs, err error) {
	costs.LikelyGas = gas
	if costs.Amount, err = tx.Amount(); err != nil {
		return Costs{}, err
	}
	if costs.FeeCap, err = tx.FeeCap(); err != nil {
		return Costs{}, err
	}
	base := min(baseFee, tx.MaxFeePerGas)
	costs.LikelyFee, err = gas.Cost(base + min(tx.MaxPriorityFeePerGas, tx.MaxFeePerGas-base))
	return costs, err
}

// TraceWithPlaces is like [Client.Trace], but includes the code offsets of failures ([api.TraceCall].StoppedAt). It
// takes longer, and is more likely to exceed the node's time limit.
func (c *Client) TraceWithPlaces(ctx context.Context, id types.TxID) (*api.Trace, error) {
	return Invoke(ctx, c, api.TraceTransaction, api.TraceParams{Hash: id, Places: true})
}
