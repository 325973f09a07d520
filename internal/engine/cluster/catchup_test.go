package cluster

import (
	"errors"
	"testing"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// still is an Env that does nothing.
type still struct{ Env }

func (still) Now() time.Time { return time.Unix(9, 0) }

// A member must not use another member's pool from before the snapshot's entry: it may lack acknowledged transactions.
func TestOldPoolIsNotTaken(t *testing.T) {
	const index, height = 7, 5
	at := uint64(index)
	for name, c := range map[string]struct {
		pending Pending
		err     error
		taken   bool
	}{
		"at the snapshot":                {Pending{Applied: index, Head: Head{Height: height}}, nil, true},
		"after it":                       {Pending{Applied: index + 2, Head: Head{Height: height + 1}}, nil, true},
		"its log is not applied to it":   {Pending{Applied: index - 1, Head: Head{Height: height}}, nil, false},
		"its chain does not reach there": {Pending{Applied: index, Head: Head{Height: height - 1}}, nil, false},
		"no answer": {
			Pending{Applied: index, Head: Head{Height: height}},
			errors.New("no answer"), false,
		},
	} {
		// Another entry is being applied, so no snapshot is taken.
		m := &Member{env: still{}, applying: applying{working: true}, catching: &catching{
			message: &raftpb.Message{Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: &at}}},
			place:   Place{Head: Head{Height: height}},
			asking:  true,
		}}
		if err := m.gotPending(m.catching, c.pending, c.err); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if taken := m.catching.pending != nil; taken != c.taken || m.catching.asking {
			t.Errorf("%s: taken %t, asking %t", name, taken, m.catching.asking)
		}
	}
}

// A snapshot from a former leader is abandoned after two seconds without data, one from the leader after half a minute.
func TestSnapshotsAreGivenUp(t *testing.T) {
	const sender = 7
	from := uint64(sender)
	for _, c := range []struct {
		lead   uint64
		silent time.Duration
		left   bool
	}{
		{sender, giveUpTime - time.Millisecond, false},
		{sender, giveUpTime, true},
		{raft.None, giveUpTime - time.Millisecond, false},
		{raft.None, giveUpTime, true},
		{9, leaveTime - time.Millisecond, false},
		{9, leaveTime, true},
	} {
		m := &Member{env: idle{}, applying: applying{working: true}}
		m.leadership.soft.Lead = c.lead
		got := m.env.Now().Add(-c.silent)
		m.catching = &catching{message: &raftpb.Message{From: &from}, begun: true, got: got, asked: got}
		m.retryCatching()
		if left := m.catching == nil; left != c.left || m.applying.working == c.left {
			t.Errorf("%x leads, %x is silent for %v: left %t, working %t", c.lead, sender, c.silent, left, m.applying.working)
		}
	}
}

// idle is an Env that does no work.
type idle struct{ still }

func (idle) Do(Worker, func() Event) {}

// A snapshot waits for entries that are being applied. If they go beyond the snapshot's entry, it is abandoned, because
// its pool is outdated.
func TestOldSnapshotIsLeft(t *testing.T) {
	index := uint64(7)
	for done, left := range map[uint64]bool{index - 1: false, index: true, index + 1: true} {
		m := &Member{self: 3, env: idle{}, applying: applying{messages: []*raftpb.Message{{}}}}
		m.appliedIndex = done
		m.catching = &catching{message: &raftpb.Message{ // addressed to another member, so raft ignores it
			Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: &index}},
		}}
		if err := m.nextStep(); err != nil {
			t.Fatal(err)
		}
		if (m.catching == nil) != left {
			t.Errorf("a snapshot at %d with %d applied: left %t, want %t", index, done, m.catching == nil, left)
		}
	}
}
