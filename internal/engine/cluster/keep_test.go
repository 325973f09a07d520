package cluster

import (
	"testing"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// decidedOf is a message of decided entries whose data is of these kinds; 0 is an entry without data.
func decidedOf(first uint64, bytes int, kinds ...kind) *raftpb.Message {
	message := new(raftpb.Message)
	for i, k := range kinds {
		index := first + uint64(i)
		entry := &raftpb.Entry{Index: &index}
		if k != 0 {
			entry.Data = append([]byte{byte(k)}, make([]byte, bytes)...)
		}
		message.Entries = append(message.Entries, entry)
	}
	return message
}

// TxBatches are gathered over several messages until another entry comes or they are large enough.
func TestDecidedIntakesAreGathered(t *testing.T) {
	const in = kindTxBatch
	for _, c := range []struct {
		name     string
		messages []*raftpb.Message
		next     int
		indices  []uint64
		all      bool
	}{
		{"two messages", []*raftpb.Message{decidedOf(3, 9, in, in), decidedOf(5, 9, in)}, 1, []uint64{4, 5}, true},
		{"a block after them", []*raftpb.Message{decidedOf(3, 9, in), decidedOf(4, 9, in, kindBlock)}, 0, []uint64{3, 4},
			false},
		{"an empty entry first", []*raftpb.Message{decidedOf(3, 9, 0, in)}, 0, nil, false},
		{"much", []*raftpb.Message{decidedOf(3, holdBytes/2, in, in, in)}, 0, []uint64{3, 4}, false},
		{"just as much", []*raftpb.Message{decidedOf(3, holdBytes/2, in, in)}, 0, []uint64{3, 4}, false},
	} {
		a := applying{messages: c.messages, next: c.next}
		got, all := a.batches()
		var indices []uint64
		for _, e := range got {
			indices = append(indices, e.GetIndex())
		}
		if len(indices) != len(c.indices) || all != c.all {
			t.Errorf("%s: entries %v, all %t; want %v, %t", c.name, indices, all, c.indices, c.all)
			continue
		}
		for i := range indices {
			if indices[i] != c.indices[i] {
				t.Errorf("%s: entries %v, want %v", c.name, indices, c.indices)
			}
		}
	}
}

// A follower's batches wait for more, but only briefly, and not while a caller on this member waits for one. A leader's
// batches never wait.
func TestIntakesOfFollowersWait(t *testing.T) {
	follower := func(change func(*Member)) *Member {
		m := &Member{env: still{}}
		m.leadership.soft = raft.SoftState{RaftState: raft.StateFollower, Lead: 7}
		m.applying.messages = []*raftpb.Message{decidedOf(3, 9, kindTxBatch)}
		m.applying.appended(m.applying.messages[0].GetEntries(), 2, m.env.Now())
		change(m)
		return m
	}
	for _, c := range []struct {
		name   string
		holds  bool
		change func(*Member)
	}{
		{"a follower", true, func(*Member) {}},
		{"a leader", false, func(m *Member) { m.leadership.soft.RaftState = raft.StateLeader }},
		{"without a leader", false, func(m *Member) { m.leadership.soft.Lead = raft.None }},
		{"a caller waits", false, func(m *Member) { m.sends.behind = []*send{{}} }},
		{"one that led has proposed", false, func(m *Member) { m.sends.flying = map[uint64]*inflight{3: {}} }},
		{"a snapshot has come", false, func(m *Member) { m.catching = new(catching) }},
		{"for two ticks", false, func(m *Member) { m.applying.since = m.env.Now().Add(-holdTime) }},
		{"for nearly two ticks", true, func(m *Member) { m.applying.since = m.env.Now().Add(-holdTime + time.Millisecond) }},
	} {
		if got := follower(c.change).mayGather(); got != c.holds {
			t.Errorf("%s: %t, want %t", c.name, got, c.holds)
		}
	}
}
