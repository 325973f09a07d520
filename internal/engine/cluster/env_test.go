package cluster

import (
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// wrong is an Env with a wrong clock, ahead of the clocks of the other members.
type wrong struct {
	Env
	offsets map[uint64]time.Duration
	own     time.Duration
}

func (wrong) Wall() time.Time                                      { return time.Unix(5000, 0) }
func (w wrong) Offsets() (map[uint64]time.Duration, time.Duration) { return w.offsets, w.own }
func behind(ids ...uint64) map[uint64]time.Duration {
	offsets := make(map[uint64]time.Duration)
	for _, id := range ids {
		offsets[id] = -time.Hour
	}
	return offsets
}

// TestFairTime lets member 7, whose clock is an hour ahead, determine a block's time.
func TestFairTime(t *testing.T) {
	const logged = 1200
	right := time.Unix(5000-3600+1, 0)
	for _, c := range []struct {
		name    string
		voters  []uint64
		offsets map[uint64]time.Duration
		own     time.Duration
		want    time.Time
	}{
		{"alone in the cluster", []uint64{7}, nil, 0, time.Unix(5000, 0)},
		{"all are heard", []uint64{3, 7, 9}, behind(3, 9), 0, right},
		{"most are heard", []uint64{3, 7, 9}, behind(9), 0, right},
		{"nobody is heard", []uint64{3, 7, 9}, nil, 0, time.Unix(logged, 0)},
		{"half are heard", []uint64{3, 7}, nil, 0, time.Unix(logged, 0)},
		{"one is heard that does not vote", []uint64{3, 7, 9}, behind(4), 0, time.Unix(logged, 0)},
		{"two of five are heard", []uint64{1, 3, 5, 7, 9}, behind(1, 3), 0, right},
		{
			"just set wrong, and another one was ahead when it was heard", []uint64{3, 7, 9},
			map[uint64]time.Duration{3: time.Minute, 9: -time.Hour}, -time.Hour, right,
		},
		{
			"just set right, and another one is ahead", []uint64{3, 7, 9},
			map[uint64]time.Duration{3: 0, 9: time.Hour}, time.Hour, time.Unix(5000, 0),
		},
		{"one of five is heard", []uint64{1, 3, 5, 7, 9}, behind(1), 0, time.Unix(logged, 0)},
	} {
		m := &Member{self: 7, env: wrong{offsets: c.offsets, own: c.own}, Config: Config{Clock: new(Clock)}}
		m.members.conf = &raftpb.ConfState{Voters: c.voters}
		m.Clock.advance(logged * 1000)
		if got := m.boundedTime(); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got.Unix(), c.want.Unix())
		}
	}
}
