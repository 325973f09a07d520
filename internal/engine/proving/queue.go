package proving

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// leaseTime is the time for which a block is reserved for the prover that took it. After that another prover may take
// it too.
const leaseTime = 10 * time.Minute

// State is the state of a block's proof.
type State string

// The states of a proof.
const (
	Queued    State = "queued"     // waiting behind other blocks
	Proving   State = "proving"    // taken by a prover
	Proven    State = "proven"     // stored here
	NotStored State = "not_stored" // neither the proof nor its input is stored here
)

// ErrUnwanted is returned for a proof of a block that does not wait for one.
var ErrUnwanted = errors.New("the block does not await proof")

// Queue holds the blocks that wait for a proof, oldest first. It is safe for concurrent use.
type Queue struct {
	store       *chain.Store
	bits        int // minimum proven bits of a proof
	now         func() time.Time
	may         Permit
	spanLengths []int // lengths of spans that get joint proofs, as binary logarithms

	mu                       sync.Mutex // guards the fields below
	leases                   map[blockproof.Span]time.Time
	refused                  map[blockproof.Span]bool // given up: the prover reported that they cannot be proven
	changed                  chan struct{}            // closed and replaced when a proof arrives or a block is given up
	proven                   uint64
	made                     uint64       // proofs among them that were made for this queue
	awaited                  types.Height // first block whose proof will come from another node; noHeight for none
	spansAccepted, spansMade uint64       // joint proofs since the start
}

// inTime is the number of further blocks after which a block that is still unproven is proven in a hurry.
const inTime = 1

// maxDenied is the number of blocks proven by other nodes that a queue skips before it waits for the next block.
const maxDenied = 8

const noHeight = types.Height(math.MaxUint64)

// NewQueue returns the queue of a store. It accepts proofs of at least the given number of proven bits. Spans of the
// given lengths, ascending binary logarithms, get joint proofs.
func NewQueue(store *chain.Store, bits int, lengths ...int) *Queue {
	return &Queue{
		store:       store,
		bits:        bits,
		now:         time.Now,
		spanLengths: lengths,
		leases:      make(map[blockproof.Span]time.Time),
		refused:     make(map[blockproof.Span]bool),
		changed:     make(chan struct{}),
		awaited:     noHeight,
		may:         func(context.Context, blockproof.Span) (bool, error) { return true, nil },
	}
}

// Permit reports whether this node may prove a block or a span, if several nodes share the work. An error means that
// this is not known now.
type Permit func(ctx context.Context, span blockproof.Span) (bool, error)

// Share makes the queue call may before it hands out a block. It must be called before the queue is used.
func (q *Queue) Share(may Permit) { q.may = may }

// Next takes the oldest free block or, if no block waits, a free span of several. It waits for one until ctx ends, and
// then returns ctx's error. The task is encoded; [DecodeWork] decodes it.
func (q *Queue) Next(ctx context.Context) (span blockproof.Span, task []byte, err error) {
	for {
		seen := q.store.HeadHash()
		height, err := q.lease(ctx)
		if err == nil {
			task, err := q.task(height)
			if isGone(err) {
				continue // meanwhile proven, pruned or rewound
			}
			return blockproof.Span(height), task, err
		}
		if errors.Is(err, chain.ErrNotFound) {
			var span blockproof.Span
			if span, err = q.leaseSpan(ctx); err == nil {
				task, err := q.spanTask(span)
				if isGone(err) { // it gets no proof
					q.Refuse(span)
					continue
				}
				return span, task, err
			}
		}
		if !errors.Is(err, chain.ErrNotFound) {
			return 0, nil, err
		}
		if err := q.store.WaitHead(ctx, seen); err != nil {
			return 0, nil, err
		}
	}
}

// lease takes the oldest free block that this node may prove, or returns chain.ErrNotFound.
func (q *Queue) lease(ctx context.Context) (types.Height, error) {
	for from, denied := types.Height(0), 0; denied < maxDenied; denied++ {
		height, err := q.take(from)
		if err != nil {
			return 0, err
		}
		may, err := q.may(ctx, blockproof.Span(height))
		if may && err == nil {
			return height, nil
		}
		q.Release(blockproof.Span(height))
		if err != nil {
			return 0, fmt.Errorf("%w: cannot determine the provers of block %d: %w", chain.ErrNotFound, height, err)
		}
		from = height + 1
	}
	return 0, fmt.Errorf("%w: other nodes prove these blocks", chain.ErrNotFound)
}

// take takes the oldest free block from a height on, or returns chain.ErrNotFound.
func (q *Queue) take(from types.Height) (types.Height, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		height, err := q.store.Unproven(from)
		if err != nil {
			return 0, err
		}
		if span := blockproof.Span(height); !q.refused[span] && q.now().Sub(q.leases[span]) >= leaseTime {
			q.leases[span] = q.now()
			return height, nil
		}
		from = height + 1
	}
}

// isGone reports whether an error says that a block or its data is not, or no longer, in the store.
func isGone(err error) bool {
	return errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned)
}

// task returns the encoded task of a block. The witness, which is most of it, is copied as stored; the prover checks
// it.
func (q *Queue) task(height types.Height) ([]byte, error) {
	b, err := q.bundle(height)
	if err != nil {
		return nil, err
	}
	witness, err := q.store.Witness(height)
	if err != nil {
		return nil, err
	}
	return encodeTask(b, witness, q.store.Head().Header.Height > height+inTime), nil
}

// bundle returns a block's bundle without the proof.
func (q *Queue) bundle(height types.Height) (b blockproof.Bundle, err error) {
	if height == 0 {
		return b, fmt.Errorf("block 0 has no proof: %w", chain.ErrNotFound)
	}
	if b.Parent, err = q.store.Header(height - 1); err != nil {
		return b, err
	}
	if b.Header, err = q.store.Header(height); err != nil {
		return b, err
	}
	b.Accesses, err = q.store.Accesses(height)
	return b, err
}

// Bundle returns a block's bundle with its proof. The error is chain.ErrNotFound if there is no proof yet, or
// chain.ErrPruned.
func (q *Queue) Bundle(height types.Height) (blockproof.Bundle, error) {
	b, err := q.bundle(height)
	if err == nil {
		b.Proof, err = q.store.Proof(height)
	}
	return b, err
}

// Accept verifies and keeps the proof of a block or a span that waits for one. It returns ErrUnwanted if it waits for
// none. Other errors are the verifier's or the store's.
func (q *Queue) Accept(span blockproof.Span, proof []byte) error {
	if span.Log() > 0 {
		return q.acceptSpan(span, proof)
	}
	height := span.Last()
	first, err := q.store.Unproven(height)
	if err == nil && first == height {
		err = q.keepMade(height, proof)
	} else if err == nil {
		err = chain.ErrNotFound
	}
	if isGone(err) {
		return fmt.Errorf("block %d: %w", height, ErrUnwanted)
	}
	return err
}

// keepMade is keep for a proof that was made for this queue.
func (q *Queue) keepMade(height types.Height, proof []byte) error {
	if err := q.keep(height, proof); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.made++
	return nil
}

// keep verifies a block's proof and stores it.
func (q *Queue) keep(height types.Height, proof []byte) error {
	if _, err := q.Verify(height, proof, q.bits); err != nil {
		return err
	}
	if err := q.store.PutProof(height, proof); err != nil {
		return err
	}
	if err := q.dropSpent(); err != nil { // also if nobody takes spans
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.leases, blockproof.Span(height))
	q.proven++
	q.announce()
	return nil
}

// announce wakes the goroutines that wait for a proof. The caller must hold q.mu.
func (q *Queue) announce() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Make proves a stored block from its witness and keeps the proof. Errors are the prover's, the verifier's or the
// store's.
func (q *Queue) Make(height types.Height, w tree.Witness, p *Prover) error {
	b, err := q.bundle(height)
	if err != nil {
		return err
	}
	proof, err := p.Prove(&Task{Parent: b.Parent, Header: b.Header, Accesses: b.Accesses, Witness: w})
	if err != nil {
		return fmt.Errorf("block %d cannot be proven: %w", height, err)
	}
	return q.keepMade(height, proof)
}

// Verify runs the public verifier on a proof of a block and returns the number of proven bits. It returns an error if
// the proof is invalid or has fewer than atLeast bits.
func (q *Queue) Verify(height types.Height, proof []byte, atLeast int) (bits int, err error) {
	b, err := q.bundle(height)
	if err != nil {
		return 0, err
	}
	b.Proof = proof
	return b.Verify(atLeast, blockproof.InOrder) // the other cores are left to the chain
}

// Refuse gives up a block or a span that cannot be proven. A block's witness is kept for diagnosis.
func (q *Queue) Refuse(span blockproof.Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused[span] = true
	delete(q.leases, span)
	q.announce()
}

// Release returns a taken block or span to the queue.
func (q *Queue) Release(span blockproof.Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.leases, span)
}

// Status returns the state of the proof of a block at or below the head. position is the number of waiting blocks
// before it.
func (q *Queue) Status(height types.Height) (state State, position uint64, err error) {
	_, err = q.store.Proof(height)
	switch {
	case err == nil:
		return Proven, 0, nil
	case errors.Is(err, chain.ErrPruned):
		return NotStored, 0, nil
	case !errors.Is(err, chain.ErrNotFound):
		return "", 0, err
	}
	switch first, err := q.store.Unproven(height); {
	case errors.Is(err, chain.ErrNotFound) || err == nil && first != height:
		if from := q.awaitedFrom(); height >= from {
			return Queued, uint64(height - from), nil
		}
		if _, err := q.store.Proof(height); err == nil { // it arrived after the first look
			return Proven, 0, nil
		}
		return NotStored, 0, nil
	case err != nil:
		return "", 0, err
	}
	q.mu.Lock()
	span := blockproof.Span(height)
	refused, leased := q.refused[span], q.now().Sub(q.leases[span]) < leaseTime
	q.mu.Unlock()
	if refused {
		return NotStored, 0, nil
	}
	if leased {
		return Proving, 0, nil
	}
	waiting, err := q.store.Witnesses()
	if errors.Is(err, chain.ErrNotFound) || err == nil && waiting.Oldest > height {
		return q.Status(height) // it no longer waits
	}
	if err != nil {
		return "", 0, err
	}
	return Queued, uint64(height - waiting.Oldest), nil
}

// Changed returns a channel that is closed when the next proof arrives or a block is given up.
func (q *Queue) Changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

// Proven returns the number of proofs accepted since the start.
func (q *Queue) Proven() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.proven
}

// Made returns how many of the accepted proofs were made for this queue and not by another node.
func (q *Queue) Made() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.made
}
