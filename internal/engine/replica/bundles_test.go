package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

// bundleServer returns bundles that contain their height, each after a delay.
type bundleServer struct {
	mu          sync.Mutex // guards the fields below
	size        func(types.Height) int
	proven      types.Height
	now, most   int // number of running requests, and its maximum
	requests    int
	askedBeyond int // requests for bundles that do not exist
}

const bundleTime = 100 * time.Millisecond

func (s *bundleServer) serve(ctx context.Context, h types.Height, limit int64) ([]byte, error) {
	s.mu.Lock()
	s.requests++
	s.now++
	s.most = max(s.most, s.now)
	size, there := s.size(h), h <= s.proven
	if !there {
		s.askedBeyond++
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.now--
	}()
	if err := pause.For(ctx, bundleTime); err != nil {
		return nil, err
	}
	switch {
	case !there:
		return nil, ErrNotProven
	case int64(size) > limit:
		return nil, errors.New("too large")
	}
	return binary.BigEndian.AppendUint64(make([]byte, 0, size), uint64(h))[:size], nil
}

// take gets the bundles of consecutive heights as an import does.
func take(t *testing.T, ctx context.Context, b *bundles, from Source, first, last types.Height) {
	t.Helper()
	for h := first; h <= last; h++ {
		bundle, err := b.get(ctx, from, h, maxBundleBytes)
		if err != nil || !bytes.Equal(bundle[:8], binary.BigEndian.AppendUint64(nil, uint64(h))) {
			t.Fatalf("block %d: got %x, error %v", h, bundle[:min(8, len(bundle))], err)
		}
		b.ask(ctx, from, h+1, int(last-h))
		if len(b.ahead) > mostAhead {
			t.Fatalf("%d bundles are asked for ahead", len(b.ahead))
		}
	}
}

func TestBundlesAreAskedForAhead(t *testing.T) {
	small := func(types.Height) int { return 100 }
	for _, test := range []struct {
		name   string
		size   func(types.Height) int
		within time.Duration // 64 blocks
		most   int           // number of requests at a time
	}{
		{"small ones", small, 16 * bundleTime, mostAhead},
		{"large ones", func(types.Height) int { return aheadBytes + 1 }, 64 * bundleTime, 1},
		{"a large one among small ones", func(h types.Height) int {
			if h == 20 {
				return aheadBytes + 1
			}
			return 100
		}, 24 * bundleTime, mostAhead},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				server := &bundleServer{size: test.size, proven: 64}
				begun := time.Now()
				take(t, ctx, new(bundles), &faultySource{evidence: evidence{bundle: server.serve}}, 1, 64)
				if took := time.Since(begun); took > test.within {
					t.Errorf("took %v", took)
				}
				if server.most > test.most {
					t.Errorf("%d requests at a time", server.most)
				}
			})
		})
	}
}

// TestBundlesThatAreToCome has proofs that become available one by one: hardly more are requested than there are.
func TestBundlesThatAreToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		server := &bundleServer{size: func(types.Height) int { return 100 }, proven: 1}
		b, from := new(bundles), &faultySource{evidence: evidence{bundle: server.serve}}
		for h := types.Height(1); h <= 32; h++ {
			if _, err := b.get(ctx, from, h, maxBundleBytes); err != nil {
				t.Fatal(err)
			}
			b.ask(ctx, from, h+1, 100)
			if _, err := b.get(ctx, from, h+1, maxBundleBytes); !errors.Is(err, ErrNotProven) {
				t.Fatalf("a proof that is to come: error %v, want %v", err, ErrNotProven)
			}
			server.mu.Lock()
			server.proven++
			server.mu.Unlock()
		}
		if server.askedBeyond > 2*32 {
			t.Errorf("%d questions for proofs that were not there", server.askedBeyond)
		}
	})
}

// TestBundlesOfAnotherSource: bundles that one source gave ahead of their turn are not used once another source is
// followed.
func TestBundlesOfAnotherSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		servers := [2]*bundleServer{}
		sources := [2]*faultySource{}
		for i := range servers {
			servers[i] = &bundleServer{size: func(types.Height) int { return 100 }, proven: 100}
			sources[i] = &faultySource{evidence: evidence{bundle: servers[i].serve}}
		}
		b := new(bundles)
		take(t, ctx, b, sources[0], 1, 20)
		b.ask(ctx, sources[0], 21, 8)
		before := servers[1].requests
		take(t, ctx, b, sources[1], 21, 40)
		if servers[1].requests-before < 20 {
			t.Errorf("the other source was asked %d times for 20 bundles", servers[1].requests-before)
		}
		// The session ends, and the replica follows the same source again.
		ended, end := context.WithCancel(ctx)
		b.ask(ended, sources[1], 41, 8)
		end()
		take(t, ctx, b, sources[1], 41, 60)
	})
}
