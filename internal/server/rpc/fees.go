package rpc

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

const (
	// suggestionBlocks is the number of blocks behind the suggestion of svc_gasPrice.
	suggestionBlocks = 20
	minimumTip       = 1
	bpsDenominator   = 10_000
	// feeHistoryTime bounds a fee history. Blocks read by then are cached, so that a retry gets further.
	feeHistoryTime = 5 * time.Second
	// maxCachedTips bounds the cached tips of blocks, of 24 bytes each.
	maxCachedTips = 1 << 20
)

type feeHandlers struct {
	ledger Ledger
	blocks *blockReader
	tips   tipCache
}

func (h *feeHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GasPrice, h.gasPrice),
		bind(e, api.GetFeeMarket, h.getFeeMarket),
		bind(e, api.GetFeeHistory, h.getFeeHistory),
	}
}

func (h *feeHandlers) getFeeMarket(context.Context, api.NoParams) (api.FeeMarket, error) {
	tip, err := h.ledger.Latest()
	if err != nil {
		return api.FeeMarket{}, err
	}
	header, p := tip.Header.Header, tip.Parameters
	return api.FeeMarket{
		BaseFee: tip.Env.BaseFee, Utilization: api.Ratio(uint64(header.GasUsed), uint64(header.GasLimit)),
		TargetUtilization: api.Ratio(uint64(p.TargetBPS), bpsDenominator), MinBaseFee: p.MinBaseFee, MaxBaseFee: p.MaxBaseFee,
	}, nil
}

func (h *feeHandlers) gasPrice(ctx context.Context, _ api.NoParams) (api.GasPriceInfo, error) {
	tip, err := h.ledger.Latest()
	if err != nil {
		return api.GasPriceInfo{}, err
	}
	suggested, err := h.suggestTip(ctx, tip.Header.Header.Height, tip.Hash)
	if err != nil {
		return api.GasPriceInfo{}, err
	}
	base := tip.Env.BaseFee
	most, err := (2 * base).Add(suggested) // the base fee has at most 53 bits
	if err != nil {
		most = math.MaxUint64
	}
	return api.GasPriceInfo{
		BaseFee: api.Quantity(base), SuggestedPriorityFee: api.Quantity(suggested), SuggestedMaxFee: api.Quantity(most),
	}, nil
}

// suggestion is the suggested tip at a head.
type suggestion struct {
	head types.BlockHash
	tip  types.Amount
}

// suggestTip returns the median tip per gas of the transactions in the last blocks.
func (h *feeHandlers) suggestTip(ctx context.Context, height types.Height, head types.BlockHash) (types.Amount, error) {
	if known := h.tips.suggested.Load(); known != nil && known.head == head {
		return known.tip, nil
	}
	var all []tipShare
	for i := range min(suggestionBlocks, height+1) {
		shares, err := h.tipsOf(ctx, height-i)
		if err != nil {
			if absent(err) == nil { // pruned, or undone meanwhile
				break
			}
			return 0, err
		}
		all = append(all, shares...)
	}
	slices.SortFunc(all, func(a, b tipShare) int { return cmp.Compare(a.tip, b.tip) })
	median := percentile(all, 50, func(s tipShare) uint64 { return s.count })
	suggested := suggestion{head, max(median, minimumTip)}
	h.tips.suggested.Store(&suggested)
	return suggested.tip, nil
}

func (h *feeHandlers) getFeeHistory(ctx context.Context, p api.GetFeeHistoryParams) (api.FeeHistory, error) {
	count, err := limit("blocks", p.Blocks, api.DefaultFeeBlocks, api.MaxFeeBlocks)
	if err != nil {
		return api.FeeHistory{}, err
	}
	percentiles := p.Percentiles
	if percentiles == nil {
		percentiles = api.DefaultPercentiles()
	}
	if err := checkPercentiles(percentiles); err != nil {
		return api.FeeHistory{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, feeHistoryTime)
	defer cancel()
	tip, err := h.ledger.Latest()
	if err != nil {
		return api.FeeHistory{}, err
	}
	newest := tip.Header.Header.Height
	oldest := max(h.blocks.chain.OldestHeight(), newest-min(newest, types.Height(count-1)))
	history := api.FeeHistory{
		OldestBlock: oldest, BaseFeePerGas: []api.Quantity{}, GasUsedRatio: []api.Fraction{}, Reward: [][]api.Quantity{},
	}
	for height := oldest; height <= newest; height++ {
		header, err := h.blocks.chain.Header(height)
		if err != nil {
			return api.FeeHistory{}, err
		}
		shares, err := h.tipsOf(ctx, height)
		if err != nil {
			return api.FeeHistory{}, err
		}
		rewards := make([]api.Quantity, len(percentiles))
		for i, p := range percentiles {
			rewards[i] = api.Quantity(percentile(shares, p, func(s tipShare) uint64 { return uint64(s.gas) }))
		}
		history.BaseFeePerGas = append(history.BaseFeePerGas, api.Quantity(header.Header.BaseFee))
		history.GasUsedRatio = append(history.GasUsedRatio, api.Ratio(
			uint64(header.Header.GasUsed), uint64(header.Header.GasLimit),
		))
		history.Reward = append(history.Reward, rewards)
	}
	history.BaseFeePerGas = append(history.BaseFeePerGas, api.Quantity(tip.Env.BaseFee))
	return history, nil
}

func checkPercentiles(percentiles []float64) error {
	if len(percentiles) > api.MaxPercentiles {
		return jsonrpc.InvalidParam("percentiles", "there are more than 100 percentiles", "reason", "out_of_range",
			"max", api.MaxPercentiles)
	}
	for i, p := range percentiles {
		if p < 0 || p > 100 || i > 0 && p < percentiles[i-1] {
			return jsonrpc.InvalidParam("percentiles", "percentiles must ascend from 0 to 100", "reason", "out_of_range",
				"min", 0, "max", 100)
		}
	}
	return nil
}

// tipShare is the part of a block that paid one tip, the price per gas above the base fee.
type tipShare struct {
	tip   types.Amount
	gas   types.Gas // gas used
	count uint64    // number of transactions
}

// percentile returns the smallest tip at which the cumulative weight of shares, in ascending order of tips, reaches p
// percent of the total; 0 if there are no shares.
func percentile(shares []tipShare, p float64, weight func(tipShare) uint64) types.Amount {
	var total, reached uint64
	for _, s := range shares {
		total += weight(s)
	}
	threshold := uint64(math.Ceil(float64(total) * p / 100))
	for _, s := range shares {
		if reached += weight(s); reached >= threshold {
			return s.tip
		}
	}
	return 0
}

// tipsOf returns the tips that a block's transactions paid, in ascending order.
func (h *feeHandlers) tipsOf(ctx context.Context, height types.Height) ([]tipShare, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	header, err := h.blocks.chain.Header(height)
	if err != nil {
		return nil, err
	}
	hash := header.Header.Hash()
	if header.Header.GasUsed == 0 {
		return nil, nil
	}
	if known, ok := h.tips.get(hash); ok {
		return known, nil
	}
	executed, err := h.blocks.executed(height)
	if err != nil {
		return nil, err
	}
	shares := newTipShares(executed)
	h.tips.put(executed.block.Header.Hash(), shares)
	return shares, nil
}

func newTipShares(e executedBlock) []tipShare {
	shares := make([]tipShare, len(e.receipts))
	baseFee := e.block.Header.BaseFee
	for i := range shares {
		tx := &e.block.Transactions[i]
		tip := fees.Price(baseFee, tx.MaxFeePerGas, tx.MaxPriorityFeePerGas) - baseFee
		shares[i] = tipShare{tip, e.receipts[i].GasUsed, 1}
	}
	slices.SortFunc(shares, func(a, b tipShare) int { return cmp.Compare(a.tip, b.tip) })
	merged := shares[:0]
	for _, s := range shares {
		if last := len(merged) - 1; last >= 0 && merged[last].tip == s.tip {
			merged[last].gas += s.gas
			merged[last].count++
			continue
		}
		merged = append(merged, s)
	}
	return slices.Clone(merged)
}

// tipCache caches the tips of blocks and evicts the oldest entries. Its keys are hashes, as a development chain can be
// reverted.
type tipCache struct {
	suggested atomic.Pointer[suggestion]
	limit     int // number of shares

	mu     sync.Mutex
	blocks map[types.BlockHash][]tipShare
	order  []types.BlockHash
	size   int
}

func (c *tipCache) get(block types.BlockHash) ([]tipShare, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shares, ok := c.blocks[block]
	return shares, ok
}

func (c *tipCache) put(block types.BlockHash, shares []tipShare) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.blocks == nil {
		c.blocks = make(map[types.BlockHash][]tipShare)
	}
	if _, known := c.blocks[block]; known {
		return
	}
	c.blocks[block] = shares
	c.order = append(c.order, block)
	c.size += len(shares)
	for c.size > c.limit && len(c.order) > 1 {
		oldest := c.order[0]
		c.size -= len(c.blocks[oldest])
		delete(c.blocks, oldest)
		c.order = c.order[1:]
	}
}
