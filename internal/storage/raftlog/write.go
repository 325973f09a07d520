package raftlog

import (
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Save writes the durable parts of a Ready atomically: a snapshot that replaces the log, entries that follow or replace
// its end, and the hard state. On return everything is on disk, and the messages that depend on it may be sent. A commit
// index alone is written only with the next write: raft learns it again after a crash. After an error other than
// [ErrBadWrite], all further writes fail until the log is reopened.
func (l *Log) Save(rd raft.Ready) error {
	if err := l.checkReady(rd); err != nil {
		return err
	}
	hard, voted := l.hard, false
	if !raft.IsEmptyHardState(rd.HardState) {
		hard = proto.Clone(rd.HardState).(*raftpb.HardState)
		voted = voteOf(l.member, hard) != voteOf(l.member, l.hard)
	}
	if !voted && !rd.MustSync && len(rd.Entries) == 0 && raft.IsEmptySnap(rd.Snapshot) {
		l.hard = hard
		return l.failed
	}
	size := 1 << 10
	for _, e := range rd.Entries {
		size += 64 + len(e.GetData())
	}
	b := l.db.NewBatch(size)
	if !raft.IsEmptySnap(rd.Snapshot) {
		b.Set(keySnapshot, encodeSnapshot(rd.Snapshot))
		b.DeleteRange(entryPrefix, kv.PrefixEnd(entryPrefix))
	}
	if len(rd.Entries) > 0 {
		if first := rd.Entries[0].GetIndex(); raft.IsEmptySnap(rd.Snapshot) && first <= l.last() {
			b.DeleteRange(keyEntry(first), keyEntry(l.last()+1))
		}
		for _, e := range rd.Entries {
			b.Set(keyEntry(e.GetIndex()), encodeEntry(e))
		}
	}
	b.Set(keyHard, encodeHard(hard))
	if err := l.commit(b); err != nil {
		return err
	}
	l.apply(rd, hard)
	if !voted {
		return nil
	}
	// Write the vote only after the database: a crash in between would leave a file with a vote that was never
	// announced.
	if err := l.votes.Write(voteOf(l.member, hard).encode()); err != nil {
		l.failed = err
		return err
	}
	return nil
}

// checkReady rejects writes after which the rows would not form a log.
func (l *Log) checkReady(rd raft.Ready) error {
	before, last := l.before(), l.last()
	term, _ := l.Term(last)
	if !raft.IsEmptySnap(rd.Snapshot) {
		m := rd.Snapshot.GetMetadata()
		if m.GetIndex() <= l.hard.GetCommit() || len(rd.Snapshot.GetData()) > MaxData {
			return fmt.Errorf("%w: a snapshot at %d of %d bytes; committed to %d",
				ErrBadWrite, m.GetIndex(), len(rd.Snapshot.GetData()), l.hard.GetCommit())
		}
		before, last, term = m.GetIndex(), m.GetIndex(), m.GetTerm()
	}
	hard := l.hard
	if !raft.IsEmptyHardState(rd.HardState) {
		hard = rd.HardState
	}
	for i, e := range rd.Entries {
		if i == 0 && e.GetIndex() > max(before, l.hard.GetCommit()) && e.GetIndex() <= last {
			last = e.GetIndex() - 1
			term, _ = l.Term(last)
		}
		if e.GetIndex() != last+1 || e.GetTerm() < term || len(e.GetData()) > MaxData {
			return fmt.Errorf("%w: entry %d of term %d, %d bytes, after entry %d of term %d",
				ErrBadWrite, e.GetIndex(), e.GetTerm(), len(e.GetData()), last, term)
		}
		last, term = e.GetIndex(), e.GetTerm()
	}
	if hard.GetTerm() < max(term, l.hard.GetTerm()) ||
		hard.GetCommit() < max(before, l.hard.GetCommit()) || hard.GetCommit() > last {
		return fmt.Errorf("%w: term %d, committed to %d; the last entry is %d of term %d",
			ErrBadWrite, hard.GetTerm(), hard.GetCommit(), last, term)
	}
	return nil
}

// apply updates the in-memory log after a successful write.
func (l *Log) apply(rd raft.Ready, hard *raftpb.HardState) {
	if !raft.IsEmptySnap(rd.Snapshot) {
		l.truncate(0)
		l.snapshot = proto.Clone(rd.Snapshot).(*raftpb.Snapshot)
	}
	if len(rd.Entries) > 0 {
		l.truncate(rd.Entries[0].GetIndex())
	}
	for _, e := range rd.Entries {
		l.push(e)
	}
	l.hard = hard
}

// Cut discards the entries up to a committed index. It stores data and the members as the snapshot at that index.
// Earlier writes to the database are on disk when it returns, including the blocks of the chain that the entries
// decided.
func (l *Log) Cut(index uint64, members *raftpb.ConfState, data []byte) error {
	if index <= l.before() || index > l.hard.GetCommit() || len(data) > MaxData {
		return fmt.Errorf("%w: a cut at %d, %d bytes; entries %d to %d are committed",
			ErrBadWrite, index, len(data), l.before()+1, l.hard.GetCommit())
	}
	term, err := l.Term(index)
	if err != nil {
		return err
	}
	snapshot := &raftpb.Snapshot{
		Data: append([]byte(nil), data...),
		Metadata: &raftpb.SnapshotMetadata{
			ConfState: proto.Clone(members).(*raftpb.ConfState), Index: &index, Term: &term,
		},
	}
	b := l.db.NewBatch(1<<10 + len(data))
	b.Set(keySnapshot, encodeSnapshot(snapshot))
	b.Set(keyHard, encodeHard(l.hard))
	b.DeleteRange(keyEntry(l.before()+1), keyEntry(index+1))
	if err := l.commit(b); err != nil {
		return err
	}
	cut := index - l.before()
	for _, p := range l.places[:cut] {
		l.bytes -= p.bytes
	}
	if onDisk := uint64(len(l.places) - len(l.recent)); cut > onDisk {
		for _, p := range l.places[onDisk:cut] {
			l.inMemory -= p.bytes
		}
		l.recent = append([]*raftpb.Entry(nil), l.recent[cut-onDisk:]...)
	}
	l.places = append([]place(nil), l.places[cut:]...)
	l.snapshot = snapshot
	return nil
}

// commit writes and syncs a batch, unless an earlier one failed.
func (l *Log) commit(b *kv.Batch) error {
	if l.failed != nil {
		if err := b.Discard(); err != nil {
			return fmt.Errorf("%w; and %w", l.failed, err)
		}
		return l.failed
	}
	l.failed = l.db.Commit(b, true)
	return l.failed
}
