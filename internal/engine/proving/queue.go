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

// leaseTime is how long a block is left to who took it; after that another may take it, too.
const leaseTime = 10 * time.Minute

// State is how far the proof of a block is.
type State string

// The states of a proof.
const (
	Queued    State = "queued"     // others come first
	Proving   State = "proving"    // someone has taken it
	Proven    State = "proven"     // it is there
	NotStored State = "not_stored" // neither it nor what it is made of is here
)

// ErrUnwanted is returned for a proof of a block that waits for none.
var ErrUnwanted = errors.New("the block waits for no proof")

// Queue is the blocks that wait for a proof, the oldest first. It is safe for concurrent use.
type Queue struct {
	store *chain.Store
	bits  int // that a proof has at least
	now   func() time.Time
	may   Permit

	spans spans // of several blocks

	mu      sync.Mutex // guards what follows
	leases  map[blockproof.Span]time.Time
	refused map[blockproof.Span]bool // given up: whoever took it said that it cannot be proven
	changed chan struct{}            // closed and replaced when a proof is there
	proven  uint64
	made    uint64       // of those, the ones that were made for this queue
	awaited types.Height // the first block whose proof is to come from another node; noHeight for none
}

// inTime is how many blocks after it may be made before a block that nobody has proven is in a hurry.
const inTime = 1

// maxDenied is how many blocks that other nodes prove a queue passes over before it waits for the next block.
const maxDenied = 8

const noHeight = types.Height(math.MaxUint64)

// NewQueue returns the queue of a store, which takes proofs of at least so many bits. Spans of these lengths, ascending
// binary logarithms, get a proof together.
func NewQueue(store *chain.Store, bits int, lengths ...int) *Queue {
	return &Queue{
		store:   store,
		bits:    bits,
		now:     time.Now,
		spans:   spans{lengths: lengths},
		leases:  make(map[blockproof.Span]time.Time),
		refused: make(map[blockproof.Span]bool),
		changed: make(chan struct{}),
		awaited: noHeight,
		may:     func(context.Context, blockproof.Span) (bool, error) { return true, nil },
	}
}

// Permit says whether this node may prove a block, or a span of several, where several nodes share the work. Its error
// says that it cannot be known now.
type Permit func(ctx context.Context, span blockproof.Span) (bool, error)

// Share has the queue ask before it hands a block out. It is called before the queue is used.
func (q *Queue) Share(may Permit) { q.may = may }

// Next takes the oldest block that nobody has taken, or where none waits a span of several, and waits for one until ctx
// ends, with its error. The task is encoded: [DecodeWork] reads it.
func (q *Queue) Next(ctx context.Context) (span blockproof.Span, task []byte, err error) {
	for {
		seen := q.store.HeadHash()
		height, err := q.lease(ctx)
		if err == nil {
			task, err := q.task(height)
			if isGone(err) {
				continue // proven, pruned or taken back meanwhile
			}
			return blockproof.Span(height), task, err
		}
		if errors.Is(err, chain.ErrNotFound) {
			var span blockproof.Span
			if span, err = q.leaseSpan(ctx); err == nil {
				task, err := q.spanTask(span)
				if isGone(err) { // it gets none
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

// lease takes the oldest block that is free and that this node may prove, else chain.ErrNotFound.
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
			return 0, fmt.Errorf("%w: who proves block %d: %w", chain.ErrNotFound, height, err)
		}
		from = height + 1
	}
	return 0, fmt.Errorf("%w: other nodes prove these blocks", chain.ErrNotFound)
}

// take finds the oldest block from a height on that is free and takes it, else chain.ErrNotFound.
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

// isGone tells that a block, or what is asked of it, is not in the store (any more).
func isGone(err error) bool {
	return errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned)
}

// task is the encoded task of a block. The witness, which is most of it, goes as it is stored: who proves checks it.
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

// bundle is a block's bundle without the proof.
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

// Bundle is a block's bundle with its proof: chain.ErrNotFound where there is none (yet), chain.ErrPruned.
func (q *Queue) Bundle(height types.Height) (blockproof.Bundle, error) {
	b, err := q.bundle(height)
	if err == nil {
		b.Proof, err = q.store.Proof(height)
	}
	return b, err
}

// Accept verifies a proof of a block that waits for one, or of a span of several, and keeps it. ErrUnwanted says that
// it waits for none; other errors are the verifier's, or the store's.
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

// keep verifies a proof and keeps it.
func (q *Queue) keep(height types.Height, proof []byte) error {
	if _, err := q.Verify(height, proof, q.bits); err != nil {
		return err
	}
	if err := q.store.PutProof(height, proof); err != nil {
		return err
	}
	if err := q.dropSpent(); err != nil { // where nobody takes a span, too
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.leases, blockproof.Span(height))
	q.proven++
	q.announce()
	return nil
}

// announce wakes who waits for a proof. The caller holds q.mu.
func (q *Queue) announce() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// Make proves a block that is kept, from its witness, and keeps the proof. Errors are the prover's, the verifier's, or
// the store's.
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

// Verify checks by the public verifier that a proof of a block has at least so many bits, and returns how many it has.
func (q *Queue) Verify(height types.Height, proof []byte, atLeast int) (bits int, err error) {
	b, err := q.bundle(height)
	if err != nil {
		return 0, err
	}
	b.Proof = proof
	return b.Verify(atLeast, blockproof.InOrder) // the other cores are the chain's
}

// Refuse gives a block, or a span of several, up that cannot be proven; a block's witness stays for whoever looks into
// it.
func (q *Queue) Refuse(span blockproof.Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refused[span] = true
	delete(q.leases, span)
	q.announce()
}

// Release gives a taken block or span back.
func (q *Queue) Release(span blockproof.Span) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.leases, span)
}

// Status is how far the proof of a block at or below the head is; position counts the blocks before it that wait.
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
		if _, err := q.store.Proof(height); err == nil { // it has come since the first look
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
		return q.Status(height) // it waits no more
	}
	if err != nil {
		return "", 0, err
	}
	return Queued, uint64(height - waiting.Oldest), nil
}

// Changed is closed when the next proof is there, or a block is given up.
func (q *Queue) Changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

// Proven is how many proofs were accepted since the start.
func (q *Queue) Proven() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.proven
}

// Made is how many of those were made for this queue, not by another node.
func (q *Queue) Made() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.made
}
