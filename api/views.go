package api

import (
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// View calls of contracts.
var (
	ViewCall = define[ViewCallParams, Data]("svc_viewCall",
		"Calls a contract's function in view context, after a block, as the zero account with value 0, and gives "+
			"its output.",
		viewErrors...)
	BatchViewCall = define[BatchViewCallParams, []ViewResult]("svc_batchViewCall",
		"Makes independent view calls after one block and returns their results in order.",
		ErrViewCalls, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
)

// MaxViewCalls bounds [BatchViewCall].
const MaxViewCalls = 64

// ViewCallParams are the parameters of [ViewCall].
type ViewCallParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
	Function string           `json:"function_name" doc:"the function's name"`
	Args     LooseData        `json:"args" jsonrpc:"optional" doc:"the arguments: JSON in hex, none for a function without"`
	Block    BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// BatchViewCallParams are the parameters of [BatchViewCall].
type BatchViewCallParams struct {
	Calls []ViewCallItem `json:"calls" doc:"the calls, 64 at most"`
	Block BlockRef       `json:"block" jsonrpc:"optional" doc:"the block after which, for all; the latest by default"`
}

// ViewCallItem is a call of [BatchViewCall].
type ViewCallItem struct {
	Contract types.ContractID `json:"contract_id" doc:"the contract"`
	Function string           `json:"function" doc:"the function's name"`
	Args     LooseData        `json:"args,omitempty" doc:"the arguments: JSON in hex, none for a function without"`
}

// ViewResult is an item of the result of [BatchViewCall].
type ViewResult struct {
	Success bool           `json:"success" doc:"whether the call returned"`
	Result  Data           `json:"result" doc:"the return data, or the revert data after a revert"`
	Error   *jsonrpc.Error `json:"error,omitempty" doc:"why it failed: code, message and data, as svc_viewCall fails"`
}
