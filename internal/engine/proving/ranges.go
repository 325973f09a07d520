package proving

import (
	"context"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Once no block waits for a proof, the blocks of some spans get one joint proof, made from the witnesses kept after
// their own proofs.

// Lengths are the binary logarithms of the span lengths that may be scheduled, ascending. A stateless replica needs at
// most fifteen proofs of a length before the next larger span begins.
var Lengths = []int{4, 8, 12}

// leaseSpan takes the oldest of the shortest free spans that this node may prove, or returns chain.ErrNotFound.
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
	for _, log := range q.spanLengths {
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
				return 0, fmt.Errorf("%w: cannot determine the provers of span %x: %w", chain.ErrNotFound, uint64(span), err)
			}
			if denied++; denied == maxDenied {
				return 0, fmt.Errorf("%w: other nodes prove these spans", chain.ErrNotFound)
			}
		}
	}
	return 0, chain.ErrNotFound
}

// spanOf returns the span of 2^log blocks that contains a block.
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

// decided reports whether a span has its proof or gets none.
func (q *Queue) decided(span blockproof.Span) (bool, error) {
	q.mu.Lock()
	refused := q.refused[span]
	q.mu.Unlock()
	if refused {
		return true, nil
	}
	return q.store.HasRangeProof(span)
}

// undecided returns the first spans that have no proof yet and whose blocks' witnesses are stored here.
func (q *Queue) undecided() (list []blockproof.Span, err error) {
	oldest, err := q.store.OldestSpent()
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, log := range q.spanLengths {
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

// mostBehind is the age, in longest spans, beyond which an undecided span no longer gets a proof.
const mostBehind = 16

// dropSpent deletes the witnesses of blocks whose spans are all decided or too old.
func (q *Queue) dropSpent() error {
	oldest, err := q.store.OldestSpent()
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	head := q.store.Head().Header.Height
	if len(q.spanLengths) == 0 { // spans are no longer proven
		return q.store.DropSpent(head)
	}
	largest := q.spanLengths[len(q.spanLengths)-1]
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

// allDecided reports whether all spans within a longest span that hold blocks from oldest on are decided.
func (q *Queue) allDecided(oldest types.Height, span blockproof.Span) (bool, error) {
	for _, log := range q.spanLengths {
		part := spanOf(max(oldest, span.First()), log)
		for ; part.Last() <= span.Last(); part = spanOf(part.Last()+1, log) {
			if decided, err := q.decided(part); err != nil || !decided {
				return false, err
			}
		}
	}
	return true, nil
}

// forget removes records of refused spans up to a block: their witnesses are gone.
func (q *Queue) forget(to types.Height) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for span := range q.refused {
		if span.Log() > 0 && span.Last() <= to {
			delete(q.refused, span)
		}
	}
}

// headersOf returns the headers of a span's blocks, preceded by the header of the block before them. It returns
// chain.ErrNotFound if the blocks used too much gas for one proof.
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

// spanTask returns the encoded task of a span. It returns chain.ErrNotFound if the span gets no proof or its input is
// not stored here.
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

// Range returns the range of a span with its proof. The error is chain.ErrNotFound if there is no proof yet, or
// chain.ErrPruned. After reading each access list, Range calls count with the total size so far in bytes, and stops
// with count's error.
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

// Uncounted is a count function for [Queue.Range] that does nothing. It is for work that is never done concurrently.
func Uncounted(int) error { return nil }

// unproven returns the range of a span without its proof.
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

// keepSpan verifies the proof of a span and stores it.
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
	q.spansAccepted++
	q.announce()
	return nil
}

// acceptSpan is [Queue.Accept] for a span of several blocks.
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
		q.spansMade++
	}
	return err
}

// KeepRange verifies and keeps the proof of a span whose blocks are stored here. It uses only the proof of the encoded
// range; headers and lists are this node's own. It returns blockproof.ErrProof for an invalid proof or encoding, or
// errors of the store.
func (q *Queue) KeepRange(span blockproof.Span, encoded []byte) error {
	proof, err := blockproof.ProofInRange(encoded)
	if err != nil {
		return fmt.Errorf("%w: blocks %d to %d: %w", blockproof.ErrProof, span.First(), span.Last(), err)
	}
	return q.keepSpan(span, proof)
}

// Ranges returns how many proofs of spans were accepted since the start, and how many of them were made for this queue.
func (q *Queue) Ranges() (accepted, made uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.spansAccepted, q.spansMade
}

// mostWanted bounds the number of missing span proofs that are requested before the list is made again.
const mostWanted = 64

// Wanted returns the oldest spans of 2^log blocks within a range of blocks that lack a proof here and could have one.
// It returns none beyond the retention, and none of a length that gets no proofs.
func (q *Queue) Wanted(log int, oldest, newest types.Height) (list []blockproof.Span, err error) {
	if !slices.Contains(q.spanLengths, log) {
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
