package replica

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// judgeFork finds out why an upstream has another block than this node at the head's height, or another parent for the
// next. If the producer signed two blocks of one height the replica halts. If a producer did that has handed over
// since, or if the upstream lied, the error says so. With nil the upstream has the same blocks.
//
// Only the key that is in force after the head can halt a replica: who has that key could sign an invalid block
// instead. One that was replaced has no say in what comes next, and may be in anybody's hands.
func (r *Replica) judgeFork(ctx context.Context, u *upstream) error {
	tip := r.ledger.Tip()
	same, differs := types.Height(0), tip.Header.Header.Height
	theirs, err := r.headerAt(ctx, u, differs)
	if err != nil {
		return err
	}
	if theirs == nil || theirs.Header.Hash() == tip.Hash {
		return nil
	}
	// Blocks are the same up to some height and differ from there on.
	for same+1 < differs {
		middle := same + (differs-same)/2
		ours, err := r.ledger.Header(middle)
		if errors.Is(err, chain.ErrPruned) { // what is kept decides
			same = middle
			continue
		}
		if err != nil {
			return &localFault{err}
		}
		header, err := r.headerAt(ctx, u, middle)
		if err != nil {
			return err
		}
		if header != nil && header.Header.Hash() == ours.Header.Hash() {
			same = middle
		} else if header != nil {
			differs, theirs = middle, header
		} else {
			return Faulty(Lied, "it has block %d and not block %d", differs, middle)
		}
	}
	ours, err := r.ledger.Header(differs)
	if errors.Is(err, chain.ErrPruned) { // just now
		return Faulty(Lied, "it has another block %d, which is not kept here any more", differs)
	}
	if err != nil {
		return &localFault{err}
	}
	// The parent's state, which is the same, says who signs: whoever signed ours, which was verified.
	if theirs.Header.Height != differs || theirs.Header.Parent != ours.Header.Parent ||
		theirs.Header.Producer != ours.Header.Producer || !theirs.VerifySignature() {
		return Faulty(Lied, "it gives a block %d that the producer did not sign", differs)
	}
	if inForce := tip.Parameters.Producer; ours.Header.Producer != inForce {
		r.config.Log.Error("a producer that has handed over signed a second block of a height that it had signed before",
			"height", differs,
			"producer", ours.Header.Producer, "upstream", u.Name(), "here", types.Hex(ours.Encode()),
			"there", types.Hex(theirs.Encode()))
		return Faulty(
			Forked, "it gives another block %d, signed by %s, which is not the producer any more", differs, ours.Header.Producer,
		)
	}
	return r.halted(&Halt{
		Reason:   Equivocation,
		Height:   differs,
		Time:     time.Now().UTC(),
		Upstream: u.Name(),
		Message: emergency.Equivocated(
			ours.Header.Producer, differs, ours.Header.Hash(), theirs.Header.Hash(), u.Name(),
		).Error(),
		Headers: []signedHeader{newSignedHeader(ours), newSignedHeader(*theirs)},
	})
}

func (r *Replica) headerAt(ctx context.Context, u *upstream, h types.Height) (*types.SignedHeader, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return u.Header(ctx, h)
}
