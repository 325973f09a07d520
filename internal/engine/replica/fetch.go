package replica

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

const (
	// ahead is how many ranges are asked for at a time. Each holds at most an answer that is being read and one that
	// waits to be verified.
	ahead = 4
	// rangeBlocks and rangeBytes bound what one range asks for, and what is verified together: as many blocks as have
	// together about that size.
	rangeBlocks = 256
	rangeBytes  = 4 << 20
	// requestTime is what one answer may take, attempts how often a range is asked for until the upstream is left.
	requestTime = 30 * time.Second
	attempts    = 3
	retryPause  = 200 * time.Millisecond
)

// batch is consecutive blocks whose signatures are verified.
type batch []*ledger.Received

// verified is a batch with what is wrong with the block after it, nil for nothing.
type verified struct {
	batch
	failure error
}

// fetcher gets blocks from one upstream, several ranges at a time, and verifies their signatures in order: the next
// block to import is never behind later ones.
type fetcher struct {
	upstream *upstream
	next     types.Height // to ask for
	size     atomic.Int64 // bytes of a block, as the last answer had them
	ranges   chan chan [][]byte
	expected types.Height // to verify
	verified chan verified
	wake     chan struct{} // the upstream's head has moved
	poll     func() time.Duration
}

func newFetcher(u *upstream, next types.Height, poll func() time.Duration) *fetcher {
	f := &fetcher{
		upstream: u,
		next:     next,
		ranges:   make(chan chan [][]byte, ahead),
		expected: next,
		verified: make(chan verified, 1),
		wake:     make(chan struct{}, 1),
		poll:     poll,
	}
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
	group.SetLimit(ahead + 2)
	group.Go(func() error { return f.verifyAll(ctx) })
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
			blocks := make(chan [][]byte, 1)
			select {
			case f.ranges <- blocks:
			case <-ctx.Done():
				return ctx.Err()
			}
			f.next = to + 1
			group.Go(func() error {
				if err := f.fetch(ctx, from, to, blocks); err != nil {
					return err // the range stays open: who verifies waits for ctx's end, and does not go on with the next
				}
				close(blocks)
				return nil
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
	ready := make(chan [][]byte, 1)
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
func (f *fetcher) fetch(ctx context.Context, from, to types.Height, blocks chan<- [][]byte) error {
	for empty := 0; from <= to; {
		got, err := f.ask(ctx, from, to)
		if err != nil {
			return err
		}
		if len(got) == 0 { // several nodes behind one address are not all as far
			if empty++; empty == attempts {
				return Faulty(Stalled, "it says that it has block %d and does not give it", from)
			}
			if err := pause.For(ctx, retryPause<<empty); err != nil {
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

// ask makes one request, again where no sensible answer comes.
func (f *fetcher) ask(ctx context.Context, from, to types.Height) ([][]byte, error) {
	var blocks [][]byte
	for attempt := 1; ; attempt++ {
		var err error
		if blocks, err = f.request(ctx, from, to); err == nil {
			if attempt > 1 {
				f.upstream.interrupted()
			}
			break
		}
		if refusal(err) != nil {
			return nil, Faulty(Stalled, "it refuses blocks from %d on: %w", from, err)
		}
		if attempt == attempts || ctx.Err() != nil || errors.As(err, new(*FaultError)) {
			return nil, err
		}
		if err := pause.For(ctx, retryPause<<attempt); err != nil {
			return nil, err
		}
	}
	if uint64(len(blocks)) > uint64(to-from)+1 {
		return nil, Faulty(Lied, "it answers %d blocks where %d to %d were asked for", len(blocks), from, to)
	}
	if len(blocks) > 0 {
		size := 0
		for _, b := range blocks {
			size += len(b)
		}
		f.size.Store(int64(max(1, size/len(blocks))))
	}
	return blocks, nil
}

// verifyAll verifies what is fetched, in order, until ctx ends or something is not what the producer signed.
func (f *fetcher) verifyAll(ctx context.Context) error {
	for {
		var answers chan [][]byte
		select {
		case answers = <-f.ranges:
		case <-ctx.Done():
			return ctx.Err()
		}
		for open := true; open; {
			var blocks [][]byte
			select {
			case blocks, open = <-answers:
			case <-ctx.Done():
				return ctx.Err()
			}
			for len(blocks) > 0 {
				n := together(blocks)
				if err := f.verify(ctx, blocks[:n]); err != nil {
					return err
				}
				blocks = blocks[n:]
			}
		}
	}
}

// together is how many blocks, one at least, are verified together.
func together(blocks [][]byte) int {
	n, size := 1, len(blocks[0])
	for ; n < len(blocks) && size+len(blocks[n]) <= rangeBytes; n++ {
		size += len(blocks[n])
	}
	return n
}

// verify verifies the next blocks and hands them on to be imported. After a failure nothing more is handed on: who
// imports ends the session once what came before is imported.
func (f *fetcher) verify(ctx context.Context, encoded [][]byte) error {
	blocks, failure := ledger.ReceiveAll(encoded)
	for i, b := range blocks {
		if h := b.Header().Header.Height; h != f.expected {
			blocks, failure = blocks[:i], Faulty(Lied, "it gives block %d for block %d", h, f.expected)
			break
		}
		f.upstream.saw(f.expected)
		f.expected++
	}
	if failure != nil && !errors.As(failure, new(*FaultError)) {
		failure = Faulty(Lied, "block %d: %w", f.expected, failure)
	}
	select {
	case f.verified <- verified{blocks, failure}:
	case <-ctx.Done():
	}
	if failure != nil {
		<-ctx.Done()
	}
	return ctx.Err()
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
