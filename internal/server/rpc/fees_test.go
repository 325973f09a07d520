package rpc

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// paying is a transfer that pays a tip.
func (c *testChain) paying(nonce uint64, tip types.Amount) types.SignedTransaction {
	tx := c.draft(alice, nonce, transfer(account(bob), 1))
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 1000, tip
	return c.signed(alice, tx)
}

func TestGasPrice(t *testing.T) {
	c := newTestChain(t)
	price := func() (base, tip, most api.Quantity) {
		p := call[api.GasPriceInfo](c, "svc_gasPrice")
		return p.BaseFee, p.SuggestedPriorityFee, p.SuggestedMaxFee
	}
	if base, tip, most := price(); base != 10 || tip != 1 || most != 21 {
		t.Errorf("without transactions: %d %d %d", base, tip, most)
	}
	c.include(c.paying(0, 0), c.paying(1, 0))
	if _, tip, _ := price(); tip != 1 {
		t.Errorf("with tips of 0: %d", tip)
	}
	c.include(c.paying(2, 7), c.paying(3, 9), c.paying(4, 500))
	if base, tip, most := price(); base != 10 || tip != 7 || most != 27 {
		t.Errorf("the median of 0 0 7 9 500: %d %d %d", base, tip, most)
	}
	for range suggestionBlocks - 1 {
		c.include()
	}
	if _, tip, _ := price(); tip != 9 {
		t.Errorf("the median of 7 9 500, the oldest of the last blocks: %d", tip)
	}
	c.include()
	if _, tip, _ := price(); tip != 1 {
		t.Errorf("after they are too old: %d", tip)
	}
}

func TestTipsAreWhatWasPaid(t *testing.T) {
	c := newTestChain(t)
	tx := c.draft(alice, 0, transfer(account(bob), 1))
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 14, 12 // of which 4 are left over the base fee
	c.include(c.signed(alice, tx))
	if got := call[api.GasPriceInfo](c, "svc_gasPrice").SuggestedPriorityFee; got != 4 {
		t.Errorf("got %d", got)
	}
}

func TestFeeMarketIsTheNextBlocks(t *testing.T) {
	c := newTestChain(t)
	parameters := c.ledger.Tip().Parameters
	parameters.GasLimit, parameters.TargetBPS = 4_000_000, 100
	c.include(c.sign(admin, 0, types.Configure{Parameters: parameters}))
	var txs []types.SignedTransaction
	for nonce := range uint64(10) {
		txs = append(txs, c.paying(nonce, 1))
	}
	head := c.include(txs...).Header
	got := call[api.FeeMarket](c, "svc_getFeeMarket")
	if got.Utilization.String() != "0.025" || got.TargetUtilization.String() != "0.01" || got.MinBaseFee != 10 ||
		got.MaxBaseFee != 1_000_000 {
		t.Errorf("got %+v", got)
	}
	next := c.include().Header
	if got.BaseFee != next.BaseFee || got.BaseFee <= head.BaseFee {
		t.Errorf("base fee %d after %d, the next block has %d", got.BaseFee, head.BaseFee, next.BaseFee)
	}
}

func TestFeeHistory(t *testing.T) {
	c := newTestChain(t)
	c.include(c.paying(0, 1), c.paying(1, 2), c.paying(2, 3), c.paying(3, 4))
	c.include()
	history := call[api.FeeHistory](c, "svc_getFeeHistory")
	if history.OldestBlock != 0 || len(history.BaseFeePerGas) != 4 || len(history.GasUsedRatio) != 3 ||
		len(history.Reward) != 3 {
		t.Errorf("got %+v", history)
	}
	if want := []api.Quantity{1, 2, 4}; !slices.Equal(history.Reward[1], want) {
		t.Errorf("rewards %v, want %v", history.Reward[1], want)
	}
	if history.GasUsedRatio[1].String() != "0.00004" || history.GasUsedRatio[2] != 0 {
		t.Errorf("ratios %v", history.GasUsedRatio)
	}
	history = call[api.FeeHistory](c, "svc_getFeeHistory", 1, []float64{0, 25.5, 100})
	if history.OldestBlock != 2 || !slices.Equal(history.Reward[0], []api.Quantity{0, 0, 0}) {
		t.Errorf("got %+v", history)
	}
	if history = call[api.FeeHistory](c, "svc_getFeeHistory", 2, []float64{}); len(history.Reward[0]) != 0 {
		t.Errorf("without percentiles: %v", history.Reward)
	}
	if history = call[api.FeeHistory](
		c, "svc_getFeeHistory", 2, []float64{0, 26, 50, 51, 100},
	); !slices.Equal(history.Reward[0], []api.Quantity{1, 2, 2, 3, 4}) {
		t.Errorf("got %v", history.Reward[0])
	}
	for _, count := range []any{0, 1025} {
		if data := c.refused(api.ErrOutOfRange, "svc_getFeeHistory", count); data["min"] != 1.0 || data["max"] != 1024.0 {
			t.Errorf("got %v", data)
		}
	}
	for _, bad := range []any{[]float64{-1}, []float64{100.1}, []float64{50, 10}, "50", make([]float64, 101), []any{nil}} {
		if data := c.refused(invalid, "svc_getFeeHistory", 1, bad); data["param"] != "percentiles" {
			t.Errorf("%v: got %v", bad, data)
		}
	}
}

// TestPercentileAgainstNaive lays every unit of weight out in a row.
func TestPercentileAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tips := rapid.SliceOfN(rapid.Uint64Range(0, 5), 0, 20).Draw(t, "tips")
		slices.Sort(tips)
		var shares []tipShare
		var row []types.Amount
		for i, tip := range tips {
			weight := rapid.Uint64Range(1, 9).Draw(t, "weight")
			shares = append(shares, tipShare{tip: types.Amount(tip), count: weight})
			row = append(row, slices.Repeat([]types.Amount{types.Amount(tips[i])}, int(weight))...)
		}
		p := float64(rapid.IntRange(0, 100).Draw(t, "p"))
		want := types.Amount(0)
		if len(row) > 0 {
			want = row[max(0, int(math.Ceil(float64(len(row))*p/100))-1)]
		}
		if got := percentile(shares, p, func(s tipShare) uint64 { return s.count }); got != want {
			t.Errorf("percentile %v of %v: got %d, want %d", p, row, got, want)
		}
	})
}

func TestTipCacheIsBounded(t *testing.T) {
	cache := tipCache{limit: 10}
	for i := range byte(20) {
		cache.put(types.BlockHash{i}, make([]tipShare, 3))
		cache.put(types.BlockHash{i}, make([]tipShare, 3))
		if cache.size > 10 || len(cache.blocks) != len(cache.order) || cache.size != 3*len(cache.order) {
			t.Fatalf("%d shares of %d blocks", cache.size, len(cache.blocks))
		}
	}
	if _, ok := cache.get(types.BlockHash{19}); !ok {
		t.Error("the newest block is forgotten")
	}
	if _, ok := cache.get(types.BlockHash{0}); ok {
		t.Error("the oldest block is remembered")
	}
}

func TestFeeHistoryStopsWithItsCall(t *testing.T) {
	c := newTestChain(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := groupOf[*feeHandlers](c).getFeeHistory(
		ctx, api.GetFeeHistoryParams{},
	); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
