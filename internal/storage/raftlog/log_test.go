package raftlog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/slots"
)

type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

func check(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("error %v", err)
	}
}

var self = Member{Cluster: [16]byte{7}, ID: 0xa1}

// begun is a snapshot at an index.
func begun(index, term uint64, data string) *raftpb.Snapshot {
	conf := &raftpb.ConfState{Voters: []uint64{self.ID, 0xb2, 0xc3}, Learners: []uint64{index}}
	return &raftpb.Snapshot{
		Data: []byte(data), Metadata: &raftpb.SnapshotMetadata{Index: &index, Term: &term, ConfState: conf},
	}
}

func entry(index, term uint64, size int) *raftpb.Entry {
	e := &raftpb.Entry{Index: &index, Term: &term}
	if size > 0 {
		e.Data = bytes.Repeat([]byte{byte(index*7 + term)}, size)
	}
	return e
}

func hardState(term, vote, commit uint64) *raftpb.HardState {
	return &raftpb.HardState{Term: &term, Vote: &vote, Commit: &commit}
}

func openDB(t tester, files kv.FS) *kv.DB {
	t.Helper()
	db, err := kv.Open("db", kv.Options{
		FS: files, CacheBytes: 1 << 20, MemTableBytes: 64 << 10, Logger: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	return db
}

// create makes a log after index 10 of term 3.
func create(t tester, files kv.FS) (*kv.DB, *Log) {
	t.Helper()
	db := openDB(t, files)
	check(t, Create(db, files, "vote.mark", self, begun(10, 3, "ten")))
	l, err := Open(db, files, "vote.mark")
	check(t, err)
	return db, l
}

// contents returns a storage's content as text, for comparison.
func contents(t tester, s raft.Storage) string {
	t.Helper()
	var b strings.Builder
	hard, conf, err := s.InitialState()
	check(t, err)
	snapshot, err := s.Snapshot()
	check(t, err)
	snapshot.Metadata.ConfState = conf
	fmt.Fprintf(&b, "hard %x, snapshot %x\n", encodeHard(hard), encodeSnapshot(snapshot))
	first, err := s.FirstIndex()
	check(t, err)
	last, err := s.LastIndex()
	check(t, err)
	for i := first; i <= last; i++ {
		e, err := s.Entries(i, i+1, 0)
		check(t, err)
		fmt.Fprintf(&b, "%d: %x\n", e[0].GetIndex(), encodeEntry(e[0]))
	}
	return b.String()
}

// model is a log and raft's own storage, which must agree. After it is reopened, the log may have an earlier commit: that
// of its last write.
type model struct {
	files kv.FS
	db    *kv.DB
	log   *Log
	plain *raft.MemoryStorage
	hard  *raftpb.HardState // as of the last write
}

// newModel makes a log in a database that may have an earlier one.
func newModel(t tester, db *kv.DB, files kv.FS, memory uint64) *model {
	b := db.NewBatch(100)
	b.DeleteRange([]byte{'R'}, []byte{'S'})
	check(t, db.Commit(b, false))
	m := &model{files: files, db: db, plain: raft.NewMemoryStorage(), hard: hardState(3, 0, 10)}
	check(t, Create(db, files, "vote.mark", self, begun(10, 3, "ten")))
	var err error
	m.log, err = open(db, files, "vote.mark", memory)
	check(t, err)
	check(t, m.plain.ApplySnapshot(begun(10, 3, "ten")))
	check(t, m.plain.SetHardState(hardState(3, 0, 10)))
	return m
}

// random returns a Ready that is possible now: entries, often replacing the end, a hard state, and now and then a
// snapshot.
func (m *model) random(t *rapid.T) (rd raft.Ready) {
	hard := m.log.hard
	term := hard.GetTerm() + rapid.Uint64Range(0, 2).Draw(t, "terms")
	commit, last := hard.GetCommit(), m.log.last()
	rd.Snapshot = &raftpb.Snapshot{}
	if rapid.IntRange(0, 9).Draw(t, "snapshot") == 0 {
		last = commit + rapid.Uint64Range(1, 20).Draw(t, "ahead")
		commit, rd.Snapshot = last, begun(last, term, "sent")
	}
	if n := rapid.Uint64Range(0, 6).Draw(t, "entries"); n > 0 {
		first := rapid.Uint64Range(commit+1, last+1).Draw(t, "first")
		for i := range n {
			rd.Entries = append(rd.Entries, entry(first+i, term, rapid.IntRange(0, 300).Draw(t, "size")))
		}
		last = first + n - 1
	}
	vote := hard.GetVote()
	if term > hard.GetTerm() {
		vote = 0
	}
	if vote == 0 {
		vote = rapid.SampledFrom([]uint64{0, self.ID, 0xb2}).Draw(t, "vote")
	}
	rd.HardState = hardState(term, vote, rapid.Uint64Range(commit, last).Draw(t, "commit"))
	return rd
}

func (m *model) save(t tester, rd raft.Ready) {
	t.Helper()
	before := m.log.hard
	check(t, m.log.Save(rd))
	if raft.MustSync(rd.HardState, before, len(rd.Entries)) || !raft.IsEmptySnap(rd.Snapshot) {
		m.hard = rd.HardState
	}
	if !raft.IsEmptySnap(rd.Snapshot) {
		check(t, m.plain.ApplySnapshot(rd.Snapshot))
	}
	check(t, m.plain.Append(rd.Entries))
	check(t, m.plain.SetHardState(rd.HardState))
}

func (m *model) cut(t tester, index uint64) {
	t.Helper()
	s := begun(index, 0, fmt.Sprint("cut at ", index))
	check(t, m.log.Cut(index, s.GetMetadata().GetConfState(), s.GetData()))
	m.hard = m.log.hard
	_, err := m.plain.CreateSnapshot(index, s.GetMetadata().GetConfState(), s.GetData())
	check(t, err)
	check(t, m.plain.Compact(index))
}

func (m *model) reopen(t tester) {
	t.Helper()
	check(t, m.log.Close())
	var err error
	m.log, err = open(m.db, m.files, "vote.mark", m.log.memory)
	check(t, err)
	check(t, m.plain.SetHardState(m.hard))
}

// requireEqual compares both, and reads a range of entries from each.
func (m *model) requireEqual(t *rapid.T) {
	if got, want := contents(t, m.log), contents(t, m.plain); got != want {
		t.Fatalf("the log holds\n%s\nwant\n%s", got, want)
	}
	first, last := m.log.before()+1, m.log.last()
	for i := first - 2; i <= last+2; i++ {
		got, gotErr := m.log.Term(i)
		want, wantErr := m.plain.Term(i)
		if got != want || !errors.Is(gotErr, wantErr) {
			t.Fatalf("entry %d: term %d, %v; want %d, %v", i, got, gotErr, want, wantErr)
		}
	}
	if _, err := m.log.Entries(first-1, last+1, 1000); !errors.Is(err, raft.ErrCompacted) {
		t.Fatalf("entries from before the first: error %v", err)
	}
	if _, err := m.log.Entries(first, last+2, 1000); !errors.Is(err, raft.ErrUnavailable) {
		t.Fatalf("entries after the last: error %v", err)
	}
	var kept, total uint64
	for i, p := range m.log.places {
		if total += p.bytes; i >= len(m.log.places)-len(m.log.recent) {
			kept += p.bytes
		}
	}
	if m.log.Bytes() != total || m.log.inMemory != kept || kept > m.log.memory && len(m.log.recent) > 1 {
		t.Fatalf("%d bytes, %d in memory; counted %d and %d", m.log.Bytes(), m.log.inMemory, total, kept)
	}
	if first > last {
		return
	}
	lo := rapid.Uint64Range(first, last).Draw(t, "lo")
	hi, most := rapid.Uint64Range(lo+1, last+1).Draw(t, "hi"), rapid.Uint64Range(0, 1500).Draw(t, "most")
	got, err := m.log.Entries(lo, hi, most)
	check(t, err)
	want, err := m.plain.Entries(lo, hi, most)
	check(t, err)
	if len(got) != len(want) {
		t.Fatalf("entries %d to %d of at most %d bytes: %d, want %d", lo, hi, most, len(got), len(want))
	}
	for i := range got {
		if got[i].GetIndex() != want[i].GetIndex() || !bytes.Equal(encodeEntry(got[i]), encodeEntry(want[i])) {
			t.Fatalf("entry %d of %d to %d: %v, want %v", i, lo, hi, got[i], want[i])
		}
	}
}

// After writes, truncations and reopening, the log equals raft's own storage.
func TestModel(t *testing.T) {
	files := kv.Memory()
	db := openDB(t, files)
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t, db, files, rapid.Uint64Range(0, 2000).Draw(t, "memory"))
		for range rapid.IntRange(1, 25).Draw(t, "operations") {
			switch rapid.IntRange(0, 5).Draw(t, "operation") {
			case 0:
				m.reopen(t)
			case 1:
				if commit := m.log.hard.GetCommit(); commit > m.log.before() {
					m.cut(t, rapid.Uint64Range(m.log.before()+1, commit).Draw(t, "cut"))
				}
			default:
				m.save(t, m.random(t))
			}
			m.requireEqual(t)
		}
		check(t, m.log.Close())
	})
	check(t, db.Close())
}

// A write that does not follow the log is refused and changes nothing.
func TestRefused(t *testing.T) {
	full := func(change func(*raft.Ready)) raft.Ready {
		rd := raft.Ready{
			Snapshot:  &raftpb.Snapshot{},
			HardState: hardState(5, 0, 12),
			Entries:   []*raftpb.Entry{entry(14, 5, 1), entry(15, 5, 1)},
		}
		change(&rd)
		return rd
	}
	for name, rd := range map[string]raft.Ready{
		"a gap":        full(func(rd *raft.Ready) { rd.Entries = rd.Entries[1:] }),
		"a gap inside": full(func(rd *raft.Ready) { rd.Entries[1] = entry(16, 5, 1) }),
		"over what is committed": full(func(rd *raft.Ready) {
			rd.Entries = []*raftpb.Entry{entry(12, 5, 1)}
		}),
		"an older term":          full(func(rd *raft.Ready) { rd.Entries[1] = entry(15, 3, 1) }),
		"a later term than ours": full(func(rd *raft.Ready) { rd.Entries[1] = entry(15, 6, 1) }),
		"too long":               full(func(rd *raft.Ready) { rd.Entries[1] = entry(15, 5, MaxData+1) }),
		"a term taken back":      {Snapshot: &raftpb.Snapshot{}, HardState: hardState(3, 0, 12)},
		"a commit taken back":    full(func(rd *raft.Ready) { rd.HardState = hardState(5, 0, 11) }),
		"a commit of nothing":    full(func(rd *raft.Ready) { rd.HardState = hardState(5, 0, 16) }),
		"an old snapshot":        full(func(rd *raft.Ready) { rd.Snapshot, rd.Entries = begun(12, 4, ""), nil }),
		"entries after another snapshot": full(func(rd *raft.Ready) {
			rd.Snapshot, rd.HardState = begun(20, 4, ""), hardState(5, 0, 20)
		}),
		"a snapshot that is not committed": full(func(rd *raft.Ready) {
			rd.Snapshot, rd.Entries = begun(20, 4, ""), nil
		}),
	} {
		t.Run(name, func(t *testing.T) {
			db, l := create(t, kv.Memory())
			check(t, l.Save(raft.Ready{
				Snapshot:  &raftpb.Snapshot{},
				HardState: hardState(4, 0, 12),
				Entries:   []*raftpb.Entry{entry(11, 4, 1), entry(12, 4, 1), entry(13, 4, 1)},
			}))
			before := contents(t, l)
			if err := l.Save(rd); !errors.Is(err, ErrBadWrite) {
				t.Errorf("it says %v", err)
			}
			for _, index := range []uint64{10, 13} {
				if err := l.Cut(index, nil, nil); !errors.Is(err, ErrBadWrite) {
					t.Errorf("a cut at %d: error %v", index, err)
				}
			}
			if got := contents(t, l); got != before {
				t.Errorf("it holds\n%s, before\n%s", got, before)
			}
			check(t, l.Save(full(func(*raft.Ready) {})))
			check(t, errors.Join(l.Close(), db.Close()))
		})
	}
}

// A member's directory is refused if it is older than the member's promises.
func TestLost(t *testing.T) {
	later := raft.Ready{Snapshot: &raftpb.Snapshot{}, HardState: hardState(9, 0xb2, 10)}
	for name, tc := range map[string]struct {
		damage func(t *testing.T, db *kv.DB, files kv.FS)
		want   error
	}{
		"nothing": {func(*testing.T, *kv.DB, kv.FS) {}, nil},
		"the end of the database": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyHard, encodeHard(hardState(8, 0xb2, 10)))
		}, ErrLost},
		"a vote": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyHard, encodeHard(hardState(9, 0, 10)))
		}, ErrLost},
		"another vote": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyHard, encodeHard(hardState(9, 0xc3, 10)))
		}, ErrLost},
		"a file that is behind, as after a crash": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyHard, encodeHard(hardState(10, 0xa1, 10)))
		}, nil},
		"another member's database": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyMember, Member{ID: 5}.encode())
		}, ErrLost},
		"a file of nothing": {func(t *testing.T, _ *kv.DB, files kv.FS) {
			check(t, files.WriteFile("vote.mark", nil))
		}, slots.ErrDamaged},
		"no hard state": {func(t *testing.T, db *kv.DB, _ kv.FS) { unset(t, db, keyHard) }, ErrDamaged},
		"no snapshot":   {func(t *testing.T, db *kv.DB, _ kv.FS) { unset(t, db, keySnapshot) }, ErrDamaged},
		"no member":     {func(t *testing.T, db *kv.DB, _ kv.FS) { unset(t, db, keyMember) }, ErrNone},
		"a gap": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyEntry(12), encodeEntry(entry(12, 4, 1)))
		}, ErrDamaged},
		"an entry of no term": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyEntry(11), encodeEntry(entry(11, 2, 1)))
		}, ErrDamaged},
		"a row that goes on": {func(t *testing.T, db *kv.DB, _ kv.FS) {
			set(t, db, keyEntry(11), append(encodeEntry(entry(11, 4, 1)), 0))
		}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			files := kv.Memory()
			db, l := create(t, files)
			check(t, l.Save(later))
			check(t, l.Close())
			tc.damage(t, db, files)
			l, err := Open(db, files, "vote.mark")
			if !errors.Is(err, tc.want) {
				t.Errorf("it says %v, want %v", err, tc.want)
			}
			if err == nil {
				check(t, l.Close())
			}
			check(t, db.Close())
		})
	}
}

func set(t *testing.T, db *kv.DB, key, value []byte) {
	t.Helper()
	b := db.NewBatch(100)
	b.Set(key, value)
	check(t, db.Commit(b, true))
}

func unset(t *testing.T, db *kv.DB, key []byte) {
	t.Helper()
	b := db.NewBatch(100)
	b.Delete(key)
	check(t, db.Commit(b, true))
}

// A log is created once, and a database without a log is reported.
func TestCreate(t *testing.T) {
	files := kv.Memory()
	db := openDB(t, files)
	if _, err := Open(db, files, "vote.mark"); !errors.Is(err, ErrNone) {
		t.Errorf("an empty database: error %v", err)
	}
	if err := Create(db, files, "vote.mark", Member{}, begun(10, 3, "")); !errors.Is(err, ErrBadWrite) {
		t.Errorf("a member without an ID: error %v", err)
	}
	if err := Create(db, files, "vote.mark", self, &raftpb.Snapshot{}); !errors.Is(err, ErrBadWrite) {
		t.Errorf("no snapshot: error %v", err)
	}
	check(t, Create(db, files, "vote.mark", self, begun(10, 3, "")))
	if err := Create(db, files, "vote.mark", self, begun(10, 3, "")); !errors.Is(err, ErrExists) {
		t.Errorf("a second time: error %v", err)
	}
	if _, err := Open(db, files, "other.mark"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its file: error %v", err)
	}
	l, err := Open(db, files, "vote.mark")
	check(t, err)
	if l.Member() != self {
		t.Errorf("it is of %+v, want %+v", l.Member(), self)
	}
	check(t, errors.Join(l.Close(), db.Close()))
}

// A member that has lost its newest vote could vote again in the same term.
func TestNoVotes(t *testing.T) {
	files := kv.Memory()
	db, l := create(t, files)
	check(t, l.Close())
	if _, err := Open(db, files, "elsewhere.mark"); !errors.Is(err, ErrLost) {
		t.Errorf("got %v without the file of votes, want %v", err, ErrLost)
	}
	check(t, db.Close())
}
