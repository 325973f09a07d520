package raftlog

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// pictures are disks as a crash would leave them before each operation that changes the disk.
type pictures struct {
	disk *kv.CrashDisk

	mu     sync.Mutex
	states []string // successive contents of the log; the last may not be on disk yet
	synced int      // index of the last state that must be on disk
	taken  []picture
}

type picture struct {
	disk        *kv.CrashDisk
	first, last int // indices of the states that it may have
}

func (p *pictures) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	percent := []int{0, 50, 100}[len(p.taken)%3] // percentage of the unsynced data that survives
	p.taken = append(p.taken, picture{p.disk.Crash(percent, uint64(len(p.taken))), p.synced, len(p.states) - 1})
	return nil
}

// during records that a write is leading to the model's state after it.
func (p *pictures) during(t *testing.T, synced bool, after *raft.MemoryStorage, write func() error) {
	t.Helper()
	p.mu.Lock()
	p.states = append(p.states, contents(t, after))
	p.mu.Unlock()
	check(t, write())
	p.mu.Lock()
	if synced {
		p.synced = len(p.states) - 1
	}
	p.mu.Unlock()
	check(t, p.take())
}

// history has everything that a member may write: entries over several terms, of which some replace others, votes,
// commits without a sync, cuts and a snapshot. It has long entries, so that files are flushed in it.
func history() (readies []raft.Ready, cuts map[int]uint64) {
	none := &raftpb.Snapshot{}
	add := func(s *raftpb.Snapshot, hard *raftpb.HardState, entries ...*raftpb.Entry) {
		readies = append(readies, raft.Ready{Snapshot: s, HardState: hard, Entries: entries})
	}
	add(none, hardState(4, self.ID, 10))
	add(none, hardState(4, self.ID, 10), entry(11, 4, 0), entry(12, 4, 9000), entry(13, 4, 20))
	add(none, hardState(4, self.ID, 12))
	add(none, hardState(6, 0xb2, 12), entry(13, 6, 30), entry(14, 6, 30000))
	add(none, hardState(6, 0xb2, 14))
	add(none, hardState(7, 0, 14), entry(15, 7, 30000), entry(16, 7, 100))
	add(none, hardState(7, 0xc3, 14))
	add(none, hardState(7, 0xc3, 16), entry(17, 7, 100))
	add(begun(40, 8, "sent"), hardState(8, 0, 40))
	add(none, hardState(8, 0, 40), entry(41, 8, 10), entry(42, 8, 60000))
	add(none, hardState(8, 0, 42), entry(43, 8, 10))
	return readies, map[int]uint64{4: 12, 7: 16, 10: 41}
}

// After a power cut before any operation on the disk, the log has the state of the last synced write or of a later one,
// and accepts the rest of the history.
func TestPowerCut(t *testing.T) {
	p := &pictures{disk: kv.NewCrashDisk()}
	plain := raft.NewMemoryStorage()
	check(t, plain.ApplySnapshot(begun(10, 3, "ten")))
	check(t, plain.SetHardState(hardState(3, 0, 10)))
	p.states = []string{contents(t, plain)}
	db, l := create(t, p.disk.FS())
	p.disk.OnWrite(p.take)
	readies, cuts := history()
	for i, rd := range readies {
		before := l.hard
		if !raft.IsEmptySnap(rd.Snapshot) {
			check(t, plain.ApplySnapshot(rd.Snapshot))
		}
		check(t, plain.Append(rd.Entries))
		check(t, plain.SetHardState(rd.HardState))
		synced := raft.MustSync(rd.HardState, before, len(rd.Entries)) || !raft.IsEmptySnap(rd.Snapshot)
		p.during(t, synced, plain, func() error { return l.Save(rd) })
		if index, cut := cuts[i]; cut {
			s := begun(index, 0, "cut")
			_, err := plain.CreateSnapshot(index, s.GetMetadata().GetConfState(), s.GetData())
			check(t, errors.Join(err, plain.Compact(index)))
			p.during(t, true, plain, func() error { return l.Cut(index, s.GetMetadata().GetConfState(), s.GetData()) })
		}
	}
	p.disk.OnWrite(nil)
	check(t, errors.Join(l.Close(), db.Close()))
	if n := len(p.taken); n < 60 || n > 400 {
		t.Errorf("%d operations on the disk", n)
	}
	between := 0
	for i, picture := range p.taken {
		files := picture.disk.FS()
		db := openDB(t, files)
		l, err := Open(db, files, "vote.mark")
		if err != nil {
			t.Fatalf("picture %d: error %v", i, err)
		}
		got := contents(t, l)
		if at := slices.Index(p.states[picture.first:picture.last+1], got); at < 0 {
			t.Errorf("picture %d: none of states %d to %d:\n%s", i, picture.first, picture.last, got)
		}
		if picture.first < picture.last {
			between++
		}
		next := l.last() + 1
		term := l.hard.GetTerm() + 1
		check(t, l.Save(raft.Ready{
			Snapshot:  &raftpb.Snapshot{},
			HardState: hardState(term, self.ID, next),
			Entries:   []*raftpb.Entry{entry(next, term, 1)},
		}))
		check(t, errors.Join(l.Close(), db.Close()))
	}
	if between < 20 {
		t.Errorf("only %d pictures are of a write under way", between)
	}
}

// If the disk fails at any operation, the write fails and all later ones too; earlier writes stay.
func TestFailingDisk(t *testing.T) {
	broken := errors.New("broken disk")
	rd := raft.Ready{
		Snapshot:  &raftpb.Snapshot{},
		HardState: hardState(4, self.ID, 10),
		Entries:   []*raftpb.Entry{entry(11, 4, 5)},
	}
	failures := 0
	for n := 0; ; n++ {
		disk := kv.NewCrashDisk()
		db, l := create(t, disk.FS())
		before := contents(t, l)
		var mu sync.Mutex
		left := n
		disk.OnWrite(func() error {
			mu.Lock()
			defer mu.Unlock()
			if left--; left < 0 {
				return broken
			}
			return nil
		})
		err := l.Save(rd)
		disk.OnWrite(nil)
		if err == nil {
			check(t, errors.Join(l.Close(), db.Close()))
			break
		}
		failures++
		if err := l.Save(rd); err == nil {
			t.Errorf("operation %d fails: a later write is taken", n)
		}
		_ = errors.Join(l.Close(), db.Close()) // a failed database reports it again
		left0 := disk.Crash(0, 1).FS()
		again := openDB(t, left0)
		reopened, err := Open(again, left0, "vote.mark")
		check(t, err)
		if got := contents(t, reopened); got != before && reopened.last() != 11 {
			t.Errorf("operation %d fails: it holds\n%s", n, got)
		}
		check(t, errors.Join(reopened.Close(), again.Close()))
	}
	if failures < 3 {
		t.Errorf("only %d operations failed", failures)
	}
}
