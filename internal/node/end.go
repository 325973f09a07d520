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
	// drainTime bounds running calls after the node has begun to stop.
	drainTime = 7 * time.Second
	// endTime bounds the whole shutdown, even if a part still waits for a broken disk, a signer or a trace collector.
	// Acknowledged data was on disk before its acknowledgement.
	endTime = 9 * time.Second
)

// ErrAbandoned is returned for a node that did not stop in time.
var ErrAbandoned = errors.New("the node did not shut down in time")

// stage is the task that a stopping node waits for.
type stage struct{ name atomic.Pointer[string] }

func (s *stage) enter(name string) { s.name.Store(&name) }

func (s *stage) String() string {
	if name := s.name.Load(); name != nil {
		return *name
	}
	return "its components"
}

// Await returns the error received from ended. After running ends and then the time given by over has passed, it
// returns [ErrAbandoned] with the cause of running's end instead. at names the task waited for at that time.
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
		cause = nil // the node was asked to stop
	}
	return errors.Join(cause, emergency.Abandoned(at.String(), ErrAbandoned))
}
