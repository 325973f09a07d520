package api

import "github.com/cairn-chain/cairn/types"

// Methods on fees.
var (
	GasPrice     = define[NoParams, GasPriceInfo]("svc_gasPrice", "Suggested fees per gas for a transaction now.")
	GetFeeMarket = define[NoParams, FeeMarket](
		"svc_getFeeMarket", "The base fee of the next block and its rule's bounds.",
	)
	GetFeeHistory = define[GetFeeHistoryParams, FeeHistory]("svc_getFeeHistory",
		"Base fees, use and priority fees of the latest blocks.", ErrOutOfRange, ErrTimeUp)
)

// Bounds of [GetFeeHistory].
const (
	DefaultFeeBlocks = 10
	MaxFeeBlocks     = 1024
	MaxPercentiles   = 100
)

// DefaultPercentiles returns the percentiles that [GetFeeHistory] uses by default.
func DefaultPercentiles() []float64 { return []float64{10, 50, 90} }

// GasPriceInfo is the result of [GasPrice].
type GasPriceInfo struct {
	BaseFee              Quantity `json:"base_fee" doc:"the next block's base fee"`
	SuggestedPriorityFee Quantity `json:"suggested_priority_fee" doc:"the median priority fee of the last 20 blocks, at least 1"`
	SuggestedMaxFee      Quantity `json:"suggested_max_fee" doc:"twice the base fee and the suggested priority fee"`
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
	Reward        [][]Quantity `json:"reward" doc:"for each block, its priority fees at the percentiles, weighted by gas used"`
}
