package raftlog

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Changes returns the membership changes after the log's snapshot, committed or not.
func (l *Log) Changes() (changes []*raftpb.Entry, err error) {
	err = l.scan(entryPrefix, kv.PrefixEnd(entryPrefix), l.before()+1, func(e *raftpb.Entry) error {
		if e.GetType() != raftpb.EntryNormal {
			changes = append(changes, e)
		}
		return nil
	})
	return changes, err
}

// Alone turns the log into the log of a new cluster whose only member is this one, with data in its snapshot. All other
// entries stay, even those not known to be committed; membership changes become empty entries. The log must be reopened
// afterwards.
func (l *Log) Alone(cluster [16]byte, data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("%w: %d bytes of data", ErrBadWrite, len(data))
	}
	changes, err := l.Changes()
	if err != nil {
		return err
	}
	b := l.db.NewBatch(1<<10 + len(data))
	b.Set(keyMember, Member{Cluster: cluster, ID: l.member.ID}.encode())
	m := l.snapshot.GetMetadata()
	b.Set(keySnapshot, encodeSnapshot(&raftpb.Snapshot{
		Data: data,
		Metadata: &raftpb.SnapshotMetadata{
			Index: m.Index, Term: m.Term,
			ConfState: &raftpb.ConfState{Voters: []uint64{l.member.ID}, AutoLeave: new(false)},
		},
	}))
	for _, e := range changes {
		b.Set(keyEntry(e.GetIndex()), encodeEntry(&raftpb.Entry{Index: e.Index, Term: e.Term}))
	}
	if err := l.commit(b); err != nil {
		return err
	}
	l.failed = errors.New("the log was replaced since it was opened")
	return nil
}
