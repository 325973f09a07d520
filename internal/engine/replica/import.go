package replica

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

var errHalted = errors.New("the replica has halted")

// importAll imports the fetched blocks in order.
func (r *Replica) importAll(ctx context.Context, u *upstream, f *fetcher) error {
	for blocks := (batch)(nil); ; {
		var next verified
		select {
		case next = <-f.verified:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, b := range next.batch {
			f.take(int64(len(b.Encoded())))
		}
		blocks = append(blocks, next.batch...)
		for len(blocks) > 0 {
			if next.failure == nil && r.ledger.Gather(ctx, u, blocks, u.newest()) {
				break
			}
			imported, err := r.importSome(ctx, u, blocks)
			if err != nil {
				return err
			}
			blocks = blocks[imported:]
		}
		if next.failure != nil {
			return next.failure
		}
	}
}

// importSome imports the first block, or several, once the first one's time has come. It returns how many it imported.
func (r *Replica) importSome(ctx context.Context, u *upstream, blocks batch) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := r.ledger.CheckNext(blocks[0]); err != nil {
		return 0, r.refused(ctx, u, blocks[0], err)
	}
	if err := r.waitForTimestamp(ctx, blocks[0].Header().Header); err != nil {
		return 0, err
	}
	due := 1
	for due < len(blocks) && r.aheadOfClock(blocks[due].Header().Header) == 0 {
		due++
	}
	imported, err := r.importProven(ctx, u, blocks[:due])
	if len(imported) > 0 {
		if err := r.announce(u, imported); err != nil {
			return 0, err
		}
	}
	if err != nil {
		return 0, r.refused(ctx, u, blockAtFault(blocks[len(imported):], err), err)
	}
	return len(imported), nil
}

// announce records imported blocks and passes them to OnBlocks.
func (r *Replica) announce(u *upstream, imported []ledger.Block) error {
	head := imported[len(imported)-1].Header.Header.Height
	u.succeeded()
	r.pace.imported()
	r.pace.note(head, max(u.newest(), head))
	if r.config.OnBlocks != nil {
		if err := r.config.OnBlocks(imported); err != nil {
			return &localFault{err}
		}
	}
	return nil
}

const (
	// provenPoll is the time between two requests for a proof that does not exist yet. After each proofPatience the
	// other upstreams are asked: they may all wait for the same prover, or the one in use may withhold the proof.
	provenPoll    = 250 * time.Millisecond
	proofPatience = time.Minute
)

// importProven imports some of the blocks. If the importer needs proofs, it first waits for the first block's.
func (r *Replica) importProven(ctx context.Context, u *upstream, blocks batch) ([]ledger.Block, error) {
	defer r.setHolding("")
	h := blocks[0].Header().Header.Height
	for waits := time.Now(); ; {
		imported, err := r.ledger.Import(ctx, u, blocks)
		if !errors.Is(err, ErrNotProven) {
			return imported, err
		}
		if time.Since(waits) > proofPatience {
			if other := r.provenElsewhere(ctx, u, blocks[0].Header()); other != nil {
				return nil, Faulty(Behind, "block %d: %w, although %s has its proof", h, err, other.Name())
			}
			waits = time.Now()
		}
		u.answered()
		r.setHolding(fmt.Sprintf("proof_pending: block %d awaits its proof, %d blocks behind", h, max(u.newest(), h)-h+1))
		if err := pause.For(ctx, u.jitter(provenPoll)); err != nil {
			return nil, err
		}
	}
}

// provenElsewhere returns another upstream that has the bundle of a block, or nil if none has.
func (r *Replica) provenElsewhere(ctx context.Context, than *upstream, block types.SignedHeader) *upstream {
	for _, u := range r.upstreams {
		if s := u.rank(); u == than || s.lied || s.retryAt.After(time.Now()) {
			continue
		}
		if _, err := requestBundle(ctx, u, block.Header.Height, MostBundle(block)); err == nil {
			return u
		}
	}
	return nil
}

// refused turns the error of a block into the error of the session. It may halt the replica.
func (r *Replica) refused(ctx context.Context, u *upstream, b *ledger.Received, err error) error {
	var invalid *ledger.InvalidBlock
	var failure *ledger.EngineFailure
	var unknown *ledger.UnknownVersion
	switch {
	case errors.As(err, &failure):
		return r.halted(&Halt{
			Reason:   EngineFailure,
			Message:  emergency.EngineFailed(failure.Error(), failure).Error(),
			Height:   b.Header().Header.Height,
			Time:     time.Now().UTC(),
			Upstream: u.Name(),
			Headers:  []signedHeader{newSignedHeader(b.Header())},
			Block:    b.Encoded(),
		})
	case errors.As(err, &invalid):
		return r.halted(r.divergence(ctx, u, b, invalid))
	case errors.As(err, &unknown):
		return r.unknownVersion(ctx, u, unknown)
	case errors.Is(err, ledger.ErrOtherParent):
		return err
	case errors.As(err, new(*FaultError)), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, blockproof.ErrWeak):
		return Faulty(Weak, "%w", err)
	case errors.Is(err, ledger.ErrOtherSigner), errors.Is(err, ledger.ErrOtherHeight), errors.Is(err, ledger.ErrEvidence):
		return Faulty(Lied, "%w", err)
	}
	return &localFault{err}
}

// halted stops the replica for good and writes the evidence.
func (r *Replica) halted(h *Halt) error {
	r.mu.Lock()
	first := r.halt == nil
	if first {
		r.halt = h
	}
	r.mu.Unlock()
	if !first {
		return errHalted
	}
	r.config.Log.Error(
		"this node has stopped importing blocks", "reason", h.Reason, "height", h.Height, "upstream", h.Upstream,
		"error", h.Message,
	)
	if r.config.HaltFile != "" && h.Reason != UnknownVersion {
		if err := h.Write(r.config.HaltFile); err != nil {
			return &localFault{fmt.Errorf("store the evidence of a halt: %w", err)}
		}
	}
	return errHalted
}

// waitForTimestamp waits while a block's timestamp is too far ahead of the clock.
func (r *Replica) waitForTimestamp(ctx context.Context, h types.Header) error {
	defer r.setHolding("")
	for {
		ahead := r.aheadOfClock(h)
		if ahead == 0 {
			return nil
		}
		r.setHolding(fmt.Sprintf("the timestamp of block %d is in the future: %s, %.1f s ahead of this machine's "+
			"clock; check the clock",
			h.Height, timeOf(h.Timestamp), ahead.Seconds()))
		if err := pause.For(ctx, min(ahead-maxAhead+time.Millisecond, time.Second)); err != nil {
			return err
		}
	}
}

// aheadOfClock returns the time by which a block's timestamp is ahead of the clock, or 0 if that is within maxAhead.
func (r *Replica) aheadOfClock(h types.Header) time.Duration {
	now := r.wall()
	if h.Timestamp <= now+uint64(maxAhead.Milliseconds()) {
		return 0
	}
	return time.Duration(min(h.Timestamp-now, uint64(math.MaxInt64/time.Millisecond))) * time.Millisecond
}

// wall returns the clock's time in milliseconds since 1970.
func (r *Replica) wall() uint64 { return uint64(max(0, r.config.Wall().UnixMilli())) }

// timeOf returns a timestamp as text.
func timeOf(milliseconds uint64) string {
	return time.UnixMilli(int64(min(milliseconds, math.MaxInt64))).UTC().Format("2006-01-02 15:04:05.000 UTC")
}
