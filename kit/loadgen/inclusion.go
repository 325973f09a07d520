package loadgen

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// pollInterval is the interval between polls of the chain's height. It limits the precision of a block's time.
	pollInterval = 20 * time.Millisecond
	// settleInterval is the interval between readings of new blocks.
	settleInterval = 200 * time.Millisecond
	// interruptedTime bounds the time for reading blocks after a run was interrupted.
	interruptedTime = 5 * time.Second
)

// sighting is a height and the time at which it was first seen.
type sighting struct {
	height uint64
	at     time.Duration
}

// block is a block that holds transactions of the run.
type block struct {
	at    time.Duration // time at which it was seen
	count int64         // number of the run's transactions in it
}

// watcher records when blocks appear. It reads their contents only after all calls are sent, as the node shares our
// cores.
type watcher struct {
	chain       Chain
	clock       clock
	submissions map[[32]byte]*submission

	mu   sync.Mutex
	seen []sighting // ascending; the first is the head before the run

	read     uint64 // height up to which blocks were read
	blocks   []block
	included int64
	latency  *hdrhistogram.Histogram // from sending to inclusion, in ns
}

// newWatcher returns a watcher of a chain whose latest block is at head.
func newWatcher(chain Chain, c clock, submissions map[[32]byte]*submission, head uint64) *watcher {
	return &watcher{
		chain:       chain,
		clock:       c,
		submissions: submissions,
		seen:        []sighting{{height: head}},
		read:        head,
		latency:     newHistogram(),
	}
}

// follow polls the height until ctx ends. It ignores failures, as the next poll makes up for them.
func (w *watcher) follow(ctx context.Context) {
	for w.clock.waitUntil(ctx, w.clock.now()+pollInterval) {
		if height, err := w.chain.Height(ctx); err == nil {
			w.see(height)
		}
	}
}

func (w *watcher) see(height uint64) {
	at := w.clock.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if height > w.seen[len(w.seen)-1].height {
		w.seen = append(w.seen, sighting{height, at})
	}
}

// settle reads blocks until the accepted transactions are included, patience runs out or ctx ends. It calls progress
// with the number of included transactions.
func (w *watcher) settle(
	ctx context.Context, accepted int64, patience time.Duration, progress func(included int64),
) error {
	until := w.clock.now() + patience
	for {
		begun := w.clock.now() // reading may exceed patience: also read blocks seen meanwhile
		err := w.readBlocks(ctx)
		if ctx.Err() != nil {
			rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptedTime)
			defer cancel()
			return w.readBlocks(rest)
		}
		progress(w.included)
		if err != nil || w.included >= accepted || begun >= until {
			return err
		}
		w.clock.waitUntil(ctx, w.clock.now()+settleInterval)
	}
}

// readBlocks reads the blocks seen but not read yet.
func (w *watcher) readBlocks(ctx context.Context) error {
	w.mu.Lock()
	seen := w.seen
	w.mu.Unlock()
	for _, s := range seen {
		for w.read < s.height {
			hashes, err := w.chain.BlockTransactions(ctx, w.read+1)
			if err != nil {
				return err
			}
			w.read++
			w.include(hashes, s.at)
		}
	}
	return nil
}

// include records the run's transactions in a block that was seen at a time.
func (w *watcher) include(hashes [][32]byte, at time.Duration) {
	var count int64
	for _, hash := range hashes {
		if s, ok := w.submissions[hash]; ok {
			count++
			_ = w.latency.RecordValue(int64(max(at-s.sent, 0))) // latencies beyond the histogram exceed any patience
		}
	}
	if count > 0 {
		w.blocks = append(w.blocks, block{at, count})
		w.included += count
	}
}

// report summarizes the inclusion of transactions.
func (w *watcher) report(accepted int64) *Inclusion {
	return &Inclusion{
		Accepted: accepted, Included: w.included, Blocks: len(w.blocks), PerSecond: fullRate(w.blocks),
		Latency: percentiles(w.latency),
	}
}

// fullRate returns the rate of inclusion between the first block and the last full one, or nil for fewer than three
// blocks. It excludes the first block, whose interval began before the load, and the last block, which is partial.
func fullRate(blocks []block) *float64 {
	if len(blocks) < 3 {
		return nil
	}
	last := len(blocks) - 2
	var count int64
	for _, b := range blocks[1 : last+1] {
		count += b.count
	}
	span := blocks[last].at - blocks[0].at
	if span <= 0 {
		return nil
	}
	rate := float64(count) / span.Seconds()
	return &rate
}
