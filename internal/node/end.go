package node

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
)

const (
	// drainTime is how long calls that run may take once the node is to end.
	drainTime = 7 * time.Second
	// endTime is when the node has ended, whatever a part still waits for: a disk that fails or hangs, a signer, a
	// collector of traces. What was acknowledged is on the disk before it is acknowledged.
	endTime = 9 * time.Second
)

// ErrAbandoned is the error of a node that did not end in order.
var ErrAbandoned = errors.New("the node did not end in time")

// stage is what an ending node waits for.
type stage struct{ name atomic.Pointer[string] }

func (s *stage) enter(name string) { s.name.Store(&name) }

func (s *stage) String() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return "its parts"
}

// Await returns the error that comes from ended, or, once running has ended and over has come after it, what ended it
// with [ErrAbandoned]. at says what was waited for then.
func Await(running context.Context, ended <-chan error, over func() <-chan time.Time, at fmt.Stringer) error {
	select {
	case err := <-ended:
		return err
	case <-running.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-over():
	}
	cause := context.Cause(running)
	if errors.Is(cause, context.Canceled) {
		cause = nil // it was told to end
	}
	return errors.Join(cause, emergency.Abandoned(at.String(), ErrAbandoned))
}
