package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// lookInterval is the interval of asking a follower for its progress.
const lookInterval = time.Second

// follower is a node that follows the node under load.
type follower struct {
	metrics string // URL
	client  *client.Client

	mu           sync.Mutex // guards the fields below
	behind       uint64     // most blocks behind in the current window
	unaware      uint64     // most missing blocks that it did not know of
	looks, ready int
}

// followers is a flag: the URLs of a follower's JSON-RPC and of its metrics, separated by a comma.
type followers []*follower

func (f *followers) String() string { return fmt.Sprint(len(*f)) }

func (f *followers) Set(urls string) error {
	rpc, metrics, found := strings.Cut(urls, ",")
	if !found {
		return errors.New("want the URLs of JSON-RPC and of metrics, with a comma between them")
	}
	c, err := client.New(rpc, client.WithRetry(0))
	if err == nil {
		*f = append(*f, &follower{metrics: metrics, client: c})
	}
	return err
}

// watch measures the follower's progress, and checks the heights that it reports, until ctx ends. Each of its responses
// lies between two of the primary's. Its height may be lower than the first of these, but never higher than the second.
func (f *follower) watch(ctx context.Context, primary *client.Client) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		if err := f.look(ctx, primary); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *follower) look(ctx context.Context, primary *client.Client) error {
	before, err := primary.BlockNumber(ctx)
	if err != nil {
		return err
	}
	status, err := f.client.SyncStatus(ctx)
	if err != nil {
		return err
	}
	after, err := primary.BlockNumber(ctx)
	if err != nil {
		return err
	}
	if status.PrimaryHeight == nil || status.BlocksBehind == nil {
		return errors.New("it does not know how far its primary is")
	}
	if status.LocalHeight > after || *status.PrimaryHeight > after ||
		*status.BlocksBehind != uint64(*status.PrimaryHeight-status.LocalHeight) {
		return fmt.Errorf("it says that it has block %d of %d, %d behind, and the primary is at %d",
			status.LocalHeight, *status.PrimaryHeight, *status.BlocksBehind, after)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	if status.Synced {
		f.ready++
	}
	f.behind = max(f.behind, over(before, status.LocalHeight))
	f.unaware = max(f.unaware, over(before, *status.PrimaryHeight))
	return nil
}

// over returns by how much one height exceeds another, or 0.
func over(a, b types.Height) uint64 {
	if a < b {
		return 0
	}
	return uint64(a - b)
}

// followHeader is the header of the table with the lines of [follower.line].
const followHeader = "| window | follower | most behind, blocks | of them unknown to it | said to be synced | " +
	heldHeader + "\n|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"

// line returns the line for a window that has ended, with the follower's progress and current use of resources.
func (f *follower) line(ctx context.Context, window, number int) (string, held, error) {
	h, err := readHeld(ctx, f.metrics)
	f.mu.Lock()
	defer f.mu.Unlock()
	line := fmt.Sprintf("| %d | %d | %d | %d | %.0f %% | %v", window, number, f.behind, f.unaware,
		100*float64(f.ready)/float64(max(1, f.looks)), h)
	f.behind, f.unaware, f.looks, f.ready = 0, 0, 0, 0
	return line, h, err
}

// compare waits until the follower has the primary's head, and compares its blocks with the primary's, from the oldest
// that neither has pruned to the head. Equal header bytes imply equal roots.
func (f *follower) compare(ctx context.Context, primary *client.Client) (oldest, head types.Height, err error) {
	if head, err = primary.BlockNumber(ctx); err != nil {
		return 0, 0, err
	}
	for {
		local, err := f.client.BlockNumber(ctx)
		if err != nil {
			return oldest, head, err
		}
		if local >= head {
			break
		}
		select {
		case <-time.After(lookInterval):
		case <-ctx.Done():
			return oldest, head, fmt.Errorf("it has block %d of %d: %w", local, head, ctx.Err())
		}
	}
	if oldest, err = f.oldest(ctx, primary); err != nil {
		return 0, head, err
	}
	for from := oldest; from <= head; {
		want, err := primary.Blocks(ctx, from, head, false)
		if err != nil || len(want) == 0 {
			return oldest, head, fmt.Errorf("the primary gives %d blocks from %d on: %w", len(want), from, err)
		}
		got, err := f.client.Blocks(ctx, from, from+types.Height(len(want))-1, false)
		if err != nil || len(got) != len(want) {
			return oldest, head, fmt.Errorf("it gives %d blocks from %d on, the primary %d: %w", len(got), from, len(want), err)
		}
		for i := range want {
			if !bytes.Equal(want[i].Raw, got[i].Raw) {
				return oldest, head, fmt.Errorf("block %d is another one than the primary's", from+types.Height(i))
			}
		}
		from += types.Height(len(want))
	}
	return oldest, head, nil
}

// oldest returns the lowest height from which both nodes have all blocks. It leaves out the next ten: they are pruned
// soon.
func (f *follower) oldest(ctx context.Context, primary *client.Client) (from types.Height, err error) {
	for _, c := range []*client.Client{primary, f.client} {
		info, err := c.NodeInfo(ctx)
		if err != nil {
			return 0, err
		}
		if info.OldestHeight > 0 {
			from = max(from, info.OldestHeight+10)
		}
	}
	return from, nil
}
