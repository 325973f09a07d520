package rpc

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
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
		t.Errorf("with tips of 0: got %d, want 1", tip)
	}
	c.include(c.paying(2, 7), c.paying(3, 9), c.paying(4, 500))
	if base, tip, most := price(); base != 10 || tip != 7 || most != 27 {
		t.Errorf("the median of 0 0 7 9 500: %d %d %d", base, tip, most)
	}
	for range suggestionBlocks - 1 {
		c.include()
	}
	if _, tip, _ := price(); tip != 9 {
		t.Errorf("the median of 7 9 500, the oldest of the last blocks: got %d, want 9", tip)
	}
	c.include()
	if _, tip, _ := price(); tip != 1 {
		t.Errorf("after they are too old: got %d, want 1", tip)
	}
}

func TestTipsAreWhatWasPaid(t *testing.T) {
	c := newTestChain(t)
	tx := c.draft(alice, 0, transfer(account(bob), 1))
	tx.MaxFeePerGas, tx.MaxPriorityFeePerGas = 14, 12 // leaves 4 above the base fee
	c.include(c.signed(alice, tx))
	if got := call[api.GasPriceInfo](c, "svc_gasPrice").SuggestedPriorityFee; got != 4 {
		t.Errorf("got %d, want 4", got)
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
		t.Errorf("without percentiles: got %v", history.Reward)
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

// TestPercentileAgainstNaive writes every unit of weight into a list.
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
	cache := tipCache{limit: 10, blocks: map[types.BlockHash]*blockTips{}}
	for i := range byte(20) {
		for range 2 {
			cache.grow(cache.of(types.BlockHash{i}), 1)
		}
		if cache.size > 10 || len(cache.blocks) != len(cache.order) || cache.size != 3*len(cache.order) {
			t.Fatalf("after %d blocks: size %d of %d entries, want 3 of each and 10 at most", i+1, cache.size, len(cache.blocks))
		}
	}
	if cache.blocks[types.BlockHash{19}] == nil {
		t.Error("the newest block is forgotten")
	}
	if cache.blocks[types.BlockHash{0}] != nil {
		t.Error("the oldest block is remembered")
	}
	evicted := cache.of(types.BlockHash{20})
	for i := range byte(10) {
		cache.of(types.BlockHash{30 + i})
		cache.grow(cache.of(types.BlockHash{30 + i}), 0)
	}
	before := cache.size
	if cache.grow(evicted, 5); cache.size != before {
		t.Errorf("size %d after an evicted entry has grown, want %d", cache.size, before)
	}
}

// runsRead counts the runs of transactions that are read, and calls following after each.
type runsRead struct {
	blockStore
	runs  int
	after func()
}

func (r *runsRead) TransactionsFrom(p chain.Position, yield func(chain.Included) bool) error {
	err := r.blockStore.TransactionsFrom(p, yield)
	r.runs++
	r.after()
	return err
}

// TestTipsAreReadOnce: a call that ends in the middle of a block leaves the tips that it has read to the next call.
func TestTipsAreReadOnce(t *testing.T) {
	c := newTestChain(t)
	var txs []types.SignedTransaction
	for nonce := range uint64(2*heavyItems + 1) {
		txs = append(txs, c.paying(nonce, types.Amount(nonce%7)))
	}
	c.include(txs...)
	h := groupOf[*feeHandlers](c)
	ctx, cancel := context.WithCancel(t.Context())
	read := &runsRead{blockStore: h.blocks.chain, after: cancel}
	h.blocks = &blockReader{chain: read}
	if _, err := h.tipsOf(ctx, 1); !errors.Is(err, context.Canceled) || read.runs != 1 {
		t.Errorf("a call that ends after a run: got error %v after %d runs", err, read.runs)
	}
	for range 2 {
		shares, err := h.tipsOf(t.Context(), 1)
		check(t, err)
		var count uint64
		for _, s := range shares {
			count += s.count
		}
		if len(shares) != 7 || count != uint64(len(txs)) || read.runs != 3 {
			t.Errorf("got %d tips of %d transactions after %d runs, want 7 of %d after 3", len(shares), count, read.runs, len(txs))
		}
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

// The node reads the newest blocks unprompted once after its start, and then only while clients ask.
func TestFeesAreFollowed(t *testing.T) {
	c := newTestChain(t)
	h := groupOf[*feeHandlers](c)
	reads := make(chan struct{}, 10)
	h.blocks = &blockReader{chain: &runsRead{blockStore: h.blocks.chain, after: func() { reads <- struct{}{} }}}
	c.include(c.paying(0, 5))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.follow(ctx) }()
	<-reads
	if p := call[api.GasPriceInfo](c, "svc_gasPrice"); p.SuggestedPriorityFee != 5 {
		t.Errorf("got a tip of %d, want 5", p.SuggestedPriorityFee)
	}
	c.include(c.paying(1, 5)) // a client asked before
	<-reads
	c.include(c.paying(2, 5))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("follow ended with %v", err)
	}
	if n := len(reads); n != 0 {
		t.Errorf("%d blocks were read that nobody asked for or that were read before, want 0", n)
	}
}
