package rpc

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/server/admission"
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
	chain  Chain
	blocks *blockReader
	tips   tipCache
	asked  atomic.Bool // for a suggestion, since follow made the last one
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
	h.asked.Store(true)
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

// follow suggests a tip for the first head, and for each one after which somebody asked for a suggestion, until ctx ends:
// reading full blocks for it is work of the node's own, for which no client waits.
func (h *feeHandlers) follow(ctx context.Context) error {
	for h.asked.Store(true); ; {
		tip, err := h.ledger.Latest()
		if err == nil {
			if h.asked.Swap(false) {
				_, _ = h.suggestTip(ctx, tip.Header.Header.Height, tip.Hash) // an error is for whoever asks
			}
			err = h.chain.WaitHead(ctx, tip.Hash)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
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

// tipsOf returns the tips that a block's transactions paid, in ascending order. It reads the block a run at a time. All
// who ask for the block share the reading: whoever has a turn reads the next run.
func (h *feeHandlers) tipsOf(ctx context.Context, height types.Height) ([]tipShare, error) {
	header, err := h.blocks.chain.Header(height)
	if err != nil || header.Header.GasUsed == 0 {
		return nil, errors.Join(err, ctx.Err())
	}
	count, err := h.blocks.chain.TransactionCount(height)
	if err != nil {
		return nil, err
	}
	block := place{header: header.Header, hash: header.Header.Hash()}
	for tips := h.tips.of(block.hash); ; {
		if err := errors.Join(ctx.Err(), admission.Yield(ctx)); err != nil {
			return nil, err
		}
		shares, grown, err := tips.read(h.blocks, block, count)
		h.tips.grow(tips, grown)
		if err != nil || shares != nil {
			return shares, err
		}
	}
}

// blockTips holds the tips of a block, or of its first transactions.
type blockTips struct {
	size int // number of shares, and 1 for the entry; guarded by the cache's lock

	mu     sync.Mutex // guards the fields below
	next   uint32     // index of the first transaction not read yet
	byTip  map[types.Amount]tipShare
	shares []tipShare // ascending; nil until all transactions are read
}

// read reads the next run of a block of count transactions, if any is left. It returns the tips once all are read, and
// by how many shares the entry has grown.
func (t *blockTips) read(blocks *blockReader, block place, count int) (shares []tipShare, grown int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shares != nil {
		return t.shares, 0, nil
	}
	run, err := blocks.readRun(nil, block, t.next)
	if err != nil {
		return nil, 0, err
	}
	before := len(t.byTip)
	for i := range run {
		tip := fees.Price(block.header.BaseFee, run[i].tx.MaxFeePerGas, run[i].tx.MaxPriorityFeePerGas) - block.header.BaseFee
		share := t.byTip[tip]
		t.byTip[tip] = tipShare{tip, share.gas + run[i].receipt.GasUsed, share.count + 1}
	}
	grown = len(t.byTip) - before
	if t.next += uint32(len(run)); int(t.next) >= count {
		t.shares = slices.SortedFunc(maps.Values(t.byTip), func(a, b tipShare) int { return cmp.Compare(a.tip, b.tip) })
		t.byTip = nil
	}
	return t.shares, grown, nil
}

// tipCache caches the tips of blocks and evicts the oldest entries. Its keys are hashes, as a development chain can be
// reverted.
type tipCache struct {
	suggested atomic.Pointer[suggestion]
	limit     int // on size

	mu     sync.Mutex // guards the fields below
	blocks map[types.BlockHash]*blockTips
	order  []types.BlockHash
	size   int // of all entries
}

// of returns the entry of a block, which it creates if there is none.
func (c *tipCache) of(block types.BlockHash) *blockTips {
	c.mu.Lock()
	defer c.mu.Unlock()
	tips := c.blocks[block]
	if tips == nil {
		tips = &blockTips{size: 1, byTip: make(map[types.Amount]tipShare)}
		c.blocks[block] = tips
		c.order = append(c.order, block)
		c.size++
	}
	return tips
}

// grow records by how many shares an entry has grown. If an entry is evicted while it is being read, only its current
// readers get the complete one.
func (c *tipCache) grow(tips *blockTips, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tips.size == 0 {
		return
	}
	tips.size += by
	c.size += by
	for c.size > c.limit && len(c.order) > 1 {
		oldest := c.blocks[c.order[0]]
		c.size -= oldest.size
		oldest.size = 0
		delete(c.blocks, c.order[0])
		c.order = c.order[1:]
	}
}
