package cluster

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/types"
)

// Event is something that happens to a member: see [Member.Step].
type Event func(*Member) error

// Worker is a queue for work that a member does not wait for.
type Worker int

// The workers. Applier and Executor run their tasks in order; Anyone runs each concurrently.
const (
	Applier  Worker = iota // decided entries: the pool and the chain
	Executor               // blocks, and their signatures
	Anyone
)

// Env is the member's access to its surroundings. No method blocks. Results arrive as events of the member, but not
// before the step that made the request has ended.
type Env interface {
	// Now is monotonic; Wall is the time of day, which may jump.
	Now() time.Time
	Wall() time.Time
	// Offsets, Unfit, Send, Forward, Blocks and Pending are as in [Link].
	Offsets() (others map[uint64]time.Duration, own time.Duration)
	Unfit() map[uint64]string
	Send([]*raftpb.Message)
	Forward(to uint64, encoded [][]byte, done func(Answer, error) Event)
	Blocks(of uint64, from, to types.Height, done func([][]byte, error) Event)
	Pending(of uint64, done func(Pending, error) Event)
	// Context ends with the member. Work that may wait for something must end with it.
	Context() context.Context
	// Do runs work on a worker, and then delivers the event that work returns.
	Do(w Worker, work func() Event)
}

// Clock is the time of a cluster's log, from which transactions expire on every member alike. It is the latest time in
// an applied entry. It is safe for concurrent use.
type Clock struct{ milliseconds atomic.Uint64 }

// Now returns the log's time. It serves as a pool's Options.Clock.
func (c *Clock) Now() time.Time { return time.UnixMilli(int64(c.milliseconds.Load())) }

// advance sets the clock to a time in Unix milliseconds, if that is later.
func (c *Clock) advance(to uint64) { c.milliseconds.Store(max(to, c.milliseconds.Load())) }

// maxAhead is the maximum by which a leader's block times may be ahead of the median of all members' clocks.
const maxAhead = time.Second

// boundedTime returns the wall clock's time, but at most maxAhead beyond the median of all members' clocks. A leader
// that does not know the clocks of a majority returns the log's time: a wrong clock would otherwise expire all pending
// transactions.
func (m *Member) boundedTime() time.Time {
	offsets, own := m.env.Offsets()
	voters := m.members.conf.GetVoters()
	known := 0
	for _, id := range voters {
		if _, there := offsets[id]; there || id == m.self {
			known++
		}
	}
	if 2*known <= len(voters) {
		return m.Clock.Now()
	}
	return m.env.Wall().Add(min(0, medianOffset(offsets, own)+maxAhead))
}

// nextTime returns the timestamp, in milliseconds, of a block that this member would make now.
func (m *Member) nextTime() uint64 {
	now := uint64(max(0, m.boundedTime().UnixMilli()))
	return min(max(m.Ledger.Tip().Header.Header.Timestamp, now), types.MaxTime)
}

// medianOffset returns the median of all members' clocks minus this member's. own adjusts for changes of this member's
// clock since the oldest of the reports. Suppose that another member's clock is set right, and just after that this one
// is set wrong: without own, two of three clocks would seem wrong.
func medianOffset(others map[uint64]time.Duration, own time.Duration) time.Duration {
	offsets := []time.Duration{own}
	for _, o := range others {
		offsets = append(offsets, o)
	}
	return median(offsets)
}

// median returns the median of durations, the lower of two.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[(len(d)-1)/2]
}
