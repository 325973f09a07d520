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

// First indexes of new logs. A cluster's log begins after the log of a member that is to be added, so it never reaches
// back to the end of a newcomer's log. A newcomer must therefore receive a snapshot first, which names the blocks that
// its chain needs.
const (
	firstIndex  = 2
	beforeIndex = 1
)

// Paths are the locations of a new log.
type Paths struct {
	DB    *kv.DB
	Files kv.FS
	Votes string // path of the vote file
}

// NewCluster returns a random ID for a new cluster.
func NewCluster() (cluster [16]byte) {
	_, _ = rand.Read(cluster[:]) // never fails (crypto/rand)
	return cluster
}

// Create creates the log of a single-member cluster. at.Members must hold that member.
func Create(p Paths, cluster [16]byte, at Place) error {
	self := at.Members[0].ID
	return raftlog.Create(p.DB, p.Files, p.Votes, raftlog.Member{Cluster: cluster, ID: self},
		newSnapshot(firstIndex, 1, at, self))
}

// Prepare creates an empty log for a member that was added to a cluster, to be filled by the others. at must be the
// place of block 0, and at.Members the members that may send the log.
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

// ErrNoRecord is returned for a log that does not name its own member, which was therefore never added.
var ErrNoRecord = errors.New("the log does not contain its own member")

// Recover turns a log into one of a new cluster with this member alone. It keeps all entries of this log; entries that
// the others decided beyond them are lost. The new cluster records the old cluster's ID and the height of the recovery.
// The caller must reopen the log.
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

// Members returns all members that a log names, including undecided and removed ones.
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

// namedBy returns the members of a place and all that later entries of the log name, sorted by ID. They include
// undecided and removed ones. It also returns the index of the last entry that names one.
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

// decodeChange decodes the membership change in an entry.
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
