// Package raftlog keeps the raft log of a cluster's member in the node's own database. One sync makes a decision
// durable, along with the blocks written before it.
package raftlog

import (
	"errors"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/slots"
)

var (
	// ErrNone is returned when the database of a node outside any cluster is opened.
	ErrNone = errors.New("the database belongs to no cluster")
	// ErrExists is returned when a log is created in a database that has one.
	ErrExists = errors.New("the database belongs to a cluster already")
	// ErrDamaged is returned for rows that no log writes.
	ErrDamaged = errors.New("the cluster's log is damaged")
	// ErrLost is returned for a database that has forgotten a promise of its member. It must never act as that member
	// again: remove the member and add a new one.
	ErrLost = errors.New("the database lacks votes or entries that this member has confirmed to the others")
	// ErrBadWrite is returned for a write that does not follow the log. The write changes nothing.
	ErrBadWrite = errors.New("the write does not follow the log")
)

// memoryBytes bounds the part of the log's end that is kept in memory, in encoded bytes.
const memoryBytes = 64 << 20

// place holds the data about an entry that is kept in memory.
type place struct {
	term  uint64
	bytes uint64 // size of the encoded entry; raft bounds its messages by it
}

// Log is the log of one member. It implements raft.Storage. The snapshot before its first entry carries the data given
// to [Log.Cut] but no state, since the chain holds the state. A Log is not safe for concurrent use.
type Log struct {
	db     *kv.DB
	votes  *slots.File
	member Member
	memory uint64 // normally memoryBytes
	failed error  // error of the first failed write

	hard     *raftpb.HardState
	snapshot *raftpb.Snapshot
	places   []place         // one per entry after the snapshot, in order
	bytes    uint64          // total size of these entries
	recent   []*raftpb.Entry // last entries, kept in memory
	inMemory uint64          // total size of recent
}

var _ raft.Storage = (*Log)(nil)

// Create creates the log of a member after a snapshot, in a database that has none. votes is the path of the file that
// keeps the member's votes. After an error or a crash the log exists completely or not at all.
func Create(db *kv.DB, files kv.FS, votes string, m Member, snapshot *raftpb.Snapshot) error {
	if m.ID == 0 || snapshot.GetMetadata().GetIndex() == 0 || len(snapshot.GetData()) > MaxData {
		return fmt.Errorf("%w: member %x after index %d", ErrBadWrite, m.ID, snapshot.GetMetadata().GetIndex())
	}
	switch _, err := db.Get(keyMember); {
	case err == nil:
		return ErrExists
	case !errors.Is(err, kv.ErrNotFound):
		return err
	}
	term, commit := snapshot.GetMetadata().GetTerm(), snapshot.GetMetadata().GetIndex()
	hard := &raftpb.HardState{Term: &term, Commit: &commit}
	if err := slots.Create(files, votes, voteOf(m, hard).encode()); err != nil {
		return err
	}
	b := db.NewBatch(1 << 10)
	b.Set(keyHard, encodeHard(hard))
	b.Set(keyMember, m.encode())
	b.Set(keySnapshot, encodeSnapshot(snapshot))
	return db.Commit(b, true)
}

// Open opens a log made by [Create]. Errors: [ErrNone], [ErrDamaged], [ErrLost].
func Open(db *kv.DB, files kv.FS, votes string) (*Log, error) {
	return open(db, files, votes, memoryBytes)
}

// open opens a log that keeps at most memory bytes of entries in memory.
func open(db *kv.DB, files kv.FS, votes string, memory uint64) (*Log, error) {
	l := &Log{db: db, memory: memory}
	if _, err := db.Get(keyMember); errors.Is(err, kv.ErrNotFound) {
		return nil, ErrNone
	}
	if err := l.load(); err != nil {
		return nil, err
	}
	file, err := openVotes(files, votes, l.member, l.hard)
	if err != nil {
		return nil, err
	}
	l.votes = file
	return l, nil
}

// load reads the rows and checks that they form one log.
func (l *Log) load() (err error) {
	if l.member, err = read(l.db, "the member", keyMember, decodeMember); err != nil {
		return err
	}
	if l.hard, err = read(l.db, "the hard state", keyHard, decodeHard); err != nil {
		return err
	}
	if l.snapshot, err = read(l.db, "the snapshot", keySnapshot, decodeSnapshot); err != nil {
		return err
	}
	term := l.snapshot.GetMetadata().GetTerm()
	err = l.scan(entryPrefix, kv.PrefixEnd(entryPrefix), l.last()+1, func(e *raftpb.Entry) error {
		if e.GetTerm() < term {
			return fmt.Errorf("%w: entry %d has term %d, but the previous entry has %d",
				ErrDamaged, e.GetIndex(), e.GetTerm(), term)
		}
		term = e.GetTerm()
		l.push(e)
		return nil
	})
	if err != nil {
		return err
	}
	if commit := l.hard.GetCommit(); l.hard.GetTerm() < term || commit < l.before() || commit > l.last() {
		err = fmt.Errorf("%w: term %d, committed to %d; entries %d to %d, the last of term %d",
			ErrDamaged, l.hard.GetTerm(), commit, l.before()+1, l.last(), term)
	}
	return err
}

// scan calls f for the entries in a range of rows. index is the first entry's index.
func (l *Log) scan(lower, upper []byte, index uint64, f func(*raftpb.Entry) error) error {
	return kv.Scan(l.db, lower, upper, func(key, row []byte) error {
		if string(key) != string(keyEntry(index)) {
			return fmt.Errorf("%w: the row under %x has entry %d", ErrDamaged, key, index)
		}
		e, err := decodeEntry(index, row)
		if err != nil {
			return fmt.Errorf("%w: entry %d: %w", ErrDamaged, index, err)
		}
		index++
		return f(e)
	})
}

// before returns the index of the snapshot. The first entry follows it.
func (l *Log) before() uint64 { return l.snapshot.GetMetadata().GetIndex() }

// last returns the index of the last entry, or of the snapshot if there is none.
func (l *Log) last() uint64 { return l.before() + uint64(len(l.places)) }

// push adds an entry to the in-memory log.
func (l *Log) push(e *raftpb.Entry) {
	size := uint64(proto.Size(e))
	l.places = append(l.places, place{e.GetTerm(), size})
	l.recent = append(l.recent, e)
	l.bytes, l.inMemory = l.bytes+size, l.inMemory+size
	for l.inMemory > l.memory && len(l.recent) > 1 {
		l.inMemory -= l.places[len(l.places)-len(l.recent)].bytes
		l.recent[0] = nil // for the garbage collector; Entries returned copies
		l.recent = l.recent[1:]
	}
}

// truncate removes the entries from an index on from the in-memory log.
func (l *Log) truncate(index uint64) {
	for len(l.places) > 0 && l.last() >= index {
		size := l.places[len(l.places)-1].bytes
		l.places, l.bytes = l.places[:len(l.places)-1], l.bytes-size
		if n := len(l.recent); n > 0 {
			l.recent, l.inMemory = l.recent[:n-1:n-1], l.inMemory-size
		}
	}
}

// Member returns the member that the log belongs to.
func (l *Log) Member() Member { return l.member }

// Bytes returns the total size of the encoded entries.
func (l *Log) Bytes() uint64 { return l.bytes }

// BytesAfter returns the total size of the encoded entries after an index.
func (l *Log) BytesAfter(index uint64) (bytes uint64) {
	for i := len(l.places); i > 0 && l.before()+uint64(i) > index; i-- {
		bytes += l.places[i-1].bytes
	}
	return bytes
}

// Within returns the least index after which the log has at most the given number of bytes.
func (l *Log) Within(bytes uint64) uint64 {
	i := len(l.places)
	for ; i > 0 && l.places[i-1].bytes <= bytes; i-- {
		bytes -= l.places[i-1].bytes
	}
	return l.before() + uint64(i)
}

// InitialState implements raft.Storage.
func (l *Log) InitialState() (*raftpb.HardState, *raftpb.ConfState, error) {
	conf := l.snapshot.GetMetadata().GetConfState()
	return proto.Clone(l.hard).(*raftpb.HardState), proto.Clone(conf).(*raftpb.ConfState), nil
}

// FirstIndex implements raft.Storage.
func (l *Log) FirstIndex() (uint64, error) { return l.before() + 1, nil }

// LastIndex implements raft.Storage.
func (l *Log) LastIndex() (uint64, error) { return l.last(), nil }

// Snapshot implements raft.Storage.
func (l *Log) Snapshot() (*raftpb.Snapshot, error) {
	return proto.Clone(l.snapshot).(*raftpb.Snapshot), nil
}

// Term implements raft.Storage.
func (l *Log) Term(index uint64) (uint64, error) {
	switch {
	case index < l.before():
		return 0, raft.ErrCompacted
	case index > l.last():
		return 0, raft.ErrUnavailable
	case index == l.before():
		return l.snapshot.GetMetadata().GetTerm(), nil
	}
	return l.places[index-l.before()-1].term, nil
}

// Entries implements raft.Storage. It returns the entries from lo to hi - 1, as many as fit in maxSize bytes but at
// least one.
func (l *Log) Entries(lo, hi, maxSize uint64) ([]*raftpb.Entry, error) {
	switch {
	case lo <= l.before():
		return nil, raft.ErrCompacted
	case hi > l.last()+1 || lo >= hi:
		return nil, raft.ErrUnavailable
	}
	end, size := lo+1, l.places[lo-l.before()-1].bytes
	for ; end < hi; end++ {
		if size += l.places[end-l.before()-1].bytes; size > maxSize {
			break
		}
	}
	entries := make([]*raftpb.Entry, 0, end-lo)
	inMemory := l.last() + 1 - uint64(len(l.recent))
	if lo < inMemory {
		onDisk := min(end, inMemory)
		err := l.scan(keyEntry(lo), keyEntry(onDisk), lo, func(e *raftpb.Entry) error {
			entries = append(entries, e)
			return nil
		})
		if err == nil && uint64(len(entries)) != onDisk-lo {
			err = fmt.Errorf("%w: %d of the entries %d to %d are there", ErrDamaged, len(entries), lo, onDisk-1)
		}
		if err != nil {
			return nil, err
		}
		lo = onDisk
	}
	for ; lo < end; lo++ {
		entries = append(entries, l.recent[lo-inMemory])
	}
	return entries, nil
}

// Close closes the votes file, but not the database.
func (l *Log) Close() error { return l.votes.Close() }
