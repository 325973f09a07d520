package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

// A block of a version that this program does not know cannot be checked: not even its seal shows that the producer
// made it. So it only counts under three conditions: the chain's parameters announce that version for its timestamp,
// this node's clock has reached the time of the upgrade, and no upstream has another block of that height that can be
// checked.

const (
	// versionPoll is the interval between requests for a block that can be checked, while one that cannot is held back.
	versionPoll = time.Second
	// haltedPoll is that time once the replica has halted.
	haltedPoll = 10 * time.Second
)

// errAgain ends a session without blame.
var errAgain = errors.New("the session restarts")

// unknownVersion handles a next block of a version that this program does not know. It returns the error that ends the
// session.
func (r *Replica) unknownVersion(ctx context.Context, u *upstream, unknown *ledger.UnknownVersion) error {
	defer r.setHolding("")
	if !unknown.Announced() {
		return Faulty(Lied, "it serves a block %d of protocol version %d, which the chain has not announced for its "+
			"time",
			unknown.Height, unknown.Version)
	}
	for {
		other := r.checkable(ctx, unknown.Height)
		switch now := r.wall(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case other == u:
			return errAgain
		case other != nil:
			return Faulty(Lied, "it serves a block %d of protocol version %d, but %s has one signed by the producer",
				unknown.Height, unknown.Version, other.Name())
		case now >= unknown.Upgrade.From:
			return r.halted(&Halt{
				Reason: UnknownVersion, Height: unknown.Height,
				Message: emergency.UnknownVersion(unknown.Version, unknown).Error(),
				Time:    time.Now().UTC(), Upstream: u.Name(),
			})
		}
		r.setHolding(fmt.Sprintf(
			"block %d has protocol version %d, which this node does not support and which takes effect at %s by its "+
				"clock",
			unknown.Height, unknown.Version, timeOf(unknown.Upgrade.From),
		))
		if err := pause.For(ctx, versionPoll); err != nil {
			return err
		}
	}
}

// checkable returns an upstream that gives a next block which this program can check and which its producer sealed, or
// nil if none does.
func (r *Replica) checkable(ctx context.Context, h types.Height) *upstream {
	for _, u := range r.preferred() {
		if b, err := r.blockOf(ctx, u, h); err == nil && r.ledger.CheckNext(b) == nil {
			return u
		}
	}
	return nil
}

// blockOf gets one block from an upstream.
func (r *Replica) blockOf(ctx context.Context, u *upstream, h types.Height) (*ledger.Received, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	blocks, err := u.Blocks(ctx, h, h)
	if err != nil {
		return nil, err
	}
	if len(blocks) == 0 {
		return nil, fmt.Errorf("it has no block %d", h)
	}
	u.answered()
	return ledger.Receive(r.ledger.Network(), blocks[0])
}

// awaitCheckable waits until an upstream gives a next block that can be checked, and then takes the halt back. It
// returns at the end of ctx too.
func (r *Replica) awaitCheckable(ctx context.Context) {
	for pause.For(ctx, r.config.Jitter(haltedPoll)) == nil {
		next := r.ledger.Tip().Header.Header.Height + 1
		if u := r.checkable(ctx, next); u != nil {
			r.config.Log.Warn("this node resumes: an upstream has a next block of a supported protocol version",
				"height", next, "upstream", u.Name())
			r.mu.Lock()
			r.halt = nil
			r.mu.Unlock()
			return
		}
	}
}
