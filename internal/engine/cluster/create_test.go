package cluster

import (
	"log/slog"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
)

// soloLog returns the log of a one-member cluster, whose member has ID 7.
func soloLog(t *testing.T) *raftlog.Log {
	disk := kv.NewCrashDisk().FS()
	db, err := kv.Open("db", kv.Options{FS: disk, CacheBytes: 1 << 20, MemTableBytes: 64 << 10,
		Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // in memory
	if err := Create(Paths{db, disk, "votes"}, NewCluster(), Place{Members: []Record{{ID: 7, Name: "a"}}}); err != nil {
		t.Fatal(err)
	}
	log, err := raftlog.Open(db, disk, "votes")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// Before a starting member has applied its log, it already accepts and reaches every member that the log names.
// Otherwise a member whose log begins when it was alone would refuse all others.
func TestPeersAfterAStart(t *testing.T) {
	records := []Record{{ID: 7, Name: "a"}, {ID: 9, Name: "b"}, {ID: 3, Name: "c"}}
	log := soloLog(t)
	var entries []*raftpb.Entry
	for i, r := range records[1:] {
		change := &raftpb.ConfChangeV2{
			Changes: []*raftpb.ConfChangeSingle{{Type: new(raftpb.ConfChangeType_ConfChangeAddLearnerNode), NodeId: &r.ID}},
			Context: r.Encode(),
		}
		kind, data, err := raftpb.MarshalConfChange(change)
		if err != nil {
			t.Fatal(err)
		}
		index := firstIndex + 1 + uint64(i)
		entries = append(entries, &raftpb.Entry{Index: &index, Term: new(uint64(1)), Type: &kind, Data: data})
	}
	if err := log.Save(raft.Ready{Entries: entries}); err != nil {
		t.Fatal(err)
	}
	snapshot, err := log.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	m := &Member{members: membership{records: records[:1], conf: snapshot.GetMetadata().GetConfState()}}
	if m.members.named, err = namedBy(log, Place{Members: records[:1]}); err != nil {
		t.Fatal(err)
	}
	for applied, want := range map[uint64][]uint64{firstIndex: {3, 7, 9}, firstIndex + 1: {3, 7, 9}, firstIndex + 2: {7}} {
		m.appliedIndex = applied
		var got []uint64
		for _, p := range m.peers() {
			got = append(got, p.ID)
		}
		if len(got) != len(want) || got[0] != want[0] || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("with entry %d applied the members are %d, want %d", applied, got, want)
		}
	}
}
