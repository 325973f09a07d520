package cluster

import (
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/types"
)

// Event is something that happens to a member: see [Member.Step].
type Event func(*Member) error

// Worker is who does work that a member does not wait for.
type Worker int

// The workers. The first two do one thing after the other, in the order in which they are given; what is given to
// Anyone is done at any time.
const (
	Applier  Worker = iota // what was decided: the pool and the chain
	Executor               // blocks, and their signatures
	Anyone
)

// World is what a member acts on. Nothing that it is asked for waits. What is to be told of it is an event of the
// member, which comes later and not before the step that asked has ended.
type World interface {
	// Now goes on evenly; Wall is the time of day, which may jump.
	Now() time.Time
	Wall() time.Time
	// Offsets, Unfit, Send, Forward, Blocks and Pending are those of [Link].
	Offsets() (others map[uint64]time.Duration, own time.Duration)
	Unfit() map[uint64]string
	Send([]*raftpb.Message)
	Forward(to uint64, encoded [][]byte, done func(Answer, error) Event)
	Blocks(of uint64, from, to types.Height, done func([][]byte, error) Event)
	Pending(of uint64, done func(Pending, error) Event)
	// Do has work done, whose event comes next.
	Do(w Worker, work func() Event)
}

// Clock is the time of a cluster's log, by which transactions arrive and expire on every member alike: the latest time
// that an applied entry has. It may be read concurrently.
type Clock struct{ milliseconds atomic.Uint64 }

// Now is the time: that of a pool's Options.Moment.
func (c *Clock) Now() time.Time { return time.UnixMilli(int64(c.milliseconds.Load())) }

// advance moves the clock to a time, in Unix milliseconds, unless it is past that.
func (c *Clock) advance(to uint64) { c.milliseconds.Store(max(to, c.milliseconds.Load())) }

// maxAhead is how far a member's clock may be ahead of the middle of all, before its blocks have another time than its
// own.
const maxAhead = time.Second

// fairTime is the wall clock's time, or one that is little ahead of the middle of all members' clocks. A leader that
// does not know the clocks of most takes the log's time: if its own is wrong, what is pending everywhere would expire.
func (m *Member) fairTime() time.Time {
	offsets, own := m.world.Offsets()
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
	return m.world.Wall().Add(min(0, middle(offsets, own)+maxAhead))
}

// middle is how far the middle of all members' clocks is ahead of this one's. All are looked at as they were when the
// first of the others was heard, or later. If this clock is set wrong just after another one was set right, two of
// three would be wrong otherwise.
func middle(others map[uint64]time.Duration, own time.Duration) time.Duration {
	offsets := []time.Duration{own}
	for _, o := range others {
		offsets = append(offsets, o)
	}
	return median(offsets)
}

// median is the middle of durations, the lower of two.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[(len(d)-1)/2]
}
