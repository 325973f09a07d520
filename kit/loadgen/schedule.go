package loadgen

import (
	"context"
	"time"
)

// clock is the time of a run: since it began.
type clock interface {
	now() time.Duration
	// waitUntil returns at a time, or with false when the context ends first.
	waitUntil(ctx context.Context, at time.Duration) bool
}

// wallClock is the clock of a run that began at start.
type wallClock struct{ start time.Time }

func (c wallClock) now() time.Duration { return time.Since(c.start) }

func (c wallClock) waitUntil(ctx context.Context, at time.Duration) bool {
	wait := at - c.now()
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// schedule says when a connection's requests arrive in an open loop: evenly, the connections taking turns. In a closed
// loop, interval 0, a request arrives when the one before it is answered.
type schedule struct {
	offset, interval time.Duration
}

// newSchedule is the schedule of one of several connections that together make rate calls a second, size a request;
// rate 0 is a closed loop.
func newSchedule(rate float64, size, connection, connections int) schedule {
	if rate <= 0 {
		return schedule{}
	}
	each := float64(size) / rate * float64(time.Second)
	return schedule{
		offset: time.Duration(each * float64(connection)), interval: time.Duration(each * float64(connections)),
	}
}

// arrival waits until a connection's index-th request is due and returns the time that its latency counts from. In an
// open loop that is the scheduled one, even when the connection was still busy then. So a slow answer cannot hide the
// requests that it held up (coordinated omission).
func (s schedule) arrival(ctx context.Context, c clock, index int) (at time.Duration, ok bool) {
	if s.interval == 0 {
		return c.now(), ctx.Err() == nil
	}
	at = s.offset + time.Duration(index)*s.interval
	return at, c.waitUntil(ctx, at)
}
