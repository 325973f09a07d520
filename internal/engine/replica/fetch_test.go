package replica

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// TestFailedRangeStaysOpen has an upstream drop a range for good. The verifier must not consider the range complete: it
// would continue with the next one, and report a liar instead of a bad connection.
func TestFailedRangeStaysOpen(t *testing.T) {
	in(t, 3, 1, func(f *fixture) {
		f.sources[0].set(func(s *faultySource) { s.fault = func() error { return errDropped } })
		u := newUpstream(f.sources[0], nil)
		u.recordBlock(3)
		fetching := newFetcher(u, types.Regtest, 1, func() time.Duration { return time.Hour })
		if err := fetching.run(f.t.Context()); !errors.Is(err, errDropped) {
			f.t.Fatalf("it ends with %v", err)
		}
		select {
		case got, open := <-<-fetching.ranges:
			f.t.Errorf("the range gives %d blocks, open %t", len(got), open)
		default:
		}
	})
}

// TestBlocksWaitByTheirBytes has room for three of the largest blocks, and for a block of any size if no other waits.
func TestBlocksWaitByTheirBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(nil, types.Regtest, 1, nil)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		passed := 0
		go func() {
			for f.awaitRoom(ctx, types.MaxEncodedBlockBytes) == nil {
				passed++
			}
		}()
		synctest.Wait()
		if passed != 3 || f.waiting.Load() > waitingBytes {
			t.Fatalf("%d blocks of %d bytes wait", passed, f.waiting.Load())
		}
		f.take(types.MaxEncodedBlockBytes - rangeBytes - 1)
		synctest.Wait()
		if passed != 3 {
			t.Fatalf("%d blocks passed before there was room, want 3", passed)
		}
		f.take(1)
		synctest.Wait()
		if passed != 4 {
			t.Fatalf("%d blocks passed, there is room for a fourth", passed)
		}
		end()
		synctest.Wait()
		f.take(f.waiting.Load())
		if err := f.awaitRoom(t.Context(), 2*waitingBytes); err != nil || f.waiting.Load() != 2*waitingBytes {
			t.Errorf("what is larger than the room waits where nothing else does: error %v", err)
		}
	})
}
