package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// Proofs are where the proofs of blocks are kept that others made: a *proving.Queue.
type Proofs interface {
	// NextToRelay is the first block whose proof is asked for, now or once the block is here; at least from. An error is a fault
	// of this node.
	NextToRelay(from types.Height) (types.Height, error)
	// Await says from which block on proofs are to come, nil that none are.
	Await(from *types.Height)
	// WaitBlock returns once a block is here, or with an error.
	WaitBlock(ctx context.Context, h types.Height) error
	// Keep verifies the proof of a block that is here, in its bundle, and keeps it. The error of one that does not hold wraps
	// blockproof.ErrProof.
	Keep(h types.Height, bundle []byte) error
}

const (
	// relayPoll is the time between two questions for a proof that is not there yet, relayPause that after a fault.
	relayPoll  = time.Second
	relayPause = 10 * time.Second
)

// RelayProofs gets the proofs of blocks that are here from upstreams, the oldest first, and has them verified and kept, until
// ctx ends. Blocks whose proofs the upstream does not have are left out. An error is a fault of this node.
func (r *Replica) RelayProofs(ctx context.Context, proofs Proofs) error {
	next, err := proofs.NextToRelay(0)
	if err == nil {
		proofs.Await(&next) // until the upstream says that it has none
	}
	for err == nil {
		if err := proofs.WaitBlock(ctx, next); err != nil {
			return err
		}
		after, wait := r.relay(ctx, proofs, next)
		if wait > 0 {
			if err := pause.For(ctx, r.config.Jitter(wait)); err != nil {
				return err
			}
		}
		next, err = proofs.NextToRelay(after)
	}
	return err
}

// relay gets one proof, from the upstream in use or, where that does not answer or gives one that is refused, from another. It
// returns the block whose proof is next, and how long to wait before.
func (r *Replica) relay(ctx context.Context, proofs Proofs, h types.Height) (next types.Height, wait time.Duration) {
	retry := relayPoll
	for _, u := range r.trusted() {
		bundle, err := requestBundle(ctx, u, h, maxBundleBytes)
		if err == nil {
			if err = proofs.Keep(h, bundle); errors.Is(err, blockproof.ErrProof) {
				u.failed(faulty(Lied, "%w", err)) // it comes after the others for a time, not just for this block
			}
		}
		var none *noProof
		switch {
		case err == nil:
			next = h + 1
			proofs.Await(&next)
			return next, 0
		case errors.Is(err, ErrNotProven):
			proofs.Await(&h)
			return h, retry
		case errors.As(err, &none) && none.stored && h < none.oldest:
			proofs.Await(&none.oldest)
			// It may be far beyond this node's head, which is still to come, or false: it is not waited for blindly.
			if next = r.ledger.Tip().Header.Header.Height + 1; none.oldest > next {
				return next, relayPoll
			}
			return none.oldest, 0
		case errors.As(err, &none) && none.stored && h <= none.newest: // it was too much to be proven, or is gone
			return h + 1, 0
		case none == nil && ctx.Err() == nil:
			r.config.Log.Warn("a proof is not taken from an upstream", "upstream", u.Name(), "height", h, "error", plain(err))
		}
		retry = relayPause // what this upstream gave may have been large
	}
	proofs.Await(nil)
	return h, relayPause
}

// trusted are the upstreams in the order in which they are preferred, those that lied a short time ago after the others.
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

// noProof is the error of a block whose proof a node does not have, nor makes.
type noProof struct {
	height         types.Height
	stored         bool         // whether it has proofs at all
	oldest, newest types.Height // of those
}

func (e *noProof) Error() string {
	if !e.stored {
		return fmt.Sprintf("it has no proof of block %d and makes none", e.height)
	}
	return fmt.Sprintf("it has no proof of block %d, only of blocks %d to %d", e.height, e.oldest, e.newest)
}

// newNoProof reads what a node said.
func newNoProof(h types.Height, refused *client.Error) *noProof {
	oldest, ok := heightIn(refused.Data["oldest"])
	newest, also := heightIn(refused.Data["newest"])
	return &noProof{h, ok && also, oldest, newest}
}

func heightIn(value any) (types.Height, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	h, err := strconv.ParseUint(number.String(), 10, 64)
	return types.Height(h), err == nil
}
