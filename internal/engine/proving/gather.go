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

// Source asks another node for the proof of the first of the given blocks or spans that has one there. It returns span
// 0 if none has.
type Source func(ctx context.Context, of []blockproof.Span) (blockproof.Span, []byte, error)

const (
	// MostAsked bounds the number of blocks or spans in one request to a source.
	MostAsked = 64

	// gatherPoll is the interval between requests for proofs; gatherPause replaces it after an invalid proof.
	gatherPoll  = time.Second
	gatherPause = 10 * time.Second
)

// Gather collects proofs for waiting blocks from other nodes that also make them, until ctx ends. It verifies each
// proof before it keeps it. It asks for the oldest blocks, and in turn for those after them, as some may never be
// proven. An error is one of this node's store.
func (q *Queue) Gather(ctx context.Context, sources func() []Source, log *slog.Logger) error {
	for next := types.Height(0); ctx.Err() == nil; {
		after, wait, err := q.look(ctx, next, sources(), log)
		if err != nil {
			return err
		}
		next = after
		_ = pause.For(ctx, wait) // the loop checks the context
	}
	return nil
}

// look asks all sources once, for the oldest blocks and for those from next on. It returns the first block that it did
// not ask for, 0 for none, and the time until the next request.
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
			after = waiting[MostAsked-1].Last() + 1
		}
		holds, err := q.gatherAll(ctx, waiting, sources, log)
		if err != nil {
			return 0, 0, err
		}
		if !holds {
			wait = gatherPause
		}
	}
	spans, err := q.undecided()
	if err != nil {
		return 0, 0, err
	}
	holds, err := q.gatherAll(ctx, spans, sources, log)
	if !holds {
		wait = gatherPause
	}
	return after, wait, err
}

// gatherAll asks each source for the proofs that the sources before it did not give. It reports whether all proofs
// received are valid.
func (q *Queue) gatherAll(
	ctx context.Context, of []blockproof.Span, sources []Source, log *slog.Logger,
) (holds bool, err error) {
	holds = true
	for _, source := range sources {
		var sound bool
		if of, sound, err = q.gather(ctx, source, of, log); err != nil {
			return holds, err
		}
		holds = holds && sound
	}
	return holds, nil
}

// waiting returns the oldest blocks from a height on that wait for a proof.
func (q *Queue) waiting(from types.Height) (list []blockproof.Span, err error) {
	for len(list) < MostAsked {
		h, err := q.store.Unproven(from)
		if errors.Is(err, chain.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		list, from = append(list, blockproof.Span(h)), h+1
	}
	return list, nil
}

// gather takes the proofs that a source has of the given blocks and spans. It returns those still without a proof, and
// whether all proofs received are valid.
func (q *Queue) gather(
	ctx context.Context, source Source, of []blockproof.Span, log *slog.Logger,
) (left []blockproof.Span, holds bool, err error) {
	for len(of) > 0 {
		span, proof, err := source(ctx, of)
		if err != nil {
			log.Debug("cannot fetch proofs from another member", "error", err)
			return of, true, nil
		}
		if span == 0 {
			return of, true, nil
		}
		keep := q.keepSpan
		if span.Log() == 0 {
			keep = func(span blockproof.Span, proof []byte) error { return q.keep(span.Last(), proof) }
		}
		switch err := keep(span, proof); {
		case errors.Is(err, blockproof.ErrProof):
			log.Warn("refused a proof made by another member",
				"height", span.Last(), "blocks", span.Blocks(), "error", err)
			return of, false, nil
		case err != nil && !isGone(err):
			return of, true, err
		}
		of = slices.DeleteFunc(of, func(s blockproof.Span) bool { return s == span })
	}
	return of, true, nil
}
