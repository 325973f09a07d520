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
// next block. If the current producer signed two blocks of one height, the replica halts. If a former producer did, or
// if the upstream lied, the error says so. A nil error means that the upstream has the same blocks.
//
// Only the current producer's key can halt a replica: its holder could as well sign an invalid block. A former key has
// no say in the next blocks, and may be in anyone's hands.
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
		if errors.Is(err, chain.ErrPruned) { // the blocks that are kept decide
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
			return Faulty(Lied, "it has block %d but not block %d", differs, middle)
		}
	}
	ours, err := r.ledger.Header(differs)
	if errors.Is(err, chain.ErrPruned) { // pruned just now
		return Faulty(Lied, "fork: it has another block %d, which is already pruned here", differs)
	}
	if err != nil {
		return &localFault{err}
	}
	// The parent's state is the same, so both blocks must have the same producer: the verified one of ours.
	if theirs.Header.Height != differs || theirs.Header.Parent != ours.Header.Parent ||
		theirs.Header.Producer != ours.Header.Producer || !theirs.VerifySeal() {
		return Faulty(Lied, "it serves a block %d that the producer did not sign", differs)
	}
	if inForce := tip.Parameters.Producer; ours.Header.Producer != inForce {
		r.config.Log.Error("double-sign: a former producer signed a second block of the same height",
			"height", differs,
			"producer", ours.Header.Producer, "upstream", u.Name(), "here", types.Hex(ours.Encode()),
			"there", types.Hex(theirs.Encode()))
		return Faulty(
			Forked, "fork: it serves another block %d, signed by the former producer %s", differs, ours.Header.Producer,
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
