package replica

import (
	"context"
	"errors"
	"math/bits"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Proofs are where the proofs of blocks are kept that others made: a *proving.Queue.
type Proofs interface {
	// NextToRelay is the first block whose proof is asked for, now or once the block is here; at least from. An error is a
	// fault of this node.
	NextToRelay(from types.Height) (types.Height, error)
	// Await says from which block on proofs are to come, nil that none are.
	Await(from *types.Height)
	// WaitBlock returns once a block is here, or with an error.
	WaitBlock(ctx context.Context, h types.Height) error
	// Keep verifies the proof of a block that is here, in its bundle, and keeps it. The error of one that does not hold
	// wraps blockproof.ErrProof.
	Keep(h types.Height, bundle []byte) error
}

// RangeProofs are where the proofs of ranges are kept that others made: a *proving.Queue.
type RangeProofs interface {
	// Wanted are some of the ranges of 2^log blocks, from one block to another, that are here without their proof.
	Wanted(log int, oldest, newest types.Height) ([]blockproof.Span, error)
	// KeepRange is [Proofs.Keep] of the proof of a range.
	KeepRange(span blockproof.Span, encoded []byte) error
}

const (
	// relayPoll is the time between two questions for a proof that is not there yet, relayPause that after a fault.
	relayPoll  = time.Second
	relayPause = 10 * time.Second
)

// RelayProofs gets the proofs of blocks that are here from upstreams, the oldest first, and has them verified and kept,
// until ctx ends. Blocks whose proofs the upstream does not have are left out. An error is a fault of this node.
func (r *Replica) RelayProofs(ctx context.Context, proofs Proofs) error {
	next, err := proofs.NextToRelay(0)
	if err == nil {
		proofs.Await(&next) // until the upstream says that it has none
	}
	for err == nil {
		if err := proofs.WaitBlock(ctx, next); err != nil {
			return err
		}
		var block types.SignedHeader
		block, err = r.ledger.Header(next) // whose gas bounds what is asked for
		if errors.Is(err, chain.ErrPruned) {
			next, err = proofs.NextToRelay(next + 1)
		}
		if err != nil {
			return err
		}
		if block.Header.Height != next {
			continue
		}
		after, wait := r.relay(ctx, proofs, block)
		if wait > 0 {
			if err := pause.For(ctx, r.config.Jitter(wait)); err != nil {
				return err
			}
		}
		next, err = proofs.NextToRelay(after)
	}
	return err
}

// relay gets one proof, from the upstream in use or, where that does not answer or gives one that is refused, from
// another. It returns the block whose proof is next, and how long to wait before.
func (r *Replica) relay(ctx context.Context, proofs Proofs, block types.SignedHeader) (
	next types.Height, wait time.Duration,
) {
	h := block.Header.Height
	retry := relayPoll
	for _, u := range r.trusted() {
		bundle, err := requestBundle(ctx, u, h, MostBundle(block))
		if err == nil {
			err = proofs.Keep(h, bundle)
			switch { // it comes after the others for a time, not just for this block
			case errors.Is(err, blockproof.ErrWeak):
				u.failed(Faulty(Weak, "%w", err))
			case errors.Is(err, blockproof.ErrProof):
				u.failed(Faulty(Lied, "%w", err))
			}
		}
		var none *NoProof
		switch {
		case err == nil:
			next = h + 1
			proofs.Await(&next)
			return next, 0
		case errors.Is(err, ErrNotProven):
			proofs.Await(&h)
			return h, retry
		case errors.As(err, &none) && none.Stored && h < none.Oldest:
			proofs.Await(&none.Oldest)
			// It may be far beyond this node's head, which is still to come, or false: it is not waited for blindly.
			if next = r.ledger.Tip().Header.Header.Height + 1; none.Oldest > next {
				return next, relayPoll
			}
			return none.Oldest, 0
		case errors.As(err, &none) && none.Stored && h <= none.Newest: // it was too much to be proven, or is gone
			return h + 1, 0
		case none == nil && ctx.Err() == nil:
			r.config.Log.Warn("a proof is not taken from an upstream", "upstream", u.Name(), "height", h, "error", plain(err))
		}
		retry = relayPause // what this upstream gave may have been large
	}
	proofs.Await(nil)
	return h, relayPause
}

// lengthOf is a length of ranges, as a binary logarithm, at an upstream.
type lengthOf struct {
	*upstream
	log int
}

// RelayRanges gets the proofs of ranges whose blocks are here from upstreams, and has them verified and kept, until ctx
// ends. An error is a fault of this node.
func (r *Replica) RelayRanges(ctx context.Context, proofs RangeProofs) error {
	next := make(map[lengthOf]types.Height)
	for ctx.Err() == nil {
		for _, u := range r.trusted() {
			if err := r.relayRanges(ctx, proofs, u, next); err != nil {
				return err
			}
		}
		_ = pause.For(ctx, r.config.Jitter(relayPause)) // the loop looks at the context
	}
	return ctx.Err()
}

// relayRanges gets some of what one upstream has. What is not there, or not true, is left to the others. next says from
// which block on it is asked, so that what it does not have does not stand before all that it has.
func (r *Replica) relayRanges(
	ctx context.Context, proofs RangeProofs, u *upstream, next map[lengthOf]types.Height,
) error {
	told, err := requestRanges(ctx, u)
	if err != nil {
		return nil // probing tells what is wrong with it
	}
	for _, t := range told {
		of := lengthOf{u, bits.TrailingZeros64(uint64(t.Blocks))}
		wanted, err := proofs.Wanted(of.log, max(t.Oldest, next[of]), t.Newest)
		if err != nil {
			return err
		}
		if len(wanted) == 0 {
			delete(next, of) // all were asked for: the next time from the oldest on
		}
		for _, span := range wanted {
			next[of] = span.Last() + 1
			if asks, err := r.relayRange(ctx, proofs, u, span); err != nil || !asks {
				return err
			}
		}
	}
	return nil
}

// relayRange gets one range, where the upstream has it, and tells whether it is to be asked for others.
func (r *Replica) relayRange(ctx context.Context, proofs RangeProofs, u *upstream, span blockproof.Span) (bool, error) {
	headers := make([]types.SignedHeader, 0, span.Blocks())
	for h := span.First(); h <= span.Last(); h++ {
		header, err := r.ledger.Header(h)
		if errors.Is(err, chain.ErrPruned) || errors.Is(err, chain.ErrAboveHead) {
			return true, nil // it is not here any more
		}
		if err != nil {
			return false, err
		}
		headers = append(headers, header)
	}
	if !blockproof.FitsRange(headers) {
		return true, nil
	}
	encoded, err := requestRange(ctx, u, span, headers)
	if errors.Is(err, ErrNoRange) {
		return true, nil
	}
	if err == nil {
		err = proofs.KeepRange(span, encoded)
		switch {
		case errors.Is(err, blockproof.ErrWeak):
			u.failed(Faulty(Weak, "%w", err))
		case errors.Is(err, blockproof.ErrProof):
			u.failed(Faulty(Lied, "%w", err))
		}
	}
	if err != nil && ctx.Err() == nil {
		r.config.Log.Warn("the proof of a range is not taken from an upstream",
			"upstream", u.Name(), "from", span.First(), "to", span.Last(), "error", plain(err))
	}
	return err == nil, nil
}

// trusted are the upstreams in the order in which they are preferred, those that lied a short time ago after the
// others.
func (r *Replica) trusted() (list []*upstream) {
	var liars []*upstream
	for _, u := range r.preferred() {
		if u.standing().lied {
			liars = append(liars, u)
		} else {
			list = append(list, u)
		}
	}
	return append(list, liars...)
}
