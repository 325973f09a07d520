package cluster

import (
	"log/slog"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// TestCutLeavesWhatRaftReads opens a member whose log has 40 entries of a message, of which it has applied all and raft
// has heard of some: those after them must stay.
func TestCutLeavesWhatRaftReads(t *testing.T) {
	const last = firstIndex + 40
	for _, c := range []struct {
		heard, at uint64 // 0: the log is not cut
	}{
		{firstIndex, 0},
		{firstIndex + 1, firstIndex + 1},
		{firstIndex + 20, firstIndex + 20},
		{last, last - 10},
	} {
		log := soloLog(t)
		commit := uint64(last)
		rd := raft.Ready{HardState: &raftpb.HardState{Term: new(uint64(1)), Commit: &commit}}
		m := &Member{Config: Config{Log: log, Cutting: Cutting{Every: 1, Keep: 10}}, decisions: decisions{done: last}}
		for index := uint64(firstIndex + 1); index <= last; index++ {
			rd.Entries = append(rd.Entries, &raftpb.Entry{Index: new(index), Term: new(uint64(1))})
			m.decisions.places = append(m.decisions.places, place{index: index})
		}
		if err := log.Save(rd); err != nil {
			t.Fatal(err)
		}
		var err error
		m.raw, err = raft.NewRawNode(&raft.Config{
			ID:              log.Member().ID,
			ElectionTick:    electionTicks,
			HeartbeatTick:   heartbeatTicks,
			Storage:         log,
			Applied:         c.heard,
			MaxSizePerMsg:   maxMessage,
			MaxInflightMsgs: maxMessages,
			Logger:          raftLogger{slog.New(slog.DiscardHandler)},
		})
		if err != nil {
			t.Fatal(err)
		}
		at, long := m.cutAt()
		if at.index != c.at && long || long != (c.at != 0) {
			t.Errorf("raft has heard of %d: cut at %d, %t; want %d", c.heard, at.index, long, c.at)
		}
		if !long {
			continue
		}
		if err := log.Cut(at.index, at.conf, nil); err != nil {
			t.Fatal(err)
		}
		if err := m.raw.Campaign(); err != nil { // it reads what it has not heard of
			t.Error(err)
		}
	}
}
