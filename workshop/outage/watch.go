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

// watcher follows the blocks of all members, and records every signed header.
type watcher struct {
	running sync.WaitGroup
	resting atomic.Bool // blocks that arrive meanwhile are not measured

	mu       sync.Mutex
	blocks   map[types.Height]types.BlockHash
	heights  map[*member]types.Height // last height seen of each
	highest  types.Height
	arrivals []time.Time // of each new height
	double   []string    // heights with two headers
	early    []string    // blocks whose timestamps were far in the future at arrival
}

func newWatcher() *watcher {
	return &watcher{blocks: map[types.Height]types.BlockHash{}, heights: map[*member]types.Height{}}
}

// follow follows a member from block 0 until ctx ends, across its restarts.
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

// watch follows a member from a block on, until the watcher rests or the member stops.
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

// mostEarly bounds how far a block's timestamp may be ahead of the clock, as no single member's clock may determine it.
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
	if ahead := time.UnixMilli(int64(block.TimestampMs)).Sub(now); ahead > mostEarly {
		w.early = append(w.early, fmt.Sprintf("block %d of %s is %v ahead", height, m.name, ahead))
	}
}

// next returns the time of the first new block at or after a time.
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

// gap returns the longest time between blocks since a time.
func (w *watcher) gap(since time.Time) time.Duration {
	w.mu.Lock()
	times := slices.Clone(w.arrivals)
	w.mu.Unlock()
	return longestGap(times, since)
}

// head returns the greatest height seen.
func (w *watcher) head() types.Height {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.highest
}

// wrong returns the heights with two headers, and the blocks that arrived too early, after waiting for all blocks of
// the members up to the current head.
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
