package proving

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// The blocks of some spans get one proof together, from the witnesses that their own proofs left, once no block waits
// for a proof.

// Lengths are the binary logarithms of the lengths of spans that may be scheduled, ascending. A stateless replica needs
// at most fifteen proofs of a length until the next larger span begins.
var Lengths = []int{4, 8, 12}

// spans are what a queue knows of spans of several blocks.
type spans struct {
	lengths        []int  // of those that get a proof, as binary logarithms
	accepted, made uint64 // proofs since the start, guarded by Queue.mu
}

// leaseSpan takes the oldest of the shortest spans that is free and that this node may prove, else chain.ErrNotFound.
func (q *Queue) leaseSpan(ctx context.Context) (blockproof.Span, error) {
	if err := q.dropSpent(); err != nil {
		return 0, err
	}
	oldest, err := q.store.OldestSpent()
	if err != nil {
		return 0, err
	}
	head := q.store.Head().Header.Height
	denied := 0
	for _, log := range q.spans.lengths {
		for span := spanOf(oldest, log); span.Last() <= head; span = spanOf(span.Last()+1, log) {
			taken, err := q.takeSpan(span)
			if err != nil {
				return 0, err
			}
			if !taken {
				continue
			}
			may, err := q.may(ctx, span)
			if may && err == nil {
				return span, nil
			}
			q.Release(span)
			if err != nil {
				return 0, fmt.Errorf("%w: who proves the span %x: %w", chain.ErrNotFound, uint64(span), err)
			}
			if denied++; denied == maxDenied {
				return 0, fmt.Errorf("%w: other nodes prove these spans", chain.ErrNotFound)
			}
		}
	}
	return 0, chain.ErrNotFound
}

// spanOf is the span of 2^log blocks that a block is in.
func spanOf(h types.Height, log int) blockproof.Span {
	blocks := types.Height(1) << log
	return blockproof.NewSpan((h+blocks-1)/blocks*blocks, log)
}

// takeSpan takes a span unless it is taken or decided.
func (q *Queue) takeSpan(span blockproof.Span) (bool, error) {
	if decided, err := q.decided(span); err != nil || decided {
		return false, err
	}
	q.mu.Lock()
	leased := q.now().Sub(q.leases[span]) < leaseTime
	if !leased {
		q.leases[span] = q.now()
	}
	q.mu.Unlock()
	return !leased, nil
}

// decided tells that a span has its proof, or gets none.
func (q *Queue) decided(span blockproof.Span) (bool, error) {
	q.mu.Lock()
	refused := q.refused[span]
	q.mu.Unlock()
	if refused {
		return true, nil
	}
	return q.store.HasRangeProof(span)
}

// undecided are the first spans that have no proof yet, of those whose blocks' witnesses are here.
func (q *Queue) undecided() (list []blockproof.Span, err error) {
	oldest, err := q.store.OldestSpent()
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, log := range q.spans.lengths {
		for span := spanOf(oldest, log); span.Last() <= q.store.Head().Header.Height; span = spanOf(span.Last()+1, log) {
			decided, err := q.decided(span)
			if err != nil {
				return nil, err
			}
			if !decided {
				list = append(list, span)
			}
			if len(list) == MostAsked {
				return list, nil
			}
		}
	}
	return list, nil
}

// mostBehind is how many of the longest spans may be made until an undecided one gets no proof any more.
const mostBehind = 16

// dropSpent deletes the witnesses of blocks whose spans are all decided, or long past.
func (q *Queue) dropSpent() error {
	oldest, err := q.store.OldestSpent()
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	head := q.store.Head().Header.Height
	if len(q.spans.lengths) == 0 { // any more
		return q.store.DropSpent(head)
	}
	largest := q.spans.lengths[len(q.spans.lengths)-1]
	for span := spanOf(oldest, largest); span.Last() <= head; span = spanOf(span.Last()+1, largest) {
		decided, err := q.allDecided(oldest, span)
		if past := span.Last()+mostBehind*span.Blocks() <= head; err != nil || !decided && !past {
			return err
		}
		if err := q.store.DropSpent(span.Last()); err != nil {
			return err
		}
		q.forget(span.Last())
	}
	return nil
}

// allDecided tells that all spans in one of the longest, with blocks from oldest on, are decided.
func (q *Queue) allDecided(oldest types.Height, span blockproof.Span) (bool, error) {
	for _, log := range q.spans.lengths {
		part := spanOf(max(oldest, span.First()), log)
		for ; part.Last() <= span.Last(); part = spanOf(part.Last()+1, log) {
			if decided, err := q.decided(part); err != nil || !decided {
				return false, err
			}
		}
	}
	return true, nil
}

// forget forgets which spans up to a block were given up: their witnesses are gone.
func (q *Queue) forget(to types.Height) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for span := range q.refused {
		if span.Log() > 0 && span.Last() <= to {
			delete(q.refused, span)
		}
	}
}

// headersOf are those of a span's blocks, after that of the block before them; chain.ErrNotFound where the blocks used
// too much gas for one proof.
func (q *Queue) headersOf(span blockproof.Span) ([]types.SignedHeader, error) {
	headers := make([]types.SignedHeader, 0, span.Blocks()+1)
	for h := span.First() - 1; h <= span.Last(); h++ {
		header, err := q.store.Header(h)
		if err != nil {
			return nil, err
		}
		headers = append(headers, header)
	}
	if !blockproof.FitsRange(headers[1:]) {
		return nil, fmt.Errorf("%w: blocks %d to %d used too much gas for one proof",
			chain.ErrNotFound, span.First(), span.Last())
	}
	return headers, nil
}

// spanTask is the encoded task of a span, chain.ErrNotFound where it has none, or what it is made of is not here.
func (q *Queue) spanTask(span blockproof.Span) ([]byte, error) {
	headers, err := q.headersOf(span)
	if err != nil {
		return nil, err
	}
	e := newSpanEncoder(headers)
	for h := span.First(); h <= span.Last(); h++ {
		accesses, err := q.store.Accesses(h)
		if err != nil {
			return nil, err
		}
		witness, err := q.store.AnyWitness(h)
		if err != nil {
			return nil, err
		}
		e.Bytes(types.EncodeAccesses(accesses))
		e.Bytes(witness)
	}
	return e.Data(), nil
}

// Range is the range of a span with its proof: chain.ErrNotFound where there is none (yet), chain.ErrPruned. After each
// list that is read for it count is told how many bytes they have so far, and an error of it ends it.
func (q *Queue) Range(span blockproof.Span, count func(bytes int) error) (r blockproof.Range, err error) {
	proof, err := q.store.RangeProof(span)
	if err != nil {
		return r, err
	}
	if r, err = q.unproven(span, count); err != nil {
		return r, err
	}
	r.Proof = proof
	return r, nil
}

// Uncounted counts nothing: for work that is done once at a time.
func Uncounted(int) error { return nil }

// unproven is the range of a span without its proof.
func (q *Queue) unproven(span blockproof.Span, count func(bytes int) error) (r blockproof.Range, err error) {
	if r.Headers, err = q.headersOf(span); err != nil {
		return r, err
	}
	lists, size := make([][]types.Access, 0, span.Blocks()), 0
	for h := span.First(); h <= span.Last(); h++ {
		list, err := q.store.Accesses(h)
		if err != nil {
			return r, err
		}
		size += types.AccessesBytes(list)
		if err := count(size); err != nil {
			return r, err
		}
		lists = append(lists, list)
	}
	r.Accesses, err = blockproof.UnionAccesses(lists)
	return r, err
}

// keepSpan verifies the proof of a span, and keeps it.
func (q *Queue) keepSpan(span blockproof.Span, proof []byte) error {
	r, err := q.unproven(span, Uncounted)
	if err != nil {
		return err
	}
	r.Proof = proof
	if _, err := r.Verify(q.bits, blockproof.InOrder); err != nil {
		return err
	}
	if err := q.store.PutRangeProof(span, proof); err != nil {
		return err
	}
	if err := q.dropSpent(); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.leases, span)
	q.spans.accepted++
	q.announce()
	return nil
}

// acceptSpan is Accept of a span of several blocks.
func (q *Queue) acceptSpan(span blockproof.Span, proof []byte) error {
	decided, err := q.decided(span)
	if err == nil && decided {
		err = chain.ErrNotFound
	}
	if err == nil {
		err = q.keepSpan(span, proof)
	}
	if isGone(err) {
		return fmt.Errorf("blocks %d to %d: %w", span.First(), span.Last(), ErrUnwanted)
	}
	if err == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.spans.made++
	}
	return err
}

// KeepRange verifies the proof of a span whose blocks are here, and keeps it. Of the encoded range only the proof
// counts: headers and lists are this node's own. Errors are blockproof.ErrProof for one that does not hold, or is no
// range, and the store's.
func (q *Queue) KeepRange(span blockproof.Span, encoded []byte) error {
	proof, err := blockproof.ProofInRange(encoded)
	if err != nil {
		return fmt.Errorf("%w: blocks %d to %d: %w", blockproof.ErrProof, span.First(), span.Last(), err)
	}
	return q.keepSpan(span, proof)
}

// Ranges is how many proofs of spans were accepted since the start, and how many of those were made for this queue.
func (q *Queue) Ranges() (accepted, made uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.spans.accepted, q.spans.made
}

// mostWanted is how many proofs of spans are asked for until it is looked anew which are missing.
const mostWanted = 64

// Wanted are the oldest spans of 2^log blocks, from one block to another, that have no proof here and could have one.
// There are none beyond the retention, and none of lengths that get no proof.
func (q *Queue) Wanted(log int, oldest, newest types.Height) (list []blockproof.Span, err error) {
	if !slices.Contains(q.spans.lengths, log) {
		return nil, nil
	}
	head, blocks := q.store.Head().Header.Height, types.Height(1)<<log
	if keep := q.store.ProofRetention() * blocks; keep > 0 && head > keep {
		oldest = max(oldest, head-keep+1)
	}
	if oldest > head {
		return nil, nil
	}
	for span := spanOf(max(oldest, q.store.OldestProvable(), 1), log); len(list) < mostWanted; {
		if span.Last() > min(newest, head) {
			break
		}
		has, err := q.store.HasRangeProof(span)
		if err != nil {
			return nil, err
		}
		if !has && span.First() >= max(oldest, q.store.OldestProvable()) {
			list = append(list, span)
		}
		span = spanOf(span.Last()+1, log)
	}
	return list, nil
}
