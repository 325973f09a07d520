package cluster

import (
	"cmp"
	"crypto/rand"
	"errors"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// Where new logs begin. That of a cluster begins after that of a member which is to be added: so the others' log never
// reaches back to where the newcomer's ends. It is sent a snapshot first, which says what its chain must have.
const (
	firstIndex  = 2
	beforeIndex = 1
)

// Paths says where a log is made.
type Paths struct {
	DB    *kv.DB
	Files kv.FS
	Votes string // the file of votes
}

// NewCluster is the random name of a new cluster.
func NewCluster() (cluster [16]byte) {
	_, _ = rand.Read(cluster[:]) // never fails (crypto/rand)
	return cluster
}

// Create makes the log of a cluster that has one member, at a place whose Members are that.
func Create(p Paths, cluster [16]byte, at Place) error {
	self := at.Members[0].ID
	return raftlog.Create(p.DB, p.Files, p.Votes, raftlog.Member{Cluster: cluster, ID: self},
		newSnapshot(firstIndex, 1, at, self))
}

// Prepare makes the log of a member that the others have added: it is empty, and waits for what they send. The place
// is of block 0, and its Members are who may send that.
func Prepare(p Paths, cluster [16]byte, self uint64, at Place) error {
	return raftlog.Create(p.DB, p.Files, p.Votes, raftlog.Member{Cluster: cluster, ID: self},
		newSnapshot(beforeIndex, 0, at))
}

func newSnapshot(index, term uint64, at Place, voters ...uint64) *raftpb.Snapshot {
	return &raftpb.Snapshot{
		Data: at.Encode(),
		Metadata: &raftpb.SnapshotMetadata{
			Index: &index, Term: &term, ConfState: &raftpb.ConfState{Voters: voters, AutoLeave: new(false)},
		},
	}
}

// ErrNoRecord is the error of a log that says nothing of its own member: it was never added.
var ErrNoRecord = errors.New("the log does not know its own member")

// Recover makes a log that of a cluster whose only member is its own, with all that the log holds: what the others
// decided beyond it is lost. The new cluster remembers which one it was, and at which block it was recovered. The log
// must be opened anew then.
func Recover(log *raftlog.Log, height types.Height) error {
	snapshot, err := log.Snapshot()
	if err != nil {
		return err
	}
	at, err := DecodePlace(snapshot.GetData())
	if err != nil {
		return err
	}
	names, err := namedBy(log, at)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(names.members, func(r Record) bool { return r.ID != log.Member().ID })
	if len(own) != 1 {
		return ErrNoRecord
	}
	at.Members = own
	at.Former = newest(append(at.Former, Former{log.Member().Cluster, height}), maxFormer)
	return log.Alone(NewCluster(), at.Encode())
}

// Members are the members that a log names: decided or not, removed since or not.
func Members(log *raftlog.Log) ([]Record, error) {
	snapshot, err := log.Snapshot()
	if err != nil {
		return nil, err
	}
	at, err := DecodePlace(snapshot.GetData())
	if err != nil {
		return nil, err
	}
	names, err := namedBy(log, at)
	return names.members, err
}

// namedBy are the members of a place and all that the log names after it, by ID: decided or not, removed since or not.
// It has the index of the last entry that names one, too.
func namedBy(log *raftlog.Log, at Place) (names named, err error) {
	changes, err := log.Changes()
	if err != nil {
		return names, err
	}
	names.members = slices.Clone(at.Members)
	for _, e := range changes {
		change, err := decodeChange(e)
		if err != nil {
			return names, err
		}
		if len(change.GetContext()) == 0 {
			continue
		}
		record, err := DecodeRecord(change.GetContext())
		if err != nil {
			return names, err
		}
		names.until = e.GetIndex()
		names.members = slices.DeleteFunc(names.members, func(r Record) bool { return r.ID == record.ID })
		names.members = append(names.members, record)
	}
	slices.SortFunc(names.members, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	return names, nil
}

// decodeChange is the change of members in an entry.
func decodeChange(e *raftpb.Entry) (*raftpb.ConfChangeV2, error) {
	if e.GetType() == raftpb.EntryConfChangeV2 {
		change := new(raftpb.ConfChangeV2)
		return change, proto.Unmarshal(e.GetData(), change)
	}
	change := new(raftpb.ConfChange)
	if err := proto.Unmarshal(e.GetData(), change); err != nil {
		return nil, err
	}
	return change.AsV2(), nil
}
