package proving

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// span returns the span of the blocks from … to.
func span(t *testing.T, first, last types.Height) blockproof.Span {
	t.Helper()
	s, is := blockproof.SpanOf(first, last)
	if !is {
		t.Fatalf("%d to %d are no span", first, last)
	}
	return s
}

// newScheduled returns the queue of a node with the given number of blocks, which also proves spans of two and of four.
func newScheduled(t *testing.T, blocks int) (*node, *Queue) {
	t.Helper()
	n := newNodeThat(t, 1<<20)
	for i := range blocks {
		n.Extend(t, i%3)
	}
	return n, NewQueue(n.Store(), testBits, 1, 2)
}

// proveAll proves all tasks that the queue hands out until none is left, and returns them.
func proveAll(t *testing.T, q *Queue) (made []blockproof.Span) {
	t.Helper()
	prover := newTestProver(t)
	for {
		ctx, stop := context.WithCancel(t.Context())
		stop() // available tasks are handed out
		handed, encoded, err := q.Next(ctx)
		if errors.Is(err, context.Canceled) {
			return made
		}
		must(t, err)
		work, err := DecodeWork(encoded)
		must(t, err)
		if work.Span() != handed {
			t.Fatalf("the task of %x is handed out for %x", work.Span(), handed)
		}
		proof, _, err := work.ProveWith(prover)
		must(t, err)
		must(t, q.Accept(handed, proof))
		made = append(made, handed)
	}
}

// TestSpansAreProven: the node proves the blocks first, and then spans by length. A verifier that has only the range
// accepts each proof. Afterwards the witnesses are deleted.
func TestSpansAreProven(t *testing.T) {
	n, q := newScheduled(t, 7)
	want := []blockproof.Span{1, 2, 3, 4, 5, 6, 7, span(t, 1, 2), span(t, 3, 4), span(t, 5, 6), span(t, 1, 4)}
	if made := proveAll(t, q); !slices.Equal(made, want) {
		t.Fatalf("%x are proven, want %x", made, want)
	}
	for _, s := range want[7:] {
		r, err := q.Range(s, Uncounted)
		must(t, err)
		decoded, err := blockproof.DecodeRange(r.Encode())
		must(t, err)
		if bits, err := decoded.Verify(testBits, blockproof.InOrder); err != nil || bits != testBits {
			t.Errorf("blocks %d to %d: %d bits, error %v", s.First(), s.Last(), bits, err)
		}
	}
	if oldest, err := n.Store().OldestSpent(); err != nil || oldest != 5 {
		t.Errorf("witnesses are left from block %d on, error %v", oldest, err)
	}
	if accepted, made := q.Ranges(); accepted != 4 || made != 4 || q.Proven() != 7 {
		t.Errorf("%d proofs of blocks, %d of spans, %d made", q.Proven(), accepted, made)
	}
	n.Extend(t, 1)
	if made := proveAll(t, q); !slices.Equal(made, []blockproof.Span{8, span(t, 7, 8), span(t, 5, 8)}) {
		t.Errorf("after another block %x are proven", made)
	}
	if kept, err := n.Store().WitnessBytes(); err != nil || kept != 0 {
		t.Errorf("%d bytes of witnesses are left, error %v", kept, err)
	}
}

// TestSpansThatAreRefused: the node refuses false proofs, and deletes the witnesses of a span that it has given up.
func TestSpansThatAreRefused(t *testing.T) {
	n, q := newScheduled(t, 4)
	prover := newTestProver(t)
	for h := types.Height(1); h <= 4; h++ {
		proof, err := prover.Prove(taskOf(t, q, h))
		must(t, err)
		must(t, q.Accept(blockproof.Span(h), proof))
	}
	first, second, whole := span(t, 1, 2), span(t, 3, 4), span(t, 1, 4)
	proofs := map[blockproof.Span][]byte{}
	for _, s := range []blockproof.Span{first, second} {
		encoded, err := q.spanTask(s)
		must(t, err)
		work, err := DecodeWork(encoded)
		must(t, err)
		proofs[s], _, err = work.ProveWith(prover)
		must(t, err)
	}
	block, err := q.Bundle(2)
	must(t, err)
	for name, c := range map[string]struct {
		span  blockproof.Span
		proof []byte
		want  error
	}{
		"another span's":  {first, proofs[second], blockproof.ErrProof},
		"a larger span's": {whole, proofs[first], blockproof.ErrProof},
		"a block's":       {first, block.Proof, blockproof.ErrProof},
		"nothing":         {first, nil, blockproof.ErrProof},
		"above the head":  {span(t, 5, 8), proofs[first], ErrUnwanted},
	} {
		if err := q.Accept(c.span, c.proof); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	must(t, q.Accept(first, proofs[first]))
	if err := q.Accept(first, proofs[first]); !errors.Is(err, ErrUnwanted) {
		t.Errorf("a second proof: error %v, want %v", err, ErrUnwanted)
	}
	q.Refuse(second)
	q.Refuse(whole)
	if err := q.Accept(second, proofs[second]); !errors.Is(err, ErrUnwanted) {
		t.Errorf("a span that is given up: error %v, want %v", err, ErrUnwanted)
	}
	if made := proveAll(t, q); len(made) > 0 {
		t.Errorf("%x are proven", made)
	}
	if _, err := n.Store().OldestSpent(); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("witnesses are left: error %v, want %v", err, chain.ErrNotFound)
	}
}

// TestSpansAreLeased: each span is handed to one worker at a time, and to none while another node proves it.
func TestSpansAreLeased(t *testing.T) {
	_, q := newScheduled(t, 4)
	now := time.Unix(1_000, 0)
	q.now = func() time.Time { return now }
	prover := newTestProver(t)
	for h := types.Height(1); h <= 4; h++ {
		proof, err := prover.Prove(taskOf(t, q, h))
		must(t, err)
		must(t, q.Accept(blockproof.Span(h), proof))
	}
	others, away := []blockproof.Span{span(t, 1, 2)}, error(nil)
	q.may = func(_ context.Context, s blockproof.Span) (bool, error) { return !slices.Contains(others, s), away }
	for _, want := range []blockproof.Span{span(t, 3, 4), span(t, 1, 4), 0} {
		if got, err := q.leaseSpan(t.Context()); got != want || (want == 0) != errors.Is(err, chain.ErrNotFound) {
			t.Errorf("%x is taken, %v, want %x", got, err, want)
		}
	}
	q.Release(span(t, 1, 4))
	away = errors.New("no leader")
	if got, err := q.leaseSpan(t.Context()); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("nobody can be asked: got %x, error %v, want %v", got, err, chain.ErrNotFound)
	}
	now, others, away = now.Add(leaseTime), nil, nil
	if got, err := q.leaseSpan(t.Context()); err != nil || got != span(t, 1, 2) {
		t.Errorf("after the lease %x is taken, error %v", got, err)
	}
}

// TestSpansAreTakenBack checks that a reverted chain drops its proven spans, and proves the spans of its new blocks.
func TestSpansAreTakenBack(t *testing.T) {
	n, q := newScheduled(t, 7)
	proveAll(t, q)
	must(t, n.Rewind(6))
	for _, s := range []blockproof.Span{span(t, 5, 6), span(t, 1, 4)} {
		if _, err := q.Range(s, Uncounted); err != nil {
			t.Errorf("blocks %d to %d: error %v", s.First(), s.Last(), err)
		}
	}
	must(t, n.Rewind(5))
	if _, err := q.Range(span(t, 5, 6), Uncounted); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("a span with a block that was taken back: error %v, want %v", err, chain.ErrNotFound)
	}
	n.Nonce = 3
	for i := range 3 {
		n.Extend(t, i+1)
	}
	want := []blockproof.Span{6, 7, 8, span(t, 5, 6), span(t, 7, 8), span(t, 5, 8)}
	if made := proveAll(t, q); !slices.Equal(made, want) {
		t.Errorf("%x are proven, want %x", made, want)
	}
}

// TestSpansLongPast: the node deletes the witnesses of a span that another node should have proven long ago.
func TestSpansLongPast(t *testing.T) {
	n := newNodeThat(t, 1<<20)
	const blocks = 2*mostBehind + 8
	for range blocks {
		n.Extend(t, 0)
	}
	q := NewQueue(n.Store(), testBits, 1)
	q.may = func(_ context.Context, s blockproof.Span) (bool, error) { return s.Log() == 0, nil }
	if made := proveAll(t, q); len(made) != blocks {
		t.Errorf("%d proofs are made, want %d", len(made), blocks)
	}
	if oldest, err := n.Store().OldestSpent(); err != nil || oldest != 9 {
		t.Errorf("witnesses are left from block %d on, error %v", oldest, err)
	}
	if err := NewQueue(n.Store(), testBits).dropSpent(); err != nil {
		t.Error(err)
	}
	if _, err := n.Store().OldestSpent(); !errors.Is(err, chain.ErrNotFound) {
		t.Errorf("witnesses are left where no span gets a proof: error %v, want %v", err, chain.ErrNotFound)
	}
}

// TestGathersSpans takes valid proofs of spans from another node that also proves them, and refuses others.
func TestGathersSpans(t *testing.T) {
	n, q := newScheduled(t, 4)
	proveAll(t, q)
	other := newNodeThat(t, 1<<20)
	other.follow(t, n, 1, 4)
	gathering := NewQueue(other.Store(), testBits, 1, 2)
	proofs := map[blockproof.Span][]byte{}
	for h := types.Height(1); h <= 4; h++ {
		proof, err := n.Store().Proof(h)
		must(t, err)
		proofs[blockproof.Span(h)] = proof
	}
	whole := span(t, 1, 4)
	for _, s := range []blockproof.Span{span(t, 1, 2), span(t, 3, 4), whole} {
		proof, err := n.Store().RangeProof(s)
		must(t, err)
		proofs[s] = proof
	}
	honest := proofs[whole]
	proofs[whole] = proofs[span(t, 1, 2)]
	source := func(_ context.Context, of []blockproof.Span) (blockproof.Span, []byte, error) {
		for _, s := range of {
			if proof, is := proofs[s]; is {
				return s, proof, nil
			}
		}
		return 0, nil, nil
	}
	silent := slog.New(slog.DiscardHandler)
	for _, want := range []uint64{2, 3} {
		_, wait, err := gathering.look(t.Context(), 0, []Source{source}, silent)
		must(t, err)
		if accepted, made := gathering.Ranges(); accepted != want || made != 0 || (wait == gatherPause) != (want == 2) {
			t.Errorf("%d proofs of spans are taken, %d made, looks again after %v", accepted, made, wait)
		}
		proofs[whole] = honest
	}
	encoded, err := q.Range(whole, Uncounted)
	must(t, err)
	if err := gathering.KeepRange(span(t, 1, 2), encoded.Encode()); !errors.Is(err, blockproof.ErrProof) {
		t.Errorf("another range is kept: error %v, want %v", err, blockproof.ErrProof)
	}
	must(t, gathering.KeepRange(whole, encoded.Encode()))
}

// TestListsOfARangeAreCounted: after a list for which there is no memory, no other list is read.
func TestListsOfARangeAreCounted(t *testing.T) {
	n, q := newScheduled(t, 4)
	proveAll(t, q)
	var want []int
	size := 0
	for h := range types.Height(4) {
		list, err := n.Store().Accesses(h + 1)
		must(t, err)
		size += len(types.EncodeAccesses(list))
		want = append(want, size)
	}
	refused := errors.New("refused")
	for most := range want {
		var counted []int
		_, err := q.Range(span(t, 1, 4), func(bytes int) error {
			if counted = append(counted, bytes); len(counted) > most {
				return refused
			}
			return nil
		})
		if !errors.Is(err, refused) || !slices.Equal(counted, want[:most+1]) {
			t.Errorf("counted are %d, want %d, %v", counted, want[:most+1], err)
		}
	}
	r, err := q.Range(span(t, 1, 4), Uncounted)
	must(t, err)
	if made := len(types.EncodeAccesses(r.Accesses)); made > size {
		t.Errorf("the list has %d bytes, and %d are counted", made, size)
	}
}

// TestWantsNoOtherSpans: another node may claim anything about its spans.
func TestWantsNoOtherSpans(t *testing.T) {
	n, q := newScheduled(t, 4)
	proveAll(t, q)
	fresh := newNodeThat(t, 1<<20)
	fresh.follow(t, n, 1, 4)
	wanting := NewQueue(fresh.Store(), testBits, 1, 2)
	for _, c := range []struct {
		log            int
		oldest, newest types.Height
		want           []blockproof.Span
	}{
		{1, 0, 4, []blockproof.Span{span(t, 1, 2), span(t, 3, 4)}},
		{2, 1, 1 << 63, []blockproof.Span{span(t, 1, 4)}},
		{1, 3, 4, []blockproof.Span{span(t, 3, 4)}},
		{-1, 1, 4, nil}, {0, 1, 4, nil}, {3, 1, 4, nil}, {64, 1, 4, nil},
		{1, 1<<64 - 1, 1<<64 - 1, nil}, {2, 1<<64 - 3, 4, nil}, {1, 4, 1, nil},
	} {
		if got, err := wanting.Wanted(c.log, c.oldest, c.newest); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("of 2^%d blocks from %d to %d: %x, %v; want %x", c.log, c.oldest, c.newest, got, err, c.want)
		}
	}
}

func FuzzDecodeWork(f *testing.F) {
	f.Add([]byte{spanKind, 3, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		if work, err := DecodeWork(b); err == nil && !work.Span().Valid() && work.Span() != 0 {
			t.Errorf("work of %x", uint64(work.Span()))
		}
	})
}
