package loadgen

import (
	"context"
	"time"
)

// clock measures the time since a run began.
type clock interface {
	now() time.Duration
	// waitUntil waits until a time. It returns false if the context ends first.
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

// schedule has the arrival times of a connection's requests. In an open loop requests arrive at equal intervals, by
// turns on each connection. In a closed loop, with interval 0, a request arrives when the previous one is answered.
type schedule struct {
	offset, interval time.Duration
}

// newSchedule returns the schedule of one of several connections that together make rate calls per second, in requests
// of size calls. A rate of 0 is a closed loop.
func newSchedule(rate float64, size, connection, connections int) schedule {
	if rate <= 0 {
		return schedule{}
	}
	each := float64(size) / rate * float64(time.Second)
	return schedule{
		offset: time.Duration(each * float64(connection)), interval: time.Duration(each * float64(connections)),
	}
}

// arrival waits until a connection's index-th request is due, and returns the time from which its latency is measured.
// In an open loop this is the scheduled time, even if the connection was still busy. A slow answer therefore cannot
// hide the delay of later requests (coordinated omission).
func (s schedule) arrival(ctx context.Context, c clock, index int) (at time.Duration, ok bool) {
	if s.interval == 0 {
		return c.now(), ctx.Err() == nil
	}
	at = s.offset + time.Duration(index)*s.interval
	return at, c.waitUntil(ctx, at)
}
