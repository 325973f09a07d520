package api

import "github.com/cairn-chain/cairn/types"

// Methods on included transactions, and on transactions in any state.
var (
	GetTransactionByHash = define[TransactionParams, *Transaction]("svc_getTransactionByHash",
		"A pending or included transaction; null if it is neither, pruned if this node lacks blocks and cannot "+
			"know.", ErrPruned)
	GetTransactionReceipt = define[TransactionParams, *Receipt]("svc_getTransactionReceipt",
		"The receipt of an included transaction; null if it is in no block yet, pruned if this node lacks blocks "+
			"and cannot know.", ErrPruned)
	GetTransactionStatus = define[TransactionParams, TransactionStatus]("svc_getTransactionStatus",
		"A transaction's status: pending, success, failed, dropped or unknown; pruned if this node lacks blocks "+
			"and cannot know.", ErrPruned)
	GetTransactionsByAddress = define[GetTransactionsByAddressParams, []Transaction]("svc_getTransactionsByAddress",
		"Included transactions with an account as sender, payer, recipient or called contract, in steps too, "+
			"newest first.",
		ErrBadAccount, ErrWrongNetwork, ErrOutOfRange, ErrBadCursor, ErrTakenBack, ErrAboveHead, ErrPruned)
	GetTransactionByNonce = define[TransactionByNonceParams, *Transaction]("svc_getTransactionByNonce",
		"The included transaction in which an account used a nonce; null if none did, pruned if this node lacks "+
			"blocks and cannot know.",
		ErrBadAccount, ErrWrongNetwork, ErrOutOfRange, ErrPruned)
	GetBlockTransactions = define[GetBlockTransactionsParams, []Transaction]("svc_getBlockTransactions",
		"A block's transactions in order, from an index on. Empty after the last, and above the head.",
		ErrPruned, ErrOutOfRange)
	GetBlockReceipts = define[GetBlockReceiptsParams, []Receipt]("svc_getBlockReceipts",
		"A block's receipts in order, from an index on: at most 8 MiB, but at least one if there is one. Empty "+
			"behind the last, and above the head.", ErrPruned, ErrOutOfRange)
	ListRecentTransactions = define[ListRecentTransactionsParams, []Transaction]("svc_listRecentTransactions",
		"The newest included transactions of all accounts, newest first.", ErrOutOfRange)
)

// Limits of [GetTransactionsByAddress], [GetBlockTransactions], [GetBlockReceipts] and [ListRecentTransactions].
// MaxPageBytes applies to every page.
const (
	DefaultTransactionsPage   = 100
	MaxTransactionsPage       = 1000
	DefaultReceiptsPage       = 1000
	MaxReceiptsPage           = 10_000
	DefaultRecentTransactions = 50
	MaxRecentTransactions     = 1000
	MaxPageBytes              = 8 << 20
	MaxNonceSearch            = 10_000 // newest transactions of an account that are searched
)

// TransactionParams are the parameters of the methods on one transaction.
type TransactionParams struct {
	Hash types.TxID `json:"hash" doc:"the transaction's hash"`
}

// GetTransactionsByAddressParams are the parameters of [GetTransactionsByAddress].
type GetTransactionsByAddressParams struct {
	Account string          `json:"account" doc:"a taproot address, or a public key in hex"`
	Page    TransactionPage `json:"page" jsonrpc:"optional" doc:"selects a part of the list"`
}

// TransactionPage selects a part of a list.
type TransactionPage struct {
	Limit   *uint64       `json:"limit,omitempty" doc:"maximum number of items, 1 to 1,000; 100 by default"`
	Cursor  string        `json:"cursor,omitempty" doc:"the cursor of the last item seen"`
	ToBlock *types.Height `json:"to_block,omitempty" doc:"the highest height, which the chain must have; by default the latest"`
}

// TransactionByNonceParams are the parameters of [GetTransactionByNonce].
type TransactionByNonceParams struct {
	Account string        `json:"account" doc:"a taproot address, or a public key in hex"`
	Nonce   LooseQuantity `json:"nonce" doc:"the nonce; the search covers the account's 10,000 newest transactions"`
}

// GetBlockTransactionsParams are the parameters of [GetBlockTransactions].
type GetBlockTransactionsParams struct {
	Block BlockRef              `json:"block" doc:"the block's height, latest or earliest"`
	Page  BlockTransactionsPage `json:"page" jsonrpc:"optional" doc:"selects a part of the list"`
}

// BlockTransactionsPage selects a part of a block's transactions.
type BlockTransactionsPage struct {
	From  uint64  `json:"from,omitempty" doc:"the index of the first, 0 by default"`
	Limit *uint64 `json:"limit,omitempty" doc:"maximum number of items, 1 to 1,000; 100 by default; fewer if their arguments are long"`
}

// GetBlockReceiptsParams are the parameters of [GetBlockReceipts].
type GetBlockReceiptsParams struct {
	Block BlockRef          `json:"block" doc:"the block's height, latest or earliest"`
	Page  BlockReceiptsPage `json:"page" jsonrpc:"optional" doc:"selects a part of the list"`
}

// BlockReceiptsPage selects a part of a block's receipts.
type BlockReceiptsPage struct {
	From  uint64  `json:"from,omitempty" doc:"the index of the first transaction, 0 by default"`
	Limit *uint64 `json:"limit,omitempty" doc:"maximum number of items, 1 to 10,000; 1,000 by default; fewer if they are large"`
}

// ListRecentTransactionsParams are the parameters of [ListRecentTransactions].
type ListRecentTransactionsParams struct {
	Limit *uint64 `json:"limit" jsonrpc:"optional" doc:"maximum number of items, 1 to 1,000; 50 by default"`
}

// Transaction is the result of [GetTransactionByHash].
type Transaction struct {
	Hash                 types.TxID        `json:"hash" doc:"the transaction's hash, which the sender signs"`
	From                 types.Account     `json:"from" doc:"the sender"`
	To                   types.Account     `json:"to" doc:"the recipient, or the called or created contract; of a batch, set_policy and configure the sender"`
	Value                Quantity          `json:"value" doc:"the native amount moved; of a batch the sum of its steps'"`
	GasLimit             Quantity          `json:"gasLimit" doc:"the most gas that it may use"`
	GasPrice             Quantity          `json:"gasPrice" doc:"the price paid per gas; the max fee while pending"`
	Nonce                Quantity          `json:"nonce" doc:"the sender's count of transactions before it"`
	BlockHeight          *types.Height     `json:"blockHeight" doc:"the height of its block; null while pending"`
	BlockHash            *types.BlockHash  `json:"blockHash" doc:"the hash of its block; null while pending"`
	Status               Status            `json:"status" doc:"pending, success or failed"`
	Type                 string            `json:"type" doc:"transfer, deploy, call, configure, batch, set_policy or instantiate"`
	MaxFeePerGas         Quantity          `json:"maxFeePerGas" doc:"the most it pays per gas"`
	MaxPriorityFeePerGas Quantity          `json:"maxPriorityFeePerGas" doc:"the most of it for the fee recipient"`
	Payer                *types.Account    `json:"payer" doc:"the account that pays the fee; null if the sender does"`
	ValidUntil           *uint64           `json:"validUntil" doc:"the latest time of a block that may have it, in Unix milliseconds; null for none"`
	Memo                 *Data             `json:"memo" doc:"the 32-byte memo of a transfer; null without one"`
	Steps                []types.Step      `json:"steps" null:"true" doc:"the transfers and calls of a batch, in order; null otherwise"`
	Input                *Input            `json:"input" doc:"the rest of the payload; null for a transfer or batch"`
	TransactionIndex     *uint32           `json:"transactionIndex" doc:"its place in the block; null while pending"`
	Witness              Witness           `json:"witness" doc:"the sender's witness: its signatures, and the policy if one is in force"`
	PayerWitness         *Witness          `json:"payerWitness" doc:"the payer's witness; null without a payer"`
	Error                *string           `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	Contract             *types.ContractID `json:"contract,omitempty" doc:"the contract that a deploy or instantiate creates"`
	Cursor               string            `json:"cursor,omitempty" doc:"in a list: where the next page begins"`
	GasUsed              *Quantity         `json:"gasUsed" doc:"the gas that it used; null while pending"`
	Fee                  *Quantity         `json:"fee" doc:"the fee paid, gasUsed × gasPrice; null while pending"`
}

// Input is the content of a transaction's payload besides its value, memo and steps.
type Input struct {
	Function   *string           `json:"function,omitempty" doc:"the name of the called function"`
	Args       *Data             `json:"args,omitempty" doc:"of a call, deploy or instantiate: the arguments"`
	Name       *string           `json:"name,omitempty" doc:"of a deploy or instantiate: the contract's name"`
	CodeHash   *types.CodeHash   `json:"codeHash,omitempty" doc:"of a deploy: the SHA-256 of its code"`
	CodeSize   *uint64           `json:"codeSize,omitempty" doc:"of a deploy: the length of its code in bytes"`
	Template   *types.ContractID `json:"template,omitempty" doc:"of an instantiate: the contract whose code the new one gets"`
	Parameters *types.Parameters `json:"parameters,omitempty" doc:"of a configure: the new parameters"`
	Recovery   *bool             `json:"recovery,omitempty" doc:"of a set_policy: whether it begins a recovery, which takes effect after the delay"`
	Policy     *types.Policy     `json:"policy,omitempty" doc:"of a set_policy: the new policy; absent if the account's own key takes over"`
}

// Status is the status of a transaction.
type Status string

// The statuses of a transaction.
const (
	StatusPending Status = "pending" // in the pool
	StatusSuccess Status = "success" // included and successful
	StatusFailed  Status = "failed"  // included, but failed
	StatusDropped Status = "dropped" // recently left this node's pool without a block
	StatusUnknown Status = "unknown" // neither in the pool nor included, to this node's knowledge
)

// Receipt is the result of [GetTransactionReceipt].
type Receipt struct {
	TransactionHash   types.TxID        `json:"transactionHash" doc:"the transaction's hash"`
	BlockHeight       types.Height      `json:"blockHeight" doc:"the height of its block"`
	BlockHash         types.BlockHash   `json:"blockHash" doc:"the hash of its block"`
	Status            Quantity          `json:"status" doc:"0x1 success, 0x0 failed"`
	GasUsed           Quantity          `json:"gasUsed" doc:"the gas that it used"`
	ContractAddress   *types.ContractID `json:"contractAddress" doc:"of a deploy or instantiate that succeeded: the contract; null otherwise"`
	Logs              []Log             `json:"logs" doc:"the events that it emitted"`
	TransactionIndex  uint32            `json:"transactionIndex" doc:"its place in the block"`
	EffectiveGasPrice Quantity          `json:"effectiveGasPrice" doc:"the price paid per gas"`
	Fee               Quantity          `json:"fee" doc:"the fee paid: gasUsed × effectiveGasPrice"`
	ReturnData        Data              `json:"returnData" doc:"the return data, or the revert data after a failure"`
	Error             *string           `json:"error" doc:"why it failed, a word in snake_case; null otherwise"`
	From              types.Account     `json:"from" doc:"the sender"`
	To                types.Account     `json:"to" doc:"as of the transaction"`
	Payer             *types.Account    `json:"payer" doc:"the account that paid the fee; null if the sender did"`
}

// Log is an event in a [Receipt].
type Log struct {
	Address     types.ContractID `json:"address" doc:"the contract that emitted it; zero for a log of the protocol"`
	Topics      []Data           `json:"topics" doc:"SHA-256 of the event's name, then its own topics"`
	Data        Data             `json:"data" doc:"the event's data"`
	EventName   string           `json:"eventName" doc:"the event's name"`
	LogIndex    uint32           `json:"logIndex" doc:"its place among the block's events"`
	BlockHeight types.Height     `json:"blockHeight" doc:"the height of the block"`
}

// TransactionStatus is the result of [GetTransactionStatus].
type TransactionStatus struct {
	Status        Status        `json:"status" doc:"pending, success, failed, dropped or unknown"`
	BlockHeight   *types.Height `json:"blockHeight" doc:"the height of its block; null unless included"`
	Confirmations uint64        `json:"confirmations" doc:"blocks from its own to the latest, both counted; 0 unless included"`
	Error         *string       `json:"error" doc:"why it failed; of a dropped one expired, no_room, replaced, not_allowed, wrong_policy, payer_cannot_pay, not_built, nonce_too_high or taken_back; null otherwise"`
}
