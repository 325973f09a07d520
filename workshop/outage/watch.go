package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// watcher follows the blocks of all members, and keeps every signed header that it ever sees.
type watcher struct {
	running sync.WaitGroup
	resting atomic.Bool // what members send it is not to be measured

	mu       sync.Mutex
	blocks   map[types.Height]types.BlockHash
	heights  map[*member]types.Height // the last that was seen of each
	highest  types.Height
	arrivals []time.Time // of each new height
	double   []string    // heights with two headers
	early    []string    // of blocks whose time was far ahead when they came
}

func newWatcher() *watcher {
	return &watcher{blocks: map[types.Height]types.BlockHash{}, heights: map[*member]types.Height{}}
}

// follow follows a member from block 0 on until ctx ends, over its restarts.
func (w *watcher) follow(ctx context.Context, m *member) {
	w.running.Go(func() {
		for ctx.Err() == nil {
			w.mu.Lock()
			from := w.heights[m]
			w.mu.Unlock()
			if !w.resting.Load() {
				w.watch(ctx, m, from)
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	})
}

// watch follows a member from a block on until it rests or the member does not run.
func (w *watcher) watch(ctx context.Context, m *member, from types.Height) {
	for block, err := range m.client.SubscribeBlocks(ctx, &from) {
		if err != nil {
			return
		}
		if w.see(m, block); w.resting.Load() {
			return
		}
	}
}

// mostEarly is how far ahead of the clock a block's time may be: no member's clock alone may set it.
const mostEarly = 5 * time.Second

func (w *watcher) see(m *member, block api.Block) {
	height, hash, now := block.Height, block.Hash, time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, is := w.blocks[height]; is && before != hash {
		w.double = append(w.double, fmt.Sprintf("block %d is %s, and %s of %s", height, before, hash, m.name))
	}
	w.blocks[height] = hash
	w.heights[m] = height
	if height > w.highest {
		w.highest, w.arrivals = height, append(w.arrivals, now)
	}
	if ahead := time.Unix(int64(block.Timestamp), 0).Sub(now); ahead > mostEarly {
		w.early = append(w.early, fmt.Sprintf("block %d of %s is %v ahead", height, m.name, ahead))
	}
}

// next is when the first new block came at or after a time.
func (w *watcher) next(ctx context.Context, after time.Time) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for {
		w.mu.Lock()
		i, _ := slices.BinarySearchFunc(w.arrivals, after, time.Time.Compare)
		if i < len(w.arrivals) {
			defer w.mu.Unlock()
			return w.arrivals[i], nil
		}
		w.mu.Unlock()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("no block came: %w", ctx.Err())
		}
	}
}

// gap is the longest time between two blocks, from a time until now.
func (w *watcher) gap(since time.Time) time.Duration {
	w.mu.Lock()
	times := slices.Clone(w.arrivals)
	w.mu.Unlock()
	return longestGap(times, since)
}

// head is the highest block that was seen.
func (w *watcher) head() types.Height {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.highest
}

// wrong are the heights of which two headers were seen, and the blocks that came too early, once all blocks of the
// members up to the present head were seen.
func (w *watcher) wrong(ctx context.Context, c *cluster) (double, early []string, err error) {
	head := w.head()
	err = c.await(ctx, fmt.Sprintf("block %d of all members was seen", head), func(context.Context) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, m := range c.all() {
			if w.heights[m] < head {
				return false
			}
		}
		return true
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.double, w.early, err
}
