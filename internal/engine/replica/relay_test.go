package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// keeper keeps bundles of a fixture's chain.
type keeper struct {
	f *fixture

	mu      sync.Mutex // guards the fields below
	kept    []types.Height
	awaited []types.Height
	refuse  error // error for the next bundle
	refused int
}

func (k *keeper) NextToRelay(from types.Height) (types.Height, error) { return max(from, 1), nil }

func (k *keeper) Await(from *types.Height) {
	awaited := types.Height(0)
	if from != nil {
		awaited = *from
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.awaited = append(k.awaited, awaited)
}

// seen records the proofs that were kept, and the first blocks whose proofs were awaited, 0 for none.
func (k *keeper) seen() (kept, awaited []types.Height) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.kept), slices.Clone(k.awaited)
}

func (k *keeper) WaitBlock(ctx context.Context, h types.Height) error {
	return k.f.chain.Store().WaitHeight(ctx, h)
}

func (k *keeper) Keep(h types.Height, bundle []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refuse; err != nil {
		k.refuse = nil
		return err
	}
	if len(bundle) != 8 || types.Height(binary.BigEndian.Uint64(bundle)) != h {
		k.refused++
		return fmt.Errorf("%w: the bundle of another block", blockproof.ErrProof)
	}
	k.kept = append(k.kept, h)
	return nil
}

func said(none NoProof) error { return Faulty(Stalled, "%w", &none) }

// TestRelaysProofs has an upstream that lost the proofs of old blocks, made none for one block, gives a false one, and
// whose prover lags.
func TestRelaysProofs(t *testing.T) {
	in(t, 20, 1, func(f *fixture) {
		stored := NoProof{Stored: true, Oldest: 5, Newest: 20}
		ready := time.Now().Add(time.Minute)
		f.sources[0].bundle = func(_ context.Context, h types.Height, limit int64) ([]byte, error) {
			if block, err := f.chain.Store().Header(h); err != nil || limit != MostBundle(block) || limit > 1<<20 {
				t.Errorf("%d bytes of the bundle of block %d are taken, error %v", limit, h, err)
			}
			switch {
			case h < 5 || h == 9:
				return nil, said(stored)
			case h >= 15 && time.Now().Before(ready):
				return nil, ErrNotProven
			case h == 7 && time.Now().Before(ready.Add(-30*time.Second)):
				return nil, errDropped
			}
			return binary.BigEndian.AppendUint64(nil, uint64(h)), nil
		}
		f.start()
		k := &keeper{f: f, refuse: fmt.Errorf("%w: the test", blockproof.ErrProof)}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayProofs(ctx, k) }()
		f.pass(45 * time.Second)
		kept, awaited := k.seen()
		if want := []types.Height{5, 6, 7, 8, 10, 11, 12, 13, 14}; !slices.Equal(kept, want) ||
			awaited[len(awaited)-1] != 15 {
			t.Errorf("kept %v, awaits %v", kept, awaited)
		}
		f.pass(time.Minute)
		extend(f.t, f.primary, 1)
		f.pass(10 * time.Second)
		if kept, _ := k.seen(); kept[len(kept)-1] != 21 || len(kept) != 16 {
			t.Errorf("kept %v", kept)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v, want %v", err, context.Canceled)
		}
		f.synced()
	})
}

// TestRelaysFromAnother has the upstream in use give false proofs, or fail: proofs then come from another upstream, and
// if there is none, nothing waits for them.
func TestRelaysFromAnother(t *testing.T) {
	good := func(_ context.Context, h types.Height, _ int64) ([]byte, error) {
		return binary.BigEndian.AppendUint64(nil, uint64(h)), nil
	}
	for _, test := range []struct {
		name          string
		first, second bundleOf
		kept, refused int
		awaited       types.Height // at the end
	}{
		{
			"the first gives false ones",
			func(context.Context, types.Height, int64) ([]byte, error) { return []byte("false"), nil }, good, 20, 1, 21,
		},
		{
			"the first fails", func(context.Context, types.Height, int64) ([]byte, error) { return nil, errDropped }, good, 20,
			0, 21,
		},
		{
			"the first makes none", func(context.Context, types.Height, int64) ([]byte, error) { return nil, said(NoProof{}) },
			good, 20, 0, 21,
		},
		{"one gives false ones, one fails", func(context.Context, types.Height, int64) ([]byte, error) {
			return []byte("false"), nil
		},
			func(context.Context, types.Height, int64) ([]byte, error) { return nil, errDropped }, 0, 6, 0},
		{"one gives false ones, one lags", func(context.Context, types.Height, int64) ([]byte, error) {
			return []byte("false"), nil
		},
			func(context.Context, types.Height, int64) ([]byte, error) { return nil, ErrNotProven }, 0, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, 20, 2, func(f *fixture) {
				f.sources[0].bundle, f.sources[1].bundle = test.first, test.second
				f.start()
				f.pass(5 * time.Second)
				f.synced()
				k := &keeper{f: f}
				f.config.Jitter = func(d time.Duration) time.Duration { return d }
				ctx, cancel := context.WithCancel(f.t.Context())
				ended := make(chan error, 1)
				go func() { ended <- f.RelayProofs(ctx, k) }()
				f.pass(55 * time.Second)
				kept, awaited := k.seen()
				if len(kept) != test.kept || k.refused != test.refused || awaited[len(awaited)-1] != test.awaited {
					t.Errorf("kept %v, refused %d, awaits %v", kept, k.refused, awaited)
				}
				cancel()
				<-ended
			})
		})
	}
}

// TestRelayComesBackToALiar has the upstream in use give a false proof at each request. For a minute it is asked for no
// other proof, then for one. It continues to provide blocks.
func TestRelayComesBackToALiar(t *testing.T) {
	in(t, 20, 2, func(f *fixture) {
		f.sources[0].bundle = func(context.Context, types.Height, int64) ([]byte, error) { return []byte("false"), nil }
		f.sources[1].bundle = func(_ context.Context, h types.Height, _ int64) ([]byte, error) {
			return binary.BigEndian.AppendUint64(nil, uint64(h)), nil
		}
		f.start()
		f.pass(5 * time.Second)
		k := &keeper{f: f}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayProofs(ctx, k) }()
		f.pass(time.Second)
		for minute := 1; minute <= 3; minute++ {
			for range 4 {
				extend(f.t, f.primary, 3)
				f.pass(distrustTime / 4)
			}
			kept, _ := k.seen()
			if tip := f.primary.Tip().Header.Header.Height; len(kept) != int(tip) ||
				k.refused != minute && k.refused != minute+1 || f.faults(0, Lied) != uint64(k.refused) {
				t.Errorf(
					"minute %d, head %d: %d proofs are kept, %d were refused, %d lies", minute, tip, len(kept),
					k.refused, f.faults(0, Lied),
				)
			}
			if !f.Status().Upstreams[0].InUse {
				t.Error("it is not followed any more, though its blocks are good")
			}
		}
		cancel()
		<-ended
		f.synced()
	})
}

// TestRelaySkipsNoFurtherThanTheHead has an upstream that claims to have only the proofs of blocks far away. That may
// be true if this node is behind, so the upstream is asked again, but rarely.
func TestRelaySkipsNoFurtherThanTheHead(t *testing.T) {
	in(t, 20, 1, func(f *fixture) {
		first, asked := types.Height(math.MaxUint64), 0
		f.sources[0].bundle = func(_ context.Context, h types.Height, _ int64) ([]byte, error) {
			if asked++; h <= 24 {
				return nil, said(NoProof{Stored: true, Oldest: first, Newest: first})
			}
			return binary.BigEndian.AppendUint64(nil, uint64(h)), nil
		}
		f.start()
		f.pass(5 * time.Second)
		k := &keeper{f: f}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayProofs(ctx, k) }()
		for range 6 {
			f.pass(5 * time.Second)
			extend(f.t, f.primary, 1)
		}
		f.pass(5 * time.Second)
		// twice for each of six blocks: a request may come before its interval has passed
		if kept, _ := k.seen(); !slices.Equal(kept, []types.Height{25, 26}) || asked > 12 {
			t.Errorf("kept %v, asked %d times", kept, asked)
		}
		cancel()
		<-ended
	})
}

// TestRelaysNothing has an upstream that makes no proofs.
func TestRelaysNothing(t *testing.T) {
	in(t, 20, 1, func(f *fixture) {
		var asked atomic.Int64
		f.sources[0].bundle = func(context.Context, types.Height, int64) ([]byte, error) {
			asked.Add(1)
			return nil, said(NoProof{})
		}
		f.start()
		k := &keeper{f: f}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayProofs(ctx, k) }()
		f.pass(time.Minute)
		kept, awaited := k.seen()
		if asked.Load() > 12 || len(kept) > 0 ||
			slices.ContainsFunc(awaited[1:], func(h types.Height) bool { return h != 0 }) {
			t.Errorf("asked %d times, kept %v, awaits %v", asked.Load(), kept, awaited)
		}
		cancel()
		<-ended
		f.synced()
	})
}
