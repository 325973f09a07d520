package loadgen

import (
	"context"
	"testing"
	"time"
)

// slowChain has a transaction in each block, takes a second for each answer, and has the next block by then.
type slowChain struct {
	clock  *fakeClock
	watch  *watcher
	blocks uint64
}

func (*slowChain) Height(context.Context) (uint64, error) { return 0, nil }

func (c *slowChain) BlockTransactions(_ context.Context, height uint64) ([][32]byte, error) {
	c.clock.time.Add(int64(time.Second))
	c.watch.see(min(height+5, c.blocks))
	return [][32]byte{{byte(height)}}, nil
}

// TestSettleReadsWhatItSaw counts every block that was seen in time, even if reading the blocks takes longer than
// patience.
func TestSettleReadsWhatItSaw(t *testing.T) {
	const blocks = 20
	clock, submissions := new(fakeClock), map[[32]byte]*submission{}
	for i := range blocks {
		submissions[[32]byte{byte(i + 1)}] = &submission{accepted: true}
	}
	chain := &slowChain{clock: clock, blocks: blocks}
	w := newWatcher(chain, clock, submissions, 0)
	chain.watch = w
	w.see(blocks - 5)
	if err := w.settle(t.Context(), blocks, 10*time.Second, func(int64) {}); err != nil || w.included != blocks {
		t.Errorf("%d of %d, error %v", w.included, blocks, err)
	}
	w = newWatcher(chain, clock, submissions, 0)
	chain.watch = w
	if err := w.settle(t.Context(), blocks, 10*time.Second, func(int64) {}); err != nil || w.included != 0 {
		t.Errorf("%d where no block was seen, error %v", w.included, err)
	}
}
