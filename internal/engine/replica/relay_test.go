package replica

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// keeper keeps bundles of a fixture's chain.
type keeper struct {
	f *fixture

	mu      sync.Mutex // guards what follows
	kept    []types.Height
	awaited []types.Height
	refuse  error // what the next bundle is refused with
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

// seen is what was kept, and from which blocks on proofs were awaited, 0 for none.
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
		return errors.New("the bundle of another block")
	}
	k.kept = append(k.kept, h)
	return nil
}

func said(data map[string]any) error {
	return faulty(Stalled, "%w", newNoProof(0, &client.Error{Data: data}))
}

// TestRelaysProofs has an upstream that lost the proofs of old blocks, made none of one, gives a false one, and whose prover
// lags.
func TestRelaysProofs(t *testing.T) {
	in(t, 20, 1, func(f *fixture) {
		stored := map[string]any{"oldest": json.Number("5"), "newest": json.Number("20")}
		ready := time.Now().Add(time.Minute)
		f.sources[0].bundle = func(_ context.Context, h types.Height, _ int64) ([]byte, error) {
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
		k := &keeper{f: f, refuse: errors.New("a proof that does not hold")}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayProofs(ctx, k) }()
		f.pass(45 * time.Second)
		kept, awaited := k.seen()
		if want := []types.Height{5, 6, 7, 8, 10, 11, 12, 13, 14}; !slices.Equal(kept, want) || awaited[len(awaited)-1] != 15 {
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
			t.Errorf("it ended with %v", err)
		}
		f.synced()
	})
}

// TestRelaysNothing has an upstream that makes no proofs.
func TestRelaysNothing(t *testing.T) {
	in(t, 20, 1, func(f *fixture) {
		var asked atomic.Int64
		f.sources[0].bundle = func(context.Context, types.Height, int64) ([]byte, error) {
			asked.Add(1)
			return nil, said(map[string]any{"reason": "not_stored"})
		}
		f.start()
		k := &keeper{f: f}
		ctx, cancel := context.WithCancel(f.t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.RelayProofs(ctx, k) }()
		f.pass(time.Minute)
		kept, awaited := k.seen()
		if asked.Load() > 12 || len(kept) > 0 || slices.ContainsFunc(awaited[1:], func(h types.Height) bool { return h != 0 }) {
			t.Errorf("asked %d times, kept %v, awaits %v", asked.Load(), kept, awaited)
		}
		cancel()
		<-ended
		f.synced()
	})
}
