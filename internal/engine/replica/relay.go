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

// Proofs stores proofs of blocks that other nodes made. *proving.Queue implements it.
type Proofs interface {
	// NextToRelay returns the first block whose proof should be requested, now or once the block is here; at least
	// from. An error is a fault of this node.
	NextToRelay(from types.Height) (types.Height, error)
	// Await sets the block from which on proofs will come; nil means that none will.
	Await(from *types.Height)
	// WaitBlock returns once a block is here, or with an error.
	WaitBlock(ctx context.Context, h types.Height) error
	// Keep verifies and stores the proof in the bundle of a stored block. The error for an invalid proof wraps
	// blockproof.ErrProof.
	Keep(h types.Height, bundle []byte) error
}

// RangeProofs stores proofs of ranges that other nodes made. *proving.Queue implements it.
type RangeProofs interface {
	// Wanted returns some of the ranges of 2^log blocks, within a range of blocks, that are stored here without a
	// proof.
	Wanted(log int, oldest, newest types.Height) ([]blockproof.Span, error)
	// KeepRange is like [Proofs.Keep] for the proof of a range.
	KeepRange(span blockproof.Span, encoded []byte) error
}

const (
	// relayPoll is the time between two requests for a proof that does not exist yet; relayPause replaces it after a
	// fault.
	relayPoll  = time.Second
	relayPause = 10 * time.Second
)

// RelayProofs gets the proofs of stored blocks from upstreams, oldest first, and has them verified and stored, until
// ctx ends. It skips blocks whose proofs the upstream does not have. An error is a fault of this node.
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
		block, err = r.ledger.Header(next) // the block's gas bounds the size of the request
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

// relay gets one proof from the upstream in use, or from another one if that does not answer or its proof is refused.
// It returns the block whose proof is next, and the time to wait before.
func (r *Replica) relay(ctx context.Context, proofs Proofs, block types.SignedHeader) (
	next types.Height, wait time.Duration,
) {
	h := block.Header.Height
	retry := relayPoll
	for _, u := range r.trusted() {
		bundle, err := requestBundle(ctx, u, h, MostBundle(block))
		if err == nil {
			err = proofs.Keep(h, bundle)
			switch { // it ranks after the others for some time, not just for this block
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
			// The block may be far beyond this node's head, because more blocks are to come or because the upstream
			// lies: do not wait for it blindly.
			if next = r.ledger.Tip().Header.Header.Height + 1; none.Oldest > next {
				return next, relayPoll
			}
			return none.Oldest, 0
		case errors.As(err, &none) && none.Stored && h <= none.Newest: // it was too large to be proven, or is gone
			return h + 1, 0
		case none == nil && ctx.Err() == nil:
			r.config.Log.Warn("refused a block proof from an upstream", "upstream", u.Name(), "height", h, "error", plain(err))
		}
		retry = relayPause // this upstream's answer may have been large
	}
	proofs.Await(nil)
	return h, relayPause
}

// lengthOf is a length of ranges, as a binary logarithm, at an upstream.
type lengthOf struct {
	*upstream
	log int
}

// RelayRanges gets the proofs of ranges whose blocks are stored here from upstreams, and has them verified and stored,
// until ctx ends. An error is a fault of this node.
func (r *Replica) RelayRanges(ctx context.Context, proofs RangeProofs) error {
	next := make(map[lengthOf]types.Height)
	for ctx.Err() == nil {
		for _, u := range r.trusted() {
			if err := r.relayRanges(ctx, proofs, u, next); err != nil {
				return err
			}
		}
		_ = pause.For(ctx, r.config.Jitter(relayPause)) // the loop checks the context
	}
	return ctx.Err()
}

// relayRanges gets some of the range proofs that one upstream has. Missing and invalid ones are left to the other
// upstreams. next holds the block from which on the upstream is asked next, so that proofs it lacks do not block those
// it has.
func (r *Replica) relayRanges(
	ctx context.Context, proofs RangeProofs, u *upstream, next map[lengthOf]types.Height,
) error {
	offered, err := requestRanges(ctx, u)
	if err != nil {
		return nil // probing reports what is wrong with it
	}
	for _, t := range offered {
		of := lengthOf{u, bits.TrailingZeros64(uint64(t.Blocks))}
		wanted, err := proofs.Wanted(of.log, max(t.Oldest, next[of]), t.Newest)
		if err != nil {
			return err
		}
		if len(wanted) == 0 {
			delete(next, of) // all were requested: start over from the oldest
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

// relayRange gets the proof of one range, if the upstream has it. It reports whether to ask the upstream for more.
func (r *Replica) relayRange(ctx context.Context, proofs RangeProofs, u *upstream, span blockproof.Span) (bool, error) {
	headers := make([]types.SignedHeader, 0, span.Blocks())
	for h := span.First(); h <= span.Last(); h++ {
		header, err := r.ledger.Header(h)
		if errors.Is(err, chain.ErrPruned) || errors.Is(err, chain.ErrAboveHead) {
			return true, nil // no longer stored here
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
		r.config.Log.Warn("refused a range proof from an upstream",
			"upstream", u.Name(), "from", span.First(), "to", span.Last(), "error", plain(err))
	}
	return err == nil, nil
}

// trusted returns the upstreams in order of preference. Those that recently lied come last.
func (r *Replica) trusted() (list []*upstream) {
	var liars []*upstream
	for _, u := range r.preferred() {
		if u.rank().lied {
			liars = append(liars, u)
		} else {
			list = append(list, u)
		}
	}
	return append(list, liars...)
}
