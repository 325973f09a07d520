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
	// ahead is the number of ranges requested at a time. Each holds at most one answer being read and one waiting to be
	// verified.
	ahead = 4
	// rangeBlocks and rangeBytes bound one request. rangeBytes also bounds the blocks that are verified together. A
	// larger block comes alone.
	rangeBlocks = 256
	rangeBytes  = 4 << 20
	// waitingBytes bounds the blocks that wait for their import. No further range is requested while it is reached. It
	// has room for three of the largest blocks.
	waitingBytes = 3*types.MaxEncodedBlockBytes + rangeBytes
	// requestTime bounds the time for one answer. attempts is the number of tries for a range before the upstream is
	// left.
	requestTime = 30 * time.Second
	attempts    = 3
	retryPause  = 200 * time.Millisecond
)

// batch is a run of consecutive blocks with verified signatures.
type batch []*ledger.Received

// verified is a batch, with the error of the block after it; nil if there is none.
type verified struct {
	batch
	failure error
}

// fetcher gets blocks from one upstream, several ranges at a time, and verifies their signatures in order: the next
// block to import never waits behind later ones.
type fetcher struct {
	upstream *upstream
	network  types.Network
	next     types.Height // next height to request
	size     atomic.Int64 // bytes per block in the last answer
	ranges   chan chan [][]byte
	expected types.Height // next height to verify
	verified chan verified
	wake     chan struct{} // signals that the upstream's head has moved
	poll     func() time.Duration

	waiting atomic.Int64  // bytes of the blocks that are expected, or are here and not taken yet
	taken   chan struct{} // signals that waiting has fallen
}

func newFetcher(u *upstream, network types.Network, next types.Height, poll func() time.Duration) *fetcher {
	f := &fetcher{
		upstream: u,
		network:  network,
		next:     next,
		ranges:   make(chan chan [][]byte, ahead),
		expected: next,
		verified: make(chan verified, 1),
		wake:     make(chan struct{}, 1),
		poll:     poll,
		taken:    make(chan struct{}, 1),
	}
	f.size.Store(rangeBytes) // until the first answer: assume full blocks, and import each while the next ones arrive
	return f
}

// moved wakes the fetcher after the upstream's head has moved.
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
			size := f.size.Load()
			from, count := f.next, types.Height(min(rangeBlocks, max(1, rangeBytes/size)))
			to := min(from+count-1, f.upstream.newest())
			expected := size * int64(to-from+1)
			if err := f.awaitRoom(ctx, expected); err != nil {
				return err
			}
			blocks := make(chan [][]byte, 1)
			select {
			case f.ranges <- blocks:
			case <-ctx.Done():
				return ctx.Err()
			}
			f.next = to + 1
			group.Go(func() error {
				if err := f.fetch(ctx, from, to, blocks); err != nil {
					return err // the range stays open, so that the verifier waits for ctx's end
				}
				f.take(expected)
				close(blocks)
				return nil
			})
		}
	})
	return group.Wait()
}

// awaitRoom waits until the expected bytes have room, and then counts them. They always have room if nothing waits.
func (f *fetcher) awaitRoom(ctx context.Context, expected int64) error {
	for {
		if waiting := f.waiting.Load(); waiting == 0 || waiting+expected <= waitingBytes {
			f.waiting.Add(expected)
			return nil
		}
		select {
		case <-f.taken:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take counts bytes that do not wait any more.
func (f *fetcher) take(bytes int64) {
	f.waiting.Add(-bytes)
	select {
	case f.taken <- struct{}{}:
	default:
	}
}

// await returns when the upstream's head may have moved, either because the upstream said so or because it was polled.
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
	f.waiting.Add(sizeOf(blocks))
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

// fetch gets the blocks of a range, in as many answers as needed.
func (f *fetcher) fetch(ctx context.Context, from, to types.Height, blocks chan<- [][]byte) error {
	for empty := 0; from <= to; {
		got, err := f.ask(ctx, from, to)
		if err != nil {
			return err
		}
		if len(got) == 0 { // several nodes behind one address may have different heads
			if empty++; empty == attempts {
				return Faulty(Stalled, "it announces block %d but does not serve it", from)
			}
			if err := pause.For(ctx, retryPause<<empty); err != nil {
				return err
			}
			continue
		}
		empty = 0
		f.waiting.Add(sizeOf(got))
		select {
		case blocks <- got:
		case <-ctx.Done():
			return ctx.Err()
		}
		from += types.Height(len(got))
	}
	return nil
}

// ask makes one request, and repeats it if no valid answer comes.
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
			return nil, Faulty(Stalled, "it refuses to serve blocks from %d on: %w", from, err)
		}
		if attempt == attempts || ctx.Err() != nil || errors.As(err, new(*FaultError)) {
			return nil, err
		}
		if err := pause.For(ctx, retryPause<<attempt); err != nil {
			return nil, err
		}
	}
	if uint64(len(blocks)) > uint64(to-from)+1 {
		return nil, Faulty(Lied, "it answers with %d blocks for the requested %d to %d", len(blocks), from, to)
	}
	if n := int64(len(blocks)); n > 0 {
		f.size.Store(max(1, sizeOf(blocks)/n))
	}
	return blocks, nil
}

// sizeOf returns the total size of encoded blocks.
func sizeOf(blocks [][]byte) (bytes int64) {
	for _, b := range blocks {
		bytes += int64(len(b))
	}
	return bytes
}

// verifyAll verifies the fetched blocks in order until ctx ends or a block fails.
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

// together returns the number of blocks, at least one, to verify together.
func together(blocks [][]byte) int {
	n, size := 1, len(blocks[0])
	for ; n < len(blocks) && size+len(blocks[n]) <= rangeBytes; n++ {
		size += len(blocks[n])
	}
	return n
}

// verify verifies the next blocks and passes them on for import. After a failure it passes nothing more on: the
// importer ends the session once the earlier blocks are imported.
func (f *fetcher) verify(ctx context.Context, encoded [][]byte) error {
	blocks, failure := ledger.ReceiveAll(f.network, encoded)
	for i, b := range blocks {
		if h := b.Header().Header.Height; h != f.expected {
			blocks, failure = blocks[:i], Faulty(Lied, "it serves block %d instead of block %d", h, f.expected)
			break
		}
		f.upstream.recordBlock(f.expected)
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
