package replica

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

const (
	// ahead is how many ranges are asked for at a time. Each holds at most an answer that is being read and one that
	// waits to be imported.
	ahead = 4
	// rangeBlocks and rangeBytes bound what one range asks for: as many blocks as have together about that size.
	rangeBlocks = 256
	rangeBytes  = 4 << 20
	// requestTime is what one answer may take, attempts how often a range is asked for until the upstream is left.
	requestTime = 30 * time.Second
	attempts    = 3
	retryPause  = 200 * time.Millisecond
)

// batch is consecutive blocks whose signatures are verified.
type batch []*ledger.Received

// fetcher gets blocks from one upstream, several ranges at a time, in order.
type fetcher struct {
	upstream *upstream
	next     types.Height
	size     atomic.Int64 // bytes of a block, as the last answer had them
	ranges   chan chan batch
	wake     chan struct{} // the upstream's head has moved
	poll     func() time.Duration
}

func newFetcher(u *upstream, next types.Height, poll func() time.Duration) *fetcher {
	f := &fetcher{upstream: u, next: next, ranges: make(chan chan batch, ahead), wake: make(chan struct{}, 1), poll: poll}
	f.size.Store(rangeBytes) // until an answer tells: full blocks are worth importing while the next ones come
	return f
}

// moved tells the fetcher that the upstream's head has moved.
func (f *fetcher) moved() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// run fetches until ctx ends or the upstream fails.
func (f *fetcher) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(ahead + 1)
	group.Go(func() error {
		for {
			if f.upstream.newest() < f.next {
				if err := f.await(ctx); err != nil {
					return err
				}
				continue
			}
			from, count := f.next, types.Height(min(rangeBlocks, max(1, rangeBytes/f.size.Load())))
			to := min(from+count-1, f.upstream.newest())
			blocks := make(chan batch, 1)
			select {
			case f.ranges <- blocks:
			case <-ctx.Done():
				return ctx.Err()
			}
			f.next = to + 1
			group.Go(func() error {
				defer close(blocks)
				return f.fetch(ctx, from, to, blocks)
			})
		}
	})
	return group.Wait()
}

// await returns when the upstream's head may have moved: it said so, or it is time to ask.
func (f *fetcher) await(ctx context.Context) error {
	timer := time.NewTimer(f.poll())
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.wake:
		return nil
	case <-timer.C:
	}
	blocks, err := f.ask(ctx, f.next, f.next+rangeBlocks-1)
	if err != nil || len(blocks) == 0 {
		return err
	}
	ready := make(chan batch, 1)
	ready <- blocks
	close(ready)
	select {
	case f.ranges <- ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.next += types.Height(len(blocks))
	return nil
}

// fetch gets the blocks of a range, in as many answers as it takes.
func (f *fetcher) fetch(ctx context.Context, from, to types.Height, blocks chan<- batch) error {
	for empty := 0; from <= to; {
		got, err := f.ask(ctx, from, to)
		if err != nil {
			return err
		}
		if len(got) == 0 { // several nodes behind one address are not all as far
			if empty++; empty == attempts {
				return faulty(Stalled, "it says that it has block %d and does not give it", from)
			}
			if err := pause(ctx, retryPause<<empty); err != nil {
				return err
			}
			continue
		}
		empty = 0
		select {
		case blocks <- got:
		case <-ctx.Done():
			return ctx.Err()
		}
		from += types.Height(len(got))
	}
	return nil
}

// ask makes one request, again where no sensible answer comes, and verifies what is answered.
func (f *fetcher) ask(ctx context.Context, from, to types.Height) (batch, error) {
	var encoded [][]byte
	for attempt := 1; ; attempt++ {
		var err error
		if encoded, err = f.request(ctx, from, to); err == nil {
			break
		}
		var refused *client.Error
		if errors.As(err, &refused) {
			return nil, faulty(Stalled, "it refuses blocks from %d on: %w", from, err)
		}
		if attempt == attempts || ctx.Err() != nil {
			return nil, err
		}
		if err := pause(ctx, retryPause<<attempt); err != nil {
			return nil, err
		}
	}
	if uint64(len(encoded)) > uint64(to-from)+1 {
		return nil, faulty(Lied, "it answers %d blocks where %d to %d were asked for", len(encoded), from, to)
	}
	blocks, size := make(batch, len(encoded)), 0
	for i, b := range encoded {
		var err error
		size += len(b)
		if blocks[i], err = ledger.Receive(b); err != nil {
			return nil, faulty(Lied, "block %d: %w", from+types.Height(i), err)
		}
		h := blocks[i].Header().Header.Height
		if h != from+types.Height(i) {
			return nil, faulty(Lied, "it gives block %d for block %d", h, from+types.Height(i))
		}
		f.upstream.saw(h)
	}
	if len(blocks) > 0 {
		f.size.Store(int64(size / len(blocks)))
	}
	return blocks, nil
}

func (f *fetcher) request(ctx context.Context, from, to types.Height) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	blocks, err := f.upstream.Blocks(ctx, from, to)
	if err == nil {
		f.upstream.answered()
	}
	return blocks, err
}

// pause returns after d, or with the context's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
