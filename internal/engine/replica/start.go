package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

// Trusted is a block whose hash comes from a trusted place.
type Trusted struct {
	Height types.Height // at least 1
	Hash   types.BlockHash
}

// Begin begins a chain at a block. It is ledger.StartStateless bound to a store.
type Begin func(ledger.Start) error

// StartAt gets the data for beginning a stateless chain at a trusted block from the sources, and begins it. It retries
// a source that does not answer, or whose proof of the block does not exist yet, until ctx ends. When no source is
// left, the error describes the failure of each.
func StartAt(
	ctx context.Context, network types.Network, sources []Source, trusted Trusted, log *slog.Logger, begin Begin,
) error {
	if trusted.Height == 0 {
		return errors.New("block 0 needs no trust: it follows from the genesis")
	}
	for wait := minBackoff; ; wait = min(2*wait, LongestBackoff) {
		var faults []error
		var again []Source
		for _, s := range sources {
			err := startFrom(ctx, network, s, trusted, begin)
			if err == nil {
				return nil
			}
			err = fmt.Errorf("%s: %w", s.Name(), err)
			faults = append(faults, err)
			if !isFinal(err) {
				again = append(again, s)
				log.Warn("asking an upstream again for the data to start at the trusted block", "error", plain(err))
			}
		}
		if sources = again; len(sources) == 0 {
			return fmt.Errorf("no upstream has the data to start at block %d: %w", trusted.Height, errors.Join(faults...))
		}
		if err := pause.For(ctx, jittered(wait)); err != nil {
			return errors.Join(append(faults, err)...)
		}
	}
}

// isFinal reports whether a retry is useless: the source gave something else, or refused for good. A retry may help if
// the source is busy, failed, or is still behind.
func isFinal(err error) bool {
	var fault *FaultError
	refused := refusal(err)
	switch {
	case errors.Is(err, ErrNotProven):
		return false
	case refused != nil:
		return !slices.Contains([]RefusalKind{RefusedBusy, RefusedFailed, RefusedEarly}, refused.Why)
	case errors.As(err, &fault):
		return !noInformation(fault.Cause)
	}
	return true
}

// walkTime bounds all requests for headers back to the newest block that changed the state.
const walkTime = 10 * requestTime

// startFrom begins a chain with the data of one source.
func startFrom(ctx context.Context, network types.Network, from Source, trusted Trusted, begin Begin) error {
	var walked time.Time // deadline of the header requests
	s := ledger.Start{
		Trusted: trusted.Hash,
		Fetch:   fetchFrom(ctx, from, trusted.Height-1),
		Headers: func(to types.Height) ([]types.SignedHeader, error) {
			if walked.IsZero() {
				walked = time.Now().Add(walkTime)
			}
			walking, end := context.WithDeadline(ctx, walked)
			defer end()
			ctx, cancel := context.WithTimeout(walking, requestTime)
			defer cancel()
			headers, err := from.Headers(ctx, to)
			return headers, asked(err, "headers")
		},
		Earlier: func(block types.SignedHeader) ([]byte, error) {
			return requestBundle(ctx, from, block.Header.Height, MostBundle(block))
		},
	}
	if err := fetchStart(ctx, network, from, trusted, &s); err != nil {
		return err
	}
	return begin(s)
}

// fetchStart requests the trusted block, its parent's header and its bundle.
func fetchStart(
	ctx context.Context, network types.Network, from Source, trusted Trusted, s *ledger.Start,
) error {
	asking, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	parent, err := from.Header(asking, trusted.Height-1)
	if err != nil {
		return asked(err, "a header")
	}
	blocks, err := from.Blocks(asking, trusted.Height, trusted.Height)
	if err != nil {
		return asked(err, "a block")
	}
	if parent == nil || len(blocks) != 1 {
		return Faulty(Stalled, "it has no block %d", trusted.Height)
	}
	s.Parent = *parent
	if s.Block, err = ledger.Receive(network, blocks[0]); err != nil {
		return err
	}
	s.Bundle, err = requestBundle(ctx, from, trusted.Height, MostBundle(s.Block.Header()))
	return err
}

// asked wraps the error of a request. An error that is neither a fault nor [ErrNotProven] becomes a fault of the
// source, [Unreachable].
func asked(err error, what string) error {
	if err == nil || errors.As(err, new(*FaultError)) || errors.Is(err, ErrNotProven) {
		return err
	}
	return Faulty(Unreachable, "%s: %w", what, err)
}
