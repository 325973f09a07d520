package proving

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// A node that follows another may keep proofs that were made elsewhere. It verifies each on its own headers and lists.

// NextToRelay returns the first block whose proof may be requested, now or once the block is here. It is at least from,
// after all blocks with a proof here, and within the retention. An error is the store's.
func (q *Queue) NextToRelay(from types.Height) (types.Height, error) {
	from = max(from, 1, q.store.OldestProvable())
	if head, keep := q.store.Head().Header.Height, q.store.ProofRetention(); keep > 0 && head > keep {
		from = max(from, head-keep+1)
	}
	stored, err := q.store.Proofs()
	switch {
	case err == nil:
		from = max(from, stored.Newest+1)
	case !errors.Is(err, chain.ErrNotFound):
		return 0, err
	}
	return from, nil
}

// Await sets the block from which on proofs will come from another node; nil means that none will. [Queue.Status] takes
// this into account.
func (q *Queue) Await(from *types.Height) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.awaited
	if q.awaited = noHeight; from != nil {
		q.awaited = *from
	}
	if q.awaited != before {
		q.announce()
	}
}

func (q *Queue) awaitedFrom() types.Height {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.awaited
}

// WaitBlock waits until a block is stored here. It returns the context's error or chain.ErrClosed if that comes first.
func (q *Queue) WaitBlock(ctx context.Context, h types.Height) error {
	return q.store.WaitHeight(ctx, h)
}

// Keep verifies and keeps the proof of a block that is stored here. It uses only the proof in the bundle; headers and
// list are this node's own. It returns blockproof.ErrProof for an invalid proof or encoding, or errors of the store.
func (q *Queue) Keep(h types.Height, bundle []byte) error {
	proof, err := blockproof.ProofIn(bundle)
	if err != nil {
		return fmt.Errorf("%w: block %d: %w", blockproof.ErrProof, h, err)
	}
	return q.keep(h, proof)
}

// Lag returns the number of blocks after the newest with a proof here. If no block has one, it counts the blocks that
// could have one.
func (q *Queue) Lag() (uint64, error) {
	newest := max(q.store.OldestProvable(), 1) - 1
	stored, err := q.store.Proofs()
	switch {
	case err == nil:
		newest = stored.Newest
	case !errors.Is(err, chain.ErrNotFound):
		return 0, err
	}
	head := q.store.Head().Header.Height
	return uint64(head - min(newest, head)), nil
}
