package api

import "github.com/cairn-chain/cairn/types"

// Methods on pending transactions.
var (
	GetPendingTransactions = define[PendingTransactionsParams, []PendingTransaction]("svc_getPendingTransactions",
		"The mempool's transactions: one sender's ascending by nonce, or all, the newest first.",
		ErrBadAccount, ErrWrongNetwork, ErrOutOfRange)
	GetMempoolStats = define[NoParams, MempoolStats]("svc_getMempoolStats", "How full the mempool is.")
)

// Bounds of [GetPendingTransactions].
const (
	DefaultPending = 100
	MaxPending     = 2000 // above the pool's limit per sender
)

// PendingTransactionsParams are the parameters of [GetPendingTransactions].
type PendingTransactionsParams struct {
	Filter PendingFilter `json:"filter" jsonrpc:"optional" doc:"selects transactions; if it is missing, the method returns all"`
}

// PendingFilter selects pending transactions.
type PendingFilter struct {
	Sender string  `json:"sender,omitempty" doc:"only of this account: a taproot address, or a public key in hex"`
	Limit  *uint64 `json:"limit,omitempty" doc:"maximum number of items, 1 to 2,000; 100 by default"`
}

// PendingTransaction is an item of the result of [GetPendingTransactions], with the fields for a list.
// [GetTransactionByHash] returns the others.
type PendingTransaction struct {
	Hash                 types.TxID     `json:"hash" doc:"the transaction's hash"`
	From                 types.Account  `json:"from" doc:"the sender"`
	To                   types.Account  `json:"to" doc:"as of the transaction"`
	Nonce                Quantity       `json:"nonce" doc:"the sender's count of transactions before it"`
	Type                 string         `json:"type" doc:"transfer, deploy, call, configure, batch, set_policy or instantiate"`
	Value                Quantity       `json:"value" doc:"the native amount moved"`
	GasLimit             Quantity       `json:"gasLimit" doc:"the most gas that it may use"`
	MaxFeePerGas         Quantity       `json:"maxFeePerGas" doc:"the most it pays per gas"`
	MaxPriorityFeePerGas Quantity       `json:"maxPriorityFeePerGas" doc:"the most of it for the fee recipient"`
	Payer                *types.Account `json:"payer" doc:"the account that pays the fee; null if the sender does"`
	ValidUntil           *uint64        `json:"validUntil" doc:"the latest time of a block that may have it, in Unix milliseconds; null for none"`
	Executable           bool           `json:"executable" doc:"whether a block may take it; else it is held for an earlier nonce or for balance"`
}

// MempoolStats is the result of [GetMempoolStats].
type MempoolStats struct {
	PendingCount       uint64    `json:"pending_count" doc:"transactions in the pool"`
	TotalGas           types.Gas `json:"total_gas" doc:"the sum of their gas limits"`
	BackpressureActive bool      `json:"backpressure_active" doc:"whether the pool is nearly full: from 90 % of its limits on, until under 75 %"`
	OldestTxAgeSecs    uint64    `json:"oldest_tx_age_secs" doc:"seconds since the oldest came"`

	HeldCount uint64         `json:"held_count" doc:"transactions that wait for an earlier nonce or for balance: at most a tenth of the pool"`
	Classes   []MempoolClass `json:"classes" doc:"each class of transactions, and what happened to it for want of room"`
}

// MempoolClass describes how a class of transactions was affected by lack of space.
type MempoolClass struct {
	Class     string `json:"class" doc:"held (for an earlier nonce or balance), under_base_fee, executable, sponsored (its payer pays for 4,096 already), or signatures and suspects (not verified yet)"`
	Refused   uint64 `json:"refused" doc:"how many were refused since the node started"`
	Displaced uint64 `json:"displaced" doc:"how many were pending, and made way for others, since the node started"`
	Refusing  bool   `json:"refusing" doc:"whether one was refused within the last minute"`
}
