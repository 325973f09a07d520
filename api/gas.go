package api

import "github.com/cairn-chain/cairn/types"

// Methods that send and try transactions, and on what gas costs.
var (
	SendRawTransaction = define[RawTransactionParams, types.TxID]("svc_sendRawTransaction",
		"Submits a signed transaction to the mempool and gives its hash.", admissionErrors...)
	SendRawTransactionSync = define[RawTransactionParams, Receipt]("svc_sendRawTransactionSync",
		"Submits a signed transaction, or takes one already known, and waits for its receipt, 30 s at most.",
		with(admissionErrors, ErrTimeUp)...)
	Call = define[RawTransactionParams, Data]("svc_call",
		"Runs a transaction on the latest state without sending it, and gives its output. Nonce and fees are not asked.",
		callErrors...)
	EstimateGas = define[RawTransactionParams, Quantity]("svc_estimateGas",
		"The gas limit that a transaction needs on the latest state, with a reserve of 5 %.", callErrors...)
	GasPrice               = define[NoParams, GasPriceInfo]("svc_gasPrice", "What to pay per gas now.")
	GetPendingTransactions = define[PendingTransactionsParams, []PendingTransaction]("svc_getPendingTransactions",
		"What is in the mempool: of one sender ascending by nonce, else the newest first.", ErrWrongNetwork, ErrOutOfRange)
	GetMempoolStats = define[NoParams, MempoolStats]("svc_getMempoolStats", "How full the mempool is.")
	GetFeeMarket    = define[NoParams, FeeMarket]("svc_getFeeMarket", "The base fee of the next block and its rule's bounds.")
	GetFeeHistory   = define[GetFeeHistoryParams, FeeHistory]("svc_getFeeHistory",
		"Base fees, use and priority fees of the latest blocks.", ErrOutOfRange, ErrTimeUp)
)

// Bounds of [GetFeeHistory].
const (
	DefaultFeeBlocks = 10
	MaxFeeBlocks     = 1024
	MaxPercentiles   = 100
)

// Bounds of [GetPendingTransactions].
const (
	DefaultPending = 100
	MaxPending     = 2000 // over what the pool takes of one sender
)

// DefaultPercentiles are those of [GetFeeHistory] when none are asked.
func DefaultPercentiles() []float64 { return []float64{10, 50, 90} }

// RawTransactionParams are the parameters of the methods that take an encoded transaction.
type RawTransactionParams struct {
	Transaction Data `json:"transaction" doc:"bincode(SignedTransaction); without the signature's 64 bytes where none is needed"`
}

// GasPriceInfo is the result of [GasPrice].
type GasPriceInfo struct {
	BaseFee              Quantity `json:"base_fee" doc:"the next block's base fee"`
	SuggestedPriorityFee Quantity `json:"suggested_priority_fee" doc:"the median priority fee of the last 20 blocks, at least 1"`
	SuggestedMaxFee      Quantity `json:"suggested_max_fee" doc:"twice the base fee and the suggested priority fee"`
}

// PendingTransactionsParams are the parameters of [GetPendingTransactions].
type PendingTransactionsParams struct {
	Filter PendingFilter `json:"filter" jsonrpc:"optional" doc:"which transactions; by default of all senders"`
}

// PendingFilter says which pending transactions are asked.
type PendingFilter struct {
	Sender string  `json:"sender,omitempty" doc:"only of this account: a taproot address, or a public key in hex"`
	Limit  *uint64 `json:"limit,omitempty" doc:"at most so many, 1 to 2,000; 100 by default"`
}

// PendingTransaction is an item of the result of [GetPendingTransactions]: what a list shows. [GetTransactionByHash] has the rest.
type PendingTransaction struct {
	Hash                 types.TxID    `json:"hash" doc:"the transaction's hash"`
	From                 types.Account `json:"from" doc:"the sender"`
	To                   types.Account `json:"to" doc:"as of the transaction"`
	Nonce                Quantity      `json:"nonce" doc:"the sender's count of transactions before it"`
	Type                 string        `json:"type" doc:"transfer, deploy, call or configure"`
	Value                Quantity      `json:"value" doc:"the native amount moved"`
	GasLimit             Quantity      `json:"gasLimit" doc:"the most gas that it may use"`
	MaxFeePerGas         Quantity      `json:"maxFeePerGas" doc:"the most it pays per gas"`
	MaxPriorityFeePerGas Quantity      `json:"maxPriorityFeePerGas" doc:"the most of that which goes to the fee recipient"`
	Executable           bool          `json:"executable" doc:"whether a block may take it; else it is held for an earlier nonce or for balance"`
}

// MempoolStats is the result of [GetMempoolStats].
type MempoolStats struct {
	PendingCount       uint64    `json:"pending_count" doc:"transactions in the pool"`
	TotalGas           types.Gas `json:"total_gas" doc:"the sum of their gas limits"`
	BackpressureActive bool      `json:"backpressure_active" doc:"whether the pool refuses new transactions"`
	OldestTxAgeSecs    uint64    `json:"oldest_tx_age_secs" doc:"seconds since the oldest came"`
}

// FeeMarket is the result of [GetFeeMarket].
type FeeMarket struct {
	BaseFee           types.Amount `json:"base_fee" doc:"the next block's base fee per gas"`
	Utilization       Fraction     `json:"utilization" doc:"the latest block's gas used by its gas limit"`
	TargetUtilization Fraction     `json:"target_utilization" doc:"the utilization at which the base fee stands still"`
	MinBaseFee        types.Amount `json:"min_base_fee" doc:"the base fee's lower bound"`
	MaxBaseFee        types.Amount `json:"max_base_fee" doc:"the base fee's upper bound"`
}

// GetFeeHistoryParams are the parameters of [GetFeeHistory].
type GetFeeHistoryParams struct {
	Blocks      *uint64   `json:"blocks" jsonrpc:"optional" doc:"the number of blocks, 1 to 1,024; 10 by default"`
	Percentiles []float64 `json:"percentiles" jsonrpc:"optional" doc:"which priority fees, ascending from 0 to 100; 10, 50 and 90 by default"`
}

// FeeHistory is the result of [GetFeeHistory].
type FeeHistory struct {
	OldestBlock   types.Height `json:"oldestBlock" doc:"the first block's height"`
	BaseFeePerGas []Quantity   `json:"baseFeePerGas" doc:"each block's base fee, then the next block's"`
	GasUsedRatio  []Fraction   `json:"gasUsedRatio" doc:"each block's gas used by its gas limit"`
	Reward        [][]Quantity `json:"reward" doc:"of each block the priority fees at the percentiles, weighted by gas used"`
}
