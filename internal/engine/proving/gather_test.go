package proving

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// sourceOf is a node that has the given proofs.
func sourceOf(proofs map[types.Height][]byte) Source {
	return func(_ context.Context, of []blockproof.Span) (blockproof.Span, []byte, error) {
		for _, h := range of {
			if proof, is := proofs[h.Last()]; is {
				return h, proof, nil
			}
		}
		return 0, nil, nil
	}
}

// TestGathersProofs takes proofs from several nodes, in whatever order they were made: one node is away, one returns
// the proof of another block, and one has the right one.
func TestGathersProofs(t *testing.T) {
	n := newNode(t)
	for range 3 {
		n.Extend(t, 1)
	}
	proofs := make(map[types.Height][]byte)
	for h, bundle := range n.prove(t, 1, 3) {
		var err error
		proofs[h], err = blockproof.ProofIn(bundle)
		must(t, err)
	}
	q := NewQueue(n.Store(), testBits)
	away := func(context.Context, []blockproof.Span) (blockproof.Span, []byte, error) {
		return 0, nil, errors.New("away")
	}
	liar := sourceOf(map[types.Height][]byte{1: proofs[2]})
	silent := slog.New(slog.DiscardHandler)
	_, wait, err := q.look(t.Context(), 0, []Source{away, liar, sourceOf(map[types.Height][]byte{3: proofs[3]})}, silent)
	if err != nil || wait != gatherPause {
		t.Errorf("a proof that does not hold: %v, asks again after %v", err, wait)
	}
	requireStatus(t, q, 1, Queued, 0)
	requireStatus(t, q, 2, Queued, 1)
	requireStatus(t, q, 3, Proven, 0)
	ctx, end := context.WithCancel(t.Context())
	all := sourceOf(proofs)
	must(t, q.Gather(ctx, func() []Source {
		return []Source{func(ctx context.Context, of []blockproof.Span) (blockproof.Span, []byte, error) {
			if len(of) == 1 {
				end() // this block's proof is the last
			}
			return all(ctx, of)
		}}
	}, silent))
	for h := types.Height(1); h <= 3; h++ {
		requireStatus(t, q, h, Proven, 0)
	}
	if q.Proven() != 3 || q.Made() != 0 {
		t.Errorf("%d proofs are here, %d were made here", q.Proven(), q.Made())
	}
	must(t, n.Store().Close())
	if _, _, err := q.look(t.Context(), 0, nil, silent); !errors.Is(err, chain.ErrClosed) {
		t.Errorf("of a store that is closed: error %v, want %v", err, chain.ErrClosed)
	}
}

// TestAsksForTheOldestAndTheRest has more blocks to ask for than fit into a question: the node asks for the oldest each
// time, and for the others in turn.
func TestAsksForTheOldestAndTheRest(t *testing.T) {
	n := newNode(t)
	const blocks = 2*MostAsked + 5
	for range blocks {
		n.Extend(t, 0)
	}
	q := NewQueue(n.Store(), testBits)
	var asked []blockproof.Span // the first of each request
	source := func(_ context.Context, of []blockproof.Span) (blockproof.Span, []byte, error) {
		if len(of) > MostAsked {
			t.Errorf("%d blocks are asked for at once", len(of))
		}
		asked = append(asked, of[0])
		return 0, nil, nil
	}
	next := types.Height(0)
	for range 4 {
		var err error
		next, _, err = q.look(t.Context(), next, []Source{source}, slog.New(slog.DiscardHandler))
		must(t, err)
	}
	if want := []blockproof.Span{1, 1, MostAsked + 1, 1, 2*MostAsked + 1, 1}; !slices.Equal(asked, want) {
		t.Errorf("asked from %v on, want %v", asked, want)
	}
}

// TestPermit hands out the oldest block that this node may prove. It skips the blocks of other nodes, and takes none if
// it cannot ask.
func TestPermit(t *testing.T) {
	n := newNode(t)
	const blocks = maxDenied + 1
	for range blocks {
		n.Extend(t, 0)
	}
	q := NewQueue(n.Store(), testBits)
	var others types.Height // other nodes prove the blocks up to this one
	var away error
	q.Share(func(_ context.Context, of blockproof.Span) (bool, error) { return of.Last() > others, away })
	for _, c := range []struct {
		others types.Height
		away   error
		want   types.Height // 0: none
	}{
		{0, errors.New("no leader"), 0},
		{maxDenied, nil, 0},
		{maxDenied - 1, nil, maxDenied},
		{0, nil, 1},
		{0, nil, 2},
	} {
		others, away = c.others, c.away
		got, err := q.lease(t.Context())
		if got != c.want || (c.want == 0) != errors.Is(err, chain.ErrNotFound) {
			t.Errorf("%d blocks are others', asking fails with %v: block %d, %v, want %d", c.others, c.away, got, err, c.want)
		}
	}
	requireStatus(t, q, 3, Queued, 2) // after a failed request the block is free
}
