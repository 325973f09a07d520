package replica

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// rangeServer serves ranges of empty blocks, whose proofs have no segments, and records the requests.
type rangeServer struct {
	t      *testing.T
	ledger *ledger.Ledger
	change func(first types.Height, served []byte)
	held   types.Height // first block of a range that is served only when the request ends; 0: none

	mu      sync.Mutex // guards the fields below
	asked   []types.Height
	bundles []types.Height
	ended   int // requests that ended before they were served
}

func (s *rangeServer) serve(ctx context.Context, first, last types.Height, limit int64) ([]byte, error) {
	s.mu.Lock()
	s.asked = append(s.asked, first)
	s.mu.Unlock()
	if first == s.held {
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended++
		return nil, ctx.Err()
	}
	var r blockproof.Range
	for h := first - 1; h <= last; h++ {
		header, err := s.ledger.Store().Header(h)
		if err != nil {
			return nil, err
		}
		r.Headers = append(r.Headers, header)
	}
	r.Proof = blockproof.EncodeProof(nil)
	served := r.Encode()
	if s.change != nil {
		s.change(first, served)
	}
	if int64(len(served)) > limit {
		return nil, errors.New("too large")
	}
	return served, nil
}

// bundle returns an error, and counts the request.
func (s *rangeServer) bundle(_ context.Context, h types.Height, _ int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bundles = append(s.bundles, h)
	return nil, ErrNotProven
}

// requests returns the first blocks of the ranges requested so far, once no request is in progress.
func (s *rangeServer) requests() []types.Height {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// emptyBlocks runs a test on a chain of the given number of blocks, with a source that has all ranges of four of them,
// and a replica.
func emptyBlocks(t *testing.T, n types.Height, test func(
	ctx context.Context, server *rangeServer, from *faultySource, i Importer, blocks []*ledger.Received,
)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		chain := openChain(t, testGenesis())
		for range n {
			_, err := chain.Build(emptyBatch(chain.Tip().Header.Header.Timestamp+1), sign)
			check(t, err)
		}
		server := &rangeServer{t: t, ledger: chain}
		from := &faultySource{evidence: evidence{
			ranges: []Ranges{{4, 1, n / 4 * 4}}, proof: server.serve, bundle: server.bundle,
		}}
		test(ctx, server, from, Stateless(openStateless(t), true), receive(t, chain, 1, n))
	})
}

// TestRangesAreAskedForAhead: while a range is verified, only the next one is requested, and each only once. After the
// last range, a block's bundle is requested.
func TestRangesAreAskedForAhead(t *testing.T) {
	emptyBlocks(t, 18, func(
		ctx context.Context, server *rangeServer, from *faultySource, i Importer, blocks []*ledger.Received,
	) {
		want := []types.Height{1}
		for first := types.Height(1); first <= 13; first += 4 {
			if i.Gather(ctx, from, blocks, 18) {
				t.Fatalf("block %d waits for more", first)
			}
			imported, err := i.Import(ctx, from, blocks)
			if err != nil || len(imported) != 4 {
				t.Fatalf("block %d: %d are imported, error %v", first, len(imported), err)
			}
			blocks = blocks[len(imported):]
			if first < 13 {
				want = append(want, first+4)
			}
			if asked := server.requests(); !slices.Equal(asked, want) {
				t.Fatalf("after the range from block %d on those are asked for that begin with %d", first, asked)
			}
		}
		if !slices.Equal(server.bundles, []types.Height{17}) {
			t.Errorf("bundles %d are asked for", server.bundles)
		}
	})
}

// TestRangeAheadEndsWithARefusal: if a range is refused, the request for the next one is cancelled.
func TestRangeAheadEndsWithARefusal(t *testing.T) {
	emptyBlocks(t, 8, func(
		ctx context.Context, server *rangeServer, from *faultySource, i Importer, blocks []*ledger.Received,
	) {
		server.held = 5
		server.change = func(_ types.Height, served []byte) { served[len(served)-1] ^= 1 }
		i.Gather(ctx, from, blocks, 8)
		if _, err := i.Import(ctx, from, blocks); !errors.Is(err, ledger.ErrEvidence) {
			t.Fatalf("a range that does not hold: error %v, want %v", err, ledger.ErrEvidence)
		}
		if asked := server.requests(); !slices.Equal(asked, []types.Height{1, 5}) || server.ended != 1 {
			t.Errorf("%d are asked for, %d requests ended", asked, server.ended)
		}
	})
}

// TestRangeAheadIsJudgedInItsTurn: a range fetched ahead is verified like any other. It is not used if it is longer
// than its blocks' gas allows, or from another source.
func TestRangeAheadIsJudgedInItsTurn(t *testing.T) {
	emptyBlocks(t, 8, func(
		ctx context.Context, server *rangeServer, from *faultySource, i Importer, blocks []*ledger.Received,
	) {
		server.change = func(first types.Height, served []byte) {
			if first == 5 {
				served[len(served)-1] ^= 1
			}
		}
		for _, n := range []int{4, 0} {
			i.Gather(ctx, from, blocks, 8)
			imported, err := i.Import(ctx, from, blocks)
			if len(imported) != n || (err == nil) != (n > 0) || err != nil && !errors.Is(err, ledger.ErrEvidence) {
				t.Fatalf("%d are imported, error %v", len(imported), err)
			}
			blocks = blocks[len(imported):]
		}
		if asked := server.requests(); !slices.Equal(asked, []types.Height{1, 5}) {
			t.Errorf("%d are asked for", asked)
		}
		span, other := blockproof.NewSpan(8, 2), &faultySource{}
		for name, take := range map[string]func(a *rangeAhead) []byte{
			"too long":       func(a *rangeAhead) []byte { return a.take(ctx, from, span, 10) },
			"another source": func(a *rangeAhead) []byte { return a.take(ctx, other, span, aheadBytes) },
			"another span":   func(a *rangeAhead) []byte { return a.take(ctx, from, blockproof.NewSpan(4, 2), aheadBytes) },
		} {
			var a rangeAhead
			a.ask(ctx, from, span)
			if took := take(&a); took != nil || a.answer != nil {
				t.Errorf("%s: %d bytes are taken", name, len(took))
			}
			a.ask(ctx, from, span)
			if took := a.take(ctx, from, span, aheadBytes); len(took) == 0 {
				t.Errorf("%s: what was asked for afterwards is not there", name)
			}
		}
	})
}
