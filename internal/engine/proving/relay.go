package proving

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// A node that follows another may keep the proofs that were made elsewhere: it verifies each on its own headers and
// lists.

// NextToRelay is the first block whose proof may be asked for, now or once the block is here: after those whose proofs
// are here, kept, and at least from. Errors are the store's.
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

// Await says from which block on proofs are to come from another node, nil that none are: [Queue.Status] tells of them.
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

// WaitBlock returns once a block is here, or with the context's error, or chain.ErrClosed.
func (q *Queue) WaitBlock(ctx context.Context, h types.Height) error {
	return q.store.WaitHeight(ctx, h)
}

// Keep verifies the proof of a block that is here, and keeps it. Of the bundle only the proof counts: headers and list
// are this node's own. Errors are blockproof.ErrProof for one that does not hold, or is no bundle, and the store's.
func (q *Queue) Keep(h types.Height, bundle []byte) error {
	proof, err := blockproof.ProofIn(bundle)
	if err != nil {
		return fmt.Errorf("%w: block %d: %w", blockproof.ErrProof, h, err)
	}
	return q.keep(h, proof)
}

// Lag is how many blocks there are after the newest that has its proof here, or where none has, that could have.
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
