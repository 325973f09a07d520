package api

import (
	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// Methods on contracts, their storage and their events.
var (
	ViewCall = define[ViewCallParams, Data]("svc_viewCall",
		"Calls a function of a contract in view context, after a block, as the zero account and with value 0, and gives the bytes that it returns.",
		viewErrors...)
	BatchViewCall = define[BatchViewCallParams, []ViewResult]("svc_batchViewCall",
		"Makes view calls after one block, each independent of the others, and gives their results in the order of the calls. All see one height.",
		ErrViewCalls, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
	GetStorageAt = define[GetStorageAtParams, Data]("svc_getStorageAt",
		"The value under a key of a contract's storage; 0x where there is none.", ErrNoContract, ErrAboveHead, ErrPruned, ErrHalted, ErrNoState)
	GetStorageProof = define[GetStorageProofParams, AccountProof]("svc_getStorageProof",
		"A Merkle proof of a value in a contract's storage, or of its absence, under a block's state root: of the latest block, or one within the window of proofs.",
		proofErrors...)
	ListContracts = define[ListContractsParams, []Contract]("svc_listContracts",
		"The contracts in the order of their deployment.", ErrOutOfRange, ErrBadCursor, ErrNoState)
	GetContract = define[ContractParams, *Contract]("svc_getContract",
		"What the chain says of a contract; null when there is none of that ID.", ErrNoState)
	GetContractABI = define[ContractParams, *abi.ABI]("svc_getContractAbi",
		"The functions and events that a contract declares; null where it declares none that can be read.", ErrNoContract, ErrNoState)
	GetContractCode = define[ContractParams, Data]("svc_getContractCode",
		"A contract's code as it was deployed.", ErrNoContract, ErrNoState)
	GetCode = define[CodeParams, Data]("svc_getCode",
		"The code of a hash, which it is to be checked against. A node without state has the codes that the blocks which it keeps deployed and called.",
		ErrNoCode)
	GetEvents = define[GetEventsParams, []Event]("svc_getEvents",
		"Events that match a filter, ascending by block, transaction and log index. A further page begins at the cursor of the last item; an empty page is the end.",
		ErrOutOfRange, ErrBadCursor, ErrPruned, ErrTimeUp)
	TraceTransaction = define[TransactionParams, *Trace]("svc_traceTransaction",
		"What an included transaction did, call by call; null when it is not included. Its block is executed again up to it.",
		ErrPruned, ErrBusy, ErrTimeUp, ErrNoState)
)

// Methods on tokens that follow NEP-20 (docs/protocol.md, "Conventions above consensus").
var (
	GetTokenBalance = define[GetTokenBalanceParams, TokenBalance]("svc_getTokenBalance",
		"An account's balance of a token, as the token's contract answers.", with(viewErrors, ErrWrongNetwork, ErrNoToken)...)
	GetTokenHolders = define[GetTokenHoldersParams, []TokenHolder]("svc_getTokenHolders",
		"The holders of a token, the largest balance first: found by Transfer events, their balances confirmed by the token's contract. A further page begins at the cursor of the last item; an empty page is the end.",
		with(viewErrors, ErrOutOfRange, ErrBadCursor, ErrNoToken)...)
)

// Bounds of the methods on contracts.
const (
	MaxViewCalls     = 64
	DefaultContracts = 100
	MaxContracts     = 1000
	DefaultEvents    = 1000
	MaxEvents        = 10_000
	DefaultHolders   = 100
	MaxHolders       = 1000
	MaxEventTopics   = 1 + types.MaxLogTopics
)

// ViewCallParams are the parameters of [ViewCall].
type ViewCallParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
	Function string           `json:"function" doc:"the function's name"`
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
	Result  Data           `json:"result" doc:"what it returned; of a call that reverted the revert data"`
	Error   *jsonrpc.Error `json:"error,omitempty" doc:"why it failed: code, message and data, as svc_viewCall fails"`
}

// GetStorageAtParams are the parameters of [GetStorageAt].
type GetStorageAtParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
	Key      LooseData        `json:"key" doc:"the storage key in hex"`
	Block    BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// GetStorageProofParams are the parameters of [GetStorageProof].
type GetStorageProofParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
	Key      LooseData        `json:"key" doc:"the storage key in hex"`
	Block    BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// ListContractsParams are the parameters of [ListContracts].
type ListContractsParams struct {
	Limit  *uint64 `json:"limit" jsonrpc:"optional" doc:"at most so many, 1 to 1,000; 100 by default"`
	Cursor string  `json:"cursor" jsonrpc:"optional" doc:"the cursor of the last item seen"`
}

// ContractParams are the parameters of the methods on one contract.
type ContractParams struct {
	Contract types.ContractID `json:"contract" doc:"the contract"`
}

// CodeParams are the parameters of [GetCode].
type CodeParams struct {
	CodeHash types.CodeHash `json:"code_hash" doc:"the SHA-256 of the code"`
}

// Contract is what the chain says of a contract: the result of [GetContract].
type Contract struct {
	ID         types.ContractID `json:"contract_id" doc:"the contract"`
	Name       string           `json:"name" doc:"the name that its deployer gave it; not unique"`
	Deployer   types.Account    `json:"deployer" doc:"who deployed it"`
	DeployedAt types.Height     `json:"deployed_at" doc:"the height of the block that deployed it"`
	CodeHash   types.CodeHash   `json:"code_hash" doc:"the SHA-256 of its code"`
	CodeSize   uint64           `json:"code_size" doc:"the length of its code in bytes"`
	Cursor     string           `json:"cursor,omitempty" doc:"in a list: where what comes after it begins"`
}

// GetEventsParams are the parameters of [GetEvents].
type GetEventsParams struct {
	Filter EventFilter `json:"filter" doc:"which events; without members all"`
}

// EventFilter says which events are asked. An event matches that matches every member given.
type EventFilter struct {
	ContractID *types.ContractID `json:"contract_id,omitempty" doc:"only of this contract"`
	EventName  *string           `json:"event_name,omitempty" doc:"only of this name"`
	FromBlock  *types.Height     `json:"from_block,omitempty" doc:"the first height; by default the first that is kept"`
	ToBlock    *types.Height     `json:"to_block,omitempty" doc:"the last height; by default the latest"`
	Topics     []*types.Digest   `json:"topics,omitempty" doc:"the topics that they begin with, the first the SHA-256 of the name; null stands for any"`
	Limit      *uint64           `json:"limit,omitempty" doc:"at most so many, 1 to 10,000; 1,000 by default"`
	Cursor     string            `json:"cursor,omitempty" doc:"the cursor of the last item seen: only what comes after it"`
}

// GetTokenBalanceParams are the parameters of [GetTokenBalance].
type GetTokenBalanceParams struct {
	Token   types.ContractID `json:"token" doc:"the token's contract"`
	Account string           `json:"account" doc:"a taproot address, or a public key in hex"`
	Block   BlockRef         `json:"block" jsonrpc:"optional" doc:"the block after which; the latest by default"`
}

// TokenBalance is the result of [GetTokenBalance].
type TokenBalance struct {
	Balance Quantity `json:"balance" doc:"in smallest units of the token"`
	Decimal Decimal  `json:"balanceDecimal" doc:"in whole tokens: the balance by 10^decimals, rounded down to 6 decimals"`
}

// GetTokenHoldersParams are the parameters of [GetTokenHolders].
type GetTokenHoldersParams struct {
	Token types.ContractID `json:"token" doc:"the token's contract"`
	Page  HolderPage       `json:"page" jsonrpc:"optional" doc:"which part of the list"`
}

// HolderPage says which part of a token's holders is asked.
type HolderPage struct {
	Limit  *uint64 `json:"limit,omitempty" doc:"at most so many, 1 to 1,000; 100 by default"`
	Cursor string  `json:"cursor,omitempty" doc:"the cursor of the last item seen"`
}

// TokenHolder is an item of the result of [GetTokenHolders].
type TokenHolder struct {
	Address     types.Account `json:"address" doc:"the holder"`
	Balance     Quantity      `json:"balance" doc:"its balance in smallest units of the token, never 0"`
	BlockHeight types.Height  `json:"block_height" doc:"the block after which the balance holds"`
	Cursor      string        `json:"cursor" doc:"where what comes after it begins"`
}

// Trace is what a transaction did: the result of [TraceTransaction].
type Trace struct {
	GasUsed   Quantity   `json:"gasUsed" doc:"the gas that the transaction used"`
	Status    Status     `json:"status" doc:"success or failed"`
	Error     *string    `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	Root      *TraceCall `json:"root" doc:"the call that it made; null where no contract ran"`
	Truncated bool       `json:"truncated" doc:"whether there was more to show than a trace holds: storage, events and messages are left out from there on"`
}

// TraceCall is a call of a contract in a [Trace]. What a call that failed did is shown too; it is undone.
type TraceCall struct {
	Contract types.ContractID    `json:"contract" doc:"the contract"`
	Function string              `json:"function" doc:"the function's name"`
	Args     Data                `json:"args" doc:"the arguments"`
	Value    Quantity            `json:"value" doc:"the native amount that came with the call"`
	Gas      Quantity            `json:"gas" doc:"the gas that it could use"`
	GasUsed  Quantity            `json:"gasUsed" doc:"the gas that it used, the calls below included"`
	Output   Data                `json:"output" doc:"what it returned, or the revert data"`
	Error    *string             `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	HostGas  map[string]Quantity `json:"hostGas" doc:"the gas that host functions took by their names, without that of the calls below"`
	Storage  []TraceWrite        `json:"storage" doc:"what it wrote to its storage, in order"`
	Events   []TraceEvent        `json:"events" doc:"what it emitted, in order"`
	Debug    []string            `json:"debug" doc:"what it said with the host function debug, in order"`
	Calls    []TraceCall         `json:"calls" doc:"the calls that it made, in order"`
	Caller   types.Account       `json:"caller" doc:"who called"`
	View     bool                `json:"view" doc:"whether it ran in view context"`
}

// TraceWrite is a write to storage in a [TraceCall].
type TraceWrite struct {
	Key Data `json:"key" doc:"the storage key"`
	Old Data `json:"old" doc:"the value before; 0x where there was none"`
	New Data `json:"new" doc:"the value after; 0x where it was deleted"`
}

// TraceEvent is an event in a [TraceCall].
type TraceEvent struct {
	Name   string         `json:"eventName" doc:"the event's name"`
	Topics []types.Digest `json:"topics" doc:"its own topics"`
	Data   Data           `json:"data" doc:"its data"`
}
