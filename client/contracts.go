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

// View calls a function of a contract in view context after the block at, and gives the bytes that it returns. args are
// JSON, an object by parameter name; nil for a function without parameters.
func (c *Client) View(
	ctx context.Context, contract types.ContractID, function string, args []byte, at api.BlockRef,
) ([]byte, error) {
	result, err := Invoke(ctx, c, api.ViewCall, api.ViewCallParams{
		Contract: contract, Function: function, Args: args, Block: at,
	})
	return result, err
}

// Views makes view calls after the latest block, at most [api.MaxViewCalls]: each has its own result or error.
func (c *Client) Views(ctx context.Context, calls []api.ViewCallItem) ([]api.ViewResult, error) {
	return Invoke(ctx, c, api.BatchViewCall, api.BatchViewCallParams{Calls: calls})
}

// ViewProof is what a view call reads, with a witness: package proof/view makes the call again on it and believes
// nothing. The codes in known are not sent.
func (c *Client) ViewProof(
	ctx context.Context, contract types.ContractID, function string, args []byte, at api.BlockRef, known ...types.CodeHash,
) (api.ViewProof, error) {
	return Invoke(ctx, c, api.GetViewProof, api.GetViewProofParams{
		Contract: contract, Function: function, Args: args, Block: at, KnownCodes: known,
	})
}

// StorageAt is the value under a key of a contract's storage after the block at; empty where there is none.
func (c *Client) StorageAt(
	ctx context.Context, contract types.ContractID, key []byte, at api.BlockRef,
) ([]byte, error) {
	value, err := Invoke(ctx, c, api.GetStorageAt, api.GetStorageAtParams{Contract: contract, Key: key, Block: at})
	return value, err
}

// StorageProof is a Merkle proof of a value in a contract's storage, or of its absence, after the block at, which must
// be within the node's window of proofs.
func (c *Client) StorageProof(
	ctx context.Context, contract types.ContractID, key []byte, at api.BlockRef,
) (api.AccountProof, error) {
	return Invoke(ctx, c, api.GetStorageProof, api.GetStorageProofParams{Contract: contract, Key: key, Block: at})
}

// Contracts lists contracts in the order of their deployment, at most limit (1 to [api.MaxContracts]). The next page is
// after the cursor of the last one seen; "" begins with the first.
func (c *Client) Contracts(ctx context.Context, limit uint64, cursor string) ([]api.Contract, error) {
	return Invoke(ctx, c, api.ListContracts, api.ListContractsParams{Limit: &limit, Cursor: cursor})
}

// Contract is what the chain says of a contract, nil when there is none of that ID.
func (c *Client) Contract(ctx context.Context, id types.ContractID) (*api.Contract, error) {
	return Invoke(ctx, c, api.GetContract, api.ContractParams{Contract: id})
}

// ContractABI is what a contract declares of its functions and events, nil where it declares nothing.
func (c *Client) ContractABI(ctx context.Context, id types.ContractID) (*abi.ABI, error) {
	return Invoke(ctx, c, api.GetContractABI, api.ContractParams{Contract: id})
}

// ContractCode is a contract's code as it was deployed.
func (c *Client) ContractCode(ctx context.Context, id types.ContractID) ([]byte, error) {
	code, err := Invoke(ctx, c, api.GetContractCode, api.ContractParams{Contract: id})
	return code, err
}

// Code is the code of a hash, against which the caller checks it.
func (c *Client) Code(ctx context.Context, hash types.CodeHash) ([]byte, error) {
	code, err := Invoke(ctx, c, api.GetCode, api.CodeParams{CodeHash: hash})
	return code, err
}

// Source downloads the archive of a hash that was published at the node, of at most limit bytes. Errors are
// [ErrBadAnswer] if it has another hash, [ErrTooLarge] and those of [Client.Download].
func (c *Client) Source(ctx context.Context, hash [sha256.Size]byte, limit int64) ([]byte, error) {
	path := api.SourcesPath + "0x" + hex.EncodeToString(hash[:])
	archive, err := c.file(ctx, path, limit)
	if err == nil && sha256.Sum256(archive) != hash {
		return nil, fmt.Errorf("%w: what is at %s has another hash", ErrBadAnswer, path)
	}
	return archive, err
}

// CallAs is [Call] in the form that the contract takes: the binary one if its ABI says so, else JSON. Arguments that do
// not fit the ABI are refused.
func (c *Client) CallAs(
	ctx context.Context, contract types.ContractID, function string, args any, value types.Amount,
) (types.Payload, error) {
	encoded, err := encodeArgs(args)
	if err != nil {
		return nil, err
	}
	declared, err := c.ContractABI(ctx, contract)
	if err != nil {
		return nil, err
	}
	if declared != nil && declared.TakesBinary {
		f, ok := declared.Function(function)
		if !ok {
			return nil, fmt.Errorf("%w: the contract has no function %q", abi.ErrArgument, function)
		}
		if encoded, err = declared.EncodeJSON(f.Args, encoded, abi.Hex); err != nil {
			return nil, err
		}
		if encoded, err = declared.Arguments(f.Args, encoded); err != nil {
			return nil, err
		}
	}
	return types.Call{Amount: value, Contract: contract, Function: function, Args: encoded}, nil
}

// Events lists the events that match a filter, in the chain's order. The next page has the same filter with the cursor
// of the last one seen; an empty page is the end.
func (c *Client) Events(ctx context.Context, filter api.EventFilter) ([]api.Event, error) {
	return Invoke(ctx, c, api.GetEvents, api.GetEventsParams{Filter: filter})
}

// TokenBalance is an account's balance of a NEP-20 token after the block at.
func (c *Client) TokenBalance(
	ctx context.Context, token types.ContractID, account types.Account, at api.BlockRef,
) (api.TokenBalance, error) {
	return Invoke(ctx, c, api.GetTokenBalance, api.GetTokenBalanceParams{
		Token: token, Account: account.String(), Block: at,
	})
}

// TokenHolders lists the holders of a NEP-20 token, the largest balance first, at most limit (1 to [api.MaxHolders]).
// The next page is after the cursor of the last one seen; "" begins with the first.
func (c *Client) TokenHolders(
	ctx context.Context, token types.ContractID, limit uint64, cursor string,
) ([]api.TokenHolder, error) {
	return Invoke(ctx, c, api.GetTokenHolders, api.GetTokenHoldersParams{
		Token: token, Page: api.HolderPage{Limit: &limit, Cursor: cursor},
	})
}

// Trace is what an included transaction did, call by call; nil when it is not included.
func (c *Client) Trace(ctx context.Context, id types.TxID) (*api.Trace, error) {
	return Invoke(ctx, c, api.TraceTransaction, api.TraceParams{Hash: id})
}

// TraceUnsent is what a transaction would do on the latest state, call by call, without sending it. In view context its
// call is made as by [Client.View]; with places it says where in their code calls failed.
func (c *Client) TraceUnsent(ctx context.Context, tx types.Transaction, view, places bool) (*api.Trace, error) {
	return Invoke(ctx, c, api.TraceUnsent, api.TraceUnsentParams{Transaction: tx.Encode(), View: view, Places: places})
}

// Costs lists everything that a transaction takes from its sender, its value included.
type Costs struct {
	LikelyGas types.Gas    // what it would use now
	Likely    types.Amount // were it in the next block as the state is now
	Most      types.Amount // with all of its gas limit at its max fee: what the sender must have
}

// Costs tries a transaction on the latest state without sending it. Show people both numbers: most of the limit may be
// a reserve that is never paid.
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

// CostsOf are the costs of a transaction that would use so much gas at a base fee. An error is an amount that has no room.
func CostsOf(tx types.Transaction, gas types.Gas, baseFee types.Amount) (Costs, error) {
	most, err := tx.Cost()
	if err != nil {
		return Costs{}, err
	}
	base := min(baseFee, tx.MaxFeePerGas)
	fee, err := gas.Cost(base + min(tx.MaxPriorityFeePerGas, tx.MaxFeePerGas-base))
	if err != nil {
		return Costs{}, err
	}
	likely, err := fee.Add(tx.Payload.Value())
	return Costs{LikelyGas: gas, Likely: likely, Most: most}, err
}

// TraceWithPlaces is [Client.Trace] that also says where in their code calls failed ([api.TraceCall].StoppedAt). It
// takes the node longer, and may more often be more than the node has time for.
func (c *Client) TraceWithPlaces(ctx context.Context, id types.TxID) (*api.Trace, error) {
	return Invoke(ctx, c, api.TraceTransaction, api.TraceParams{Hash: id, Places: true})
}
