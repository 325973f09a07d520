package replica

import (
	"errors"
	"testing"
	"time"
)

// TestFailedRangeStaysOpen has an upstream drop a range for good. The verifying side must not think that the range is
// done. Else it would go on with the next one, and find a liar instead of a bad connection.
func TestFailedRangeStaysOpen(t *testing.T) {
	in(t, 3, 1, func(f *fixture) {
		f.sources[0].set(func(s *faultySource) { s.fault = func() error { return errDropped } })
		u := newUpstream(f.sources[0], nil)
		u.saw(3)
		fetching := newFetcher(u, 1, func() time.Duration { return time.Hour })
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
