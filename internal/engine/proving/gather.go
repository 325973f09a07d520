package proving

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Source asks another node for the proof of the first of some blocks that has one there; block 0 says that none has.
type Source func(ctx context.Context, of []types.Height) (types.Height, []byte, error)

const (
	// MostAsked is how many blocks a source is asked for at once.
	MostAsked = 64

	// gatherPoll is the time between two looks for proofs, gatherPause that after one that does not hold.
	gatherPoll  = time.Second
	gatherPause = 10 * time.Second
)

// Gather takes the proofs of blocks that wait for one from other nodes that make them, too, and verifies them before it
// keeps them, until ctx ends. It asks for the oldest blocks, and in turn for those after them, as some may never be
// proven. Errors are of this node's store.
func (q *Queue) Gather(ctx context.Context, sources func() []Source, log *slog.Logger) error {
	for next := types.Height(0); ctx.Err() == nil; {
		after, wait, err := q.look(ctx, next, sources(), log)
		if err != nil {
			return err
		}
		next = after
		_ = pause.For(ctx, wait) // the loop looks at the context
	}
	return nil
}

// look asks all sources once, for the oldest blocks and for those from next on. It returns the first block that was not
// asked for, 0 for none, and how long to wait before the next look.
func (q *Queue) look(
	ctx context.Context, next types.Height, sources []Source, log *slog.Logger,
) (after types.Height, wait time.Duration, err error) {
	wait = gatherPoll
	for _, from := range slices.Compact([]types.Height{0, next}) {
		waiting, err := q.waiting(from)
		if err != nil {
			return 0, 0, err
		}
		if after = 0; len(waiting) == MostAsked {
			after = waiting[MostAsked-1] + 1
		}
		for _, source := range sources {
			var holds bool
			if waiting, holds, err = q.gather(ctx, source, waiting, log); err != nil {
				return 0, 0, err
			}
			if !holds {
				wait = gatherPause
			}
		}
	}
	return after, wait, nil
}

// waiting are the oldest blocks from a height on that wait for a proof.
func (q *Queue) waiting(from types.Height) (list []types.Height, err error) {
	for len(list) < MostAsked {
		h, err := q.store.Unproven(from)
		if errors.Is(err, chain.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		list, from = append(list, h), h+1
	}
	return list, nil
}

// gather takes what a source has of some blocks' proofs, and returns the blocks that wait still, and whether what it
// gave holds.
func (q *Queue) gather(
	ctx context.Context, source Source, of []types.Height, log *slog.Logger,
) (left []types.Height, holds bool, err error) {
	for len(of) > 0 {
		height, proof, err := source(ctx, of)
		if err != nil {
			log.Debug("another member cannot be asked for proofs", "error", err)
			return of, true, nil
		}
		if height == 0 {
			return of, true, nil
		}
		switch err := q.keep(height, proof); {
		case errors.Is(err, blockproof.ErrProof):
			log.Warn("a proof that another member made is not kept", "height", height, "error", err)
			return of, false, nil
		case err != nil && !isGone(err):
			return of, true, err
		}
		of = slices.DeleteFunc(of, func(h types.Height) bool { return h == height })
	}
	return of, true, nil
}
