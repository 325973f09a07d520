package kv

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"pgregory.net/rapid"
)

func open(t testing.TB, dir string, options Options) *DB {
	t.Helper()
	db, err := Open(dir, options)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closeDB(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, db *DB, sync bool, write func(*Batch)) {
	t.Helper()
	b := db.NewBatch(0)
	write(b)
	if err := db.Commit(b, sync); err != nil {
		t.Fatal(err)
	}
}

func TestGet(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	defer closeDB(t, db)
	commit(t, db, true, func(b *Batch) {
		b.Set([]byte("a"), []byte("1"))
		b.Set([]byte("empty"), nil)
		b.Set([]byte("gone"), []byte("2"))
		b.Delete([]byte("gone"))
		b.Delete([]byte("never"))
	})
	if v, err := db.Get([]byte("a")); err != nil || string(v) != "1" {
		t.Errorf("a: got %q, want 1, error %v", v, err)
	}
	if v, err := db.Get([]byte("empty")); err != nil || v == nil || len(v) != 0 {
		t.Errorf("an empty value: %v, %v, want an empty value that is not nil", v, err)
	}
	for _, key := range []string{"gone", "never", "b"} {
		if v, err := db.Get([]byte(key)); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %q, %v, want ErrNotFound", key, v, err)
		}
	}
}

func TestGetReturnsACopy(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	defer closeDB(t, db)
	commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), []byte("1")) })
	v, err := db.Get([]byte("a"))
	if err != nil {
		t.Fatal(err)
	}
	v[0] = 'x'
	if v, err := db.Get([]byte("a")); err != nil || string(v) != "1" {
		t.Errorf("after changing what Get returned: got %q, want 1, error %v", v, err)
	}
}

func TestBatchIsAllOrNothing(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	defer closeDB(t, db)
	b := db.NewBatch(0)
	b.Set([]byte("a"), []byte("1"))
	if _, err := db.Get([]byte("a")); !errors.Is(err, ErrNotFound) {
		t.Errorf("before the commit: error %v, want %v", err, ErrNotFound)
	}
	if err := b.Discard(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Get([]byte("a")); !errors.Is(err, ErrNotFound) {
		t.Errorf("after discarding: error %v, want %v", err, ErrNotFound)
	}
}

func TestSnapshotStays(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	defer closeDB(t, db)
	commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), []byte("1")); b.Set([]byte("b"), []byte("1")) })
	snapshot := db.Snapshot()
	commit(t, db, true, func(b *Batch) {
		b.Set([]byte("a"), []byte("2"))
		b.Delete([]byte("b"))
		b.Set([]byte("c"), []byte("2"))
	})
	got, err := contents(snapshot, nil, nil)
	if err != nil || got != "a=1 b=1" {
		t.Errorf("snapshot: got %s, want a=1 b=1, error %v", got, err)
	}
	if v, err := snapshot.Get([]byte("a")); err != nil || string(v) != "1" {
		t.Errorf("snapshot's a: got %q, want 1, error %v", v, err)
	}
	if got, err := contents(db, nil, nil); err != nil || got != "a=2 c=2" {
		t.Errorf("database: got %s, want a=2 c=2, error %v", got, err)
	}
	if err := snapshot.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCloseTellsOfLeaks(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	db.Snapshot()
	if err := db.Close(); err == nil || !strings.Contains(err.Error(), "snapshot") {
		t.Errorf("closing with an open snapshot: error %v, want an error with %q", err, "snapshot")
	}
}

func contents(r Reader, lower, upper []byte) (string, error) {
	var rows []string
	err := Scan(r, lower, upper, func(key, value []byte) error {
		rows = append(rows, fmt.Sprintf("%s=%s", key, value))
		return nil
	})
	return strings.Join(rows, " "), err
}

func TestScanBounds(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	defer closeDB(t, db)
	commit(t, db, true, func(b *Batch) {
		for _, k := range []string{"a", "b", "ba", "c"} {
			b.Set([]byte(k), []byte(k))
		}
	})
	for _, c := range []struct{ lower, upper, want string }{
		{"", "", "a=a b=b ba=ba c=c"}, {"b", "", "b=b ba=ba c=c"}, {"", "b", "a=a"}, {"b", "c", "b=b ba=ba"}, {"d", "", ""},
	} {
		var lower, upper []byte
		if c.lower != "" {
			lower = []byte(c.lower)
		}
		if c.upper != "" {
			upper = []byte(c.upper)
		}
		if got, err := contents(db, lower, upper); err != nil || got != c.want {
			t.Errorf("[%q, %q): %q, %v, want %q", c.lower, c.upper, got, err, c.want)
		}
	}
	stop := errors.New("stop")
	seen := 0
	if err := Scan(db, nil, nil, func(_, _ []byte) error { seen++; return stop }); !errors.Is(err, stop) || seen != 1 {
		t.Errorf("a scan that is stopped: %v after %d", err, seen)
	}
}

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ prefix, want []byte }{
		{[]byte("a"), []byte("b")}, {[]byte{1, 0xff}, []byte{2}}, {[]byte{0xff, 0xff}, nil}, {nil, nil},
		{[]byte{1, 0xff, 3}, []byte{1, 0xff, 4}},
	} {
		prefix := bytes.Clone(c.prefix)
		if got := PrefixEnd(prefix); !bytes.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%x: %x, want %x", c.prefix, got, c.want)
		}
		if !bytes.Equal(prefix, c.prefix) {
			t.Errorf("%x was changed", c.prefix)
		}
	}
}

func TestLocked(t *testing.T) {
	for name, options := range map[string]Options{"disk": {}, "memory": {FS: Memory()}} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "db")
			db := open(t, dir, options)
			if _, err := Open(dir, options); !errors.Is(err, ErrLocked) {
				t.Errorf("opening it twice: %v, want ErrLocked", err)
			}
			closeDB(t, db)
			closeDB(t, open(t, dir, options))
		})
	}
}

func TestLockOfADirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	for range 2 {
		lock, err := Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Lock(dir); !errors.Is(err, ErrLocked) {
			t.Errorf("locking it twice: %v, want ErrLocked", err)
		}
		closeDB(t, open(t, filepath.Join(dir, "db"), Options{}))
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Lock(filepath.Join(dir, "LOCK")); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a file instead of a directory: error %v", err)
	}
}

func TestOpenFailures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a file instead of a directory: error %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "LOCK"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a lock file that cannot be made: error %v", err)
	}
}

// A database whose log does not fit into a table, on a full disk, fails to open instead of retrying forever. With room
// it opens again, with all committed data.
func TestOpenOnAFullDisk(t *testing.T) {
	disk := NewCrashDisk()
	db := open(t, "db", Options{FS: disk.FS()})
	commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), []byte("1")) })
	crashed := disk.Crash(0, 1)
	closeDB(t, db)
	var full atomic.Bool
	full.Store(true)
	files := FS{errorfs.Wrap(crashed.memory, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			return syscall.ENOSPC
		}
		return nil
	}))}
	options := Options{FS: files, Logger: slog.New(slog.DiscardHandler)}
	if _, err := Open("db", options); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("opening says %v, want %v", err, syscall.ENOSPC)
	}
	if _, err := Open("db", options); !errors.Is(err, ErrLocked) {
		t.Errorf("what is still being opened: error %v, want %v", err, ErrLocked)
	}
	full.Store(false)
	for {
		again, err := Open("db", options)
		if errors.Is(err, ErrLocked) {
			runtime.Gosched()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := contents(again, nil, nil); err != nil || got != "a=1" {
			t.Errorf("with room: got %q, want \"a=1\", error %v", got, err)
		}
		closeDB(t, again)
		return
	}
}

func TestSyncedBatchesSurviveACrash(t *testing.T) {
	disk := NewCrashDisk()
	db := open(t, "db", Options{FS: disk.FS()})
	commit(t, db, true, func(b *Batch) { b.Set([]byte("synced"), nil) })
	commit(t, db, false, func(b *Batch) { b.Set([]byte("later"), nil) })
	crashed := open(t, "db", Options{FS: disk.Crash(0, 1).FS()})
	if got, err := contents(crashed, nil, nil); err != nil || got != "synced=" {
		t.Errorf("after a crash: got %q, want \"synced=\", error %v", got, err)
	}
	closeDB(t, crashed)
	closeDB(t, db)
}

// A machine may stop before any write while a database is created, or at the next start. Any part of the unsynced data
// may survive, and the database opens again.
func TestOpeningSurvivesACrash(t *testing.T) {
	disk := NewCrashDisk()
	var pictures []*CrashDisk
	var taking sync.Mutex
	disk.OnWrite(func() error {
		taking.Lock()
		defer taking.Unlock()
		for range 8 {
			pictures = append(pictures, disk.Crash(50, uint64(len(pictures))))
		}
		return nil
	})
	for range 2 {
		closeDB(t, open(t, "db", Options{FS: disk.FS()}))
	}
	for i, picture := range pictures {
		db, err := Open("db", Options{FS: picture.FS(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("picture %d of %d: error %v", i, len(pictures), err)
		}
		closeDB(t, db)
	}
}

// TestFailedWrite lets every write fail from the nth on: the commit and all later ones return errors, and earlier
// commits are there after the crash.
func TestFailedWrite(t *testing.T) {
	broken := errors.New("broken disk")
	failures := 0
	for n := range 6 {
		disk := NewCrashDisk()
		db := open(t, "db", Options{FS: disk.FS(), Logger: slog.New(slog.DiscardHandler)})
		commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), nil) })
		left := n
		disk.OnWrite(func() error {
			if left == 0 {
				return broken
			}
			left--
			return nil
		})
		b := db.NewBatch(0)
		b.Set([]byte("b"), nil)
		err := db.Commit(b, true)
		want := "a= b="
		if err != nil {
			failures++
			want = "a="
			if !errors.Is(err, ErrFailed) {
				t.Errorf("write %d fails: %v, want ErrFailed", n, err)
			}
			if err := db.Commit(db.NewBatch(0), true); !errors.Is(err, ErrFailed) {
				t.Errorf("a commit after a failed one: %v, want ErrFailed", err)
			}
		}
		disk.OnWrite(nil)
		crashed := open(t, "db", Options{FS: disk.Crash(0, 1).FS()})
		if got, err := contents(crashed, nil, nil); err != nil || got != want {
			t.Errorf("write %d fails: %q after the crash, %v, want %q", n, got, err, want)
		}
		closeDB(t, crashed)
		if closeErr := db.Close(); (closeErr == nil) != (err == nil) {
			t.Errorf("write %d fails: closing returns %v after %v", n, closeErr, err)
		}
	}
	if failures == 0 {
		t.Error("no write failed")
	}
}

// TestFailedLogInTheBackground: if a log fails after a batch which nobody waits for, the next batch fails, and neither
// the process nor the closing does.
func TestFailedLogInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, disk := errors.New("broken disk"), NewCrashDisk()
		db := open(t, "db", Options{FS: disk.FS(), Logger: slog.New(slog.DiscardHandler)})
		commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), nil) })
		disk.OnWrite(func() error { return broken })
		b := db.NewBatch(0)
		b.Set([]byte("b"), make([]byte, 100<<10)) // more than a block of the log
		if err := db.Commit(b, false); err != nil && !errors.Is(err, broken) {
			t.Errorf("a commit that waits for no sync: %v, want none or %v", err, broken)
		}
		synctest.Wait() // the log is written
		b = db.NewBatch(0)
		b.Set([]byte("c"), nil)
		if err := db.Commit(b, false); !errors.Is(err, ErrFailed) || !errors.Is(err, broken) {
			t.Errorf("the next commit: error %v", err)
		}
		disk.OnWrite(nil)
		if err := db.Close(); !errors.Is(err, broken) {
			t.Errorf("closing: error %v, want %v", err, broken)
		}
		crashed := open(t, "db", Options{FS: disk.Crash(0, 1).FS()})
		if got, err := contents(crashed, nil, nil); err != nil || got != "a=" {
			t.Errorf("%q after the crash, error %v", got, err)
		}
		closeDB(t, crashed)
	})
}

// TestDamagedTable flips bytes in a table on disk: each read reports it, the file is counted, and the rest of the
// database works.
func TestDamagedTable(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second start makes a table from the log of the first
		db := open(t, dir, Options{})
		commit(t, db, true, func(b *Batch) {
			for i := range 1000 {
				b.Set(fmt.Appendf(nil, "key %d", i), bytes.Repeat([]byte{byte(i)}, 100))
			}
		})
		closeDB(t, db)
	}
	tables, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatalf("tables %v, error %v", tables, err)
	}
	for _, table := range tables {
		content, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for i := 100; i < len(content)/2; i += 100 {
			content[i] ^= 1
		}
		if err := os.WriteFile(table, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	db := open(t, dir, Options{Logger: slog.New(slog.DiscardHandler)})
	for range 2 {
		if err := Scan(db, nil, nil, func(_, _ []byte) error { return nil }); !errors.Is(err, ErrDamaged) {
			t.Errorf("scan: %v, want %v", err, ErrDamaged)
		}
	}
	if got := db.Metrics().DamagedFiles; got != 1 {
		t.Errorf("%d files are damaged, want 1", got)
	}
	commit(t, db, true, func(b *Batch) { b.Set([]byte("more"), []byte("1")) })
	if got, err := db.Get([]byte("more")); err != nil || string(got) != "1" {
		t.Errorf("what was written beside it: %q, %v, want 1", got, err)
	}
	closeDB(t, db)
}

// A block that is known to be damaged is not read again: searching for its flipped bit takes long.
func TestDamagedBlockIsReadOnce(t *testing.T) {
	d := damages{log: slog.New(slog.DiscardHandler)}
	info := pebble.DataCorruptionInfo{
		Path:    "/some/dir/000012.sst",
		Details: errors.New("pebble: file 000012: block 4096/1200: crc32c checksum mismatch 1 != 2"),
	}
	d.note(info)
	d.note(info)
	for offset, damaged := range map[int64]bool{0: false, 4096: true} {
		err := d.known("000012.sst", offset)
		if got := err != nil; got != damaged || damaged && !pebble.IsCorruptionError(err) {
			t.Errorf("the block at byte %d: %v, want damaged %t", offset, err, damaged)
		}
	}
	if err := d.known("000013.sst", 4096); err != nil || d.count() != 1 {
		t.Errorf("another file: %v, %d damaged, want none and 1", err, d.count())
	}
}

// TestModel compares random batches with a sorted map.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := Memory()
		db, err := Open("db", Options{FS: fs, MemTableBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		model := make(map[string]string)
		key := rapid.SliceOfN(rapid.ByteRange('a', 'c'), 1, 3)
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			b := db.NewBatch(0)
			for range rapid.IntRange(0, 8).Draw(t, "writes") {
				k, end := key.Draw(t, "key"), key.Draw(t, "end")
				switch rapid.IntRange(0, 3).Draw(t, "op") {
				case 0:
					b.Delete(k)
					delete(model, string(k))
				case 1:
					if bytes.Compare(k, end) < 0 {
						b.DeleteRange(k, end)
						for m := range model {
							if m >= string(k) && m < string(end) {
								delete(model, m)
							}
						}
					}
				default:
					b.Set(k, end)
					model[string(k)] = string(end)
				}
			}
			if err := db.Commit(b, rapid.Bool().Draw(t, "sync")); err != nil {
				t.Fatal(err)
			}
			if rapid.IntRange(0, 3).Draw(t, "reopen") == 0 {
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if db, err = Open("db", Options{FS: fs}); err != nil {
					t.Fatal(err)
				}
			}
			compare(t, db, model, key.Draw(t, "seek"))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func compare(t *rapid.T, db *DB, model map[string]string, seek []byte) {
	var keys []string
	for k := range model {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	var want []string
	for _, k := range keys {
		want = append(want, k+"="+model[k])
	}
	if got, err := contents(db, nil, nil); err != nil || got != strings.Join(want, " ") {
		t.Fatalf("contents %q, %v, want %q", got, err, want)
	}
	it, err := db.NewIter(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := slices.BinarySearch(keys, string(seek))
	if ok := it.SeekGE(seek); ok != (at < len(keys)) || ok && string(it.Key()) != keys[at] {
		t.Fatalf("SeekGE(%q): %v %q, keys %q", seek, ok, it.Key(), keys)
	}
	backwards := []string{}
	for ok := it.SeekLT(seek); ok; ok = it.Prev() {
		backwards = append(backwards, string(it.Key()))
	}
	slices.Reverse(backwards)
	if !slices.Equal(backwards, keys[:at]) {
		t.Fatalf("back from %q: %q, want %q", seek, backwards, keys[:at])
	}
	if err := errors.Join(it.Err(), it.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestMetrics(t *testing.T) {
	db := open(t, "db", Options{FS: Memory()})
	defer closeDB(t, db)
	commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), bytes.Repeat([]byte("1"), 1<<16)) })
	m := db.Metrics()
	if m.DiskBytes == 0 || m.MemTableBytes == 0 || m.WALBytes == 0 || m.Syncs != 1 || m.SyncTime <= 0 || m.Flushes != 0 ||
		m.LoggedBytes < 1<<16 || m.WrittenBytes != m.LoggedBytes {
		t.Errorf("after a synced write: got %+v", m)
	}
	large := db.NewBatch(0)
	for i := range 100_000 {
		large.Set(fmt.Appendf(nil, "key %06d, one of so many that the batch gets a file of its own", i), nil)
	}
	if err := errors.Join(db.Commit(large, false), db.pebble.Flush()); err != nil {
		t.Fatal(err)
	}
	if m := db.Metrics(); m.Flushes == 0 || m.Syncs != 1 || m.WrittenBytes <= m.LoggedBytes {
		t.Errorf("after a large write: got %+v", m)
	}
}

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	failed := make(chan error, 1)
	l := logger{slog.New(slog.NewTextHandler(&out, nil)), func(err error) { failed <- err }, new(atomic.Int64)}
	l.Infof("routine %d", 1)
	if out.Len() > 0 {
		t.Errorf("routine news at info level: %s", &out)
	}
	l.Errorf("trouble %d", 2)
	if got := out.String(); !strings.Contains(got, "trouble 2") || !strings.Contains(got, "level=ERROR") {
		t.Errorf("an error is logged as %q", got)
	}
	out.Reset()
	l.last.Store(time.Now().Add(time.Hour).UnixNano())
	l.Errorf("trouble %d", 3)
	if out.Len() > 0 {
		t.Errorf("a second error within a second is logged as %q, want nothing", &out)
	}
	go l.Fatalf("end %d", 4) // a goroutine that runs no method of a DB
	if err := <-failed; err.Error() != "end 4" || !strings.Contains(out.String(), "end 4") {
		t.Errorf("Fatalf tells of %v and logs %q, want both to say end 4", err, &out)
	}
}

// failing is an in-memory disk on which, once triggered, every write to the selected files fails.
type failing struct {
	begun  atomic.Bool
	writes atomic.Int64 // that failed
}

func (f *failing) fs(selects func(path string) bool) FS {
	return FS{errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f.begun.Load() && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose && selects(op.Path) {
			f.writes.Add(1)
			return syscall.ENOSPC
		}
		return nil
	}))}
}

// If the disk takes no more tables, although the log can be written, the database can still be closed. Committed data
// is in the log.
func TestCloseDoesNotWaitForWhatFails(t *testing.T) {
	for name, file := range map[string]string{"tables": ".sst", "the list of tables": "MANIFEST-", "logs": ".log", "all": ""} {
		disk := new(failing)
		files := disk.fs(func(path string) bool { return strings.Contains(path, file) })
		db := open(t, "db", Options{FS: files, Logger: slog.New(slog.DiscardHandler)})
		commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), []byte("1")) })
		disk.begun.Store(true)
		if err := db.Close(); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: closing returns %v, want %v and %v", name, err, ErrFailed, syscall.ENOSPC)
		}
		if disk.writes.Load() == 0 {
			t.Errorf("%s: no write failed", name)
		}
	}
}

// A failed flush fails the database: waiters for a failure learn of it without a write.
func TestFailedFlushIsTold(t *testing.T) {
	disk := new(failing)
	files := disk.fs(func(path string) bool { return strings.HasSuffix(path, ".sst") })
	db := open(t, "db", Options{FS: files, Logger: slog.New(slog.DiscardHandler)})
	commit(t, db, true, func(b *Batch) { b.Set([]byte("a"), []byte("1")) })
	disk.begun.Store(true)
	if _, err := db.flushMemory(); err != nil {
		t.Fatal(err)
	}
	<-db.Failing()
	if err := db.Failure(); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the failure is %v, want %v and %v", err, ErrFailed, syscall.ENOSPC)
	}
	b := db.NewBatch(0)
	if err := db.Commit(b, false); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a commit afterwards: %v, want %v", err, syscall.ENOSPC)
	}
	_ = db.Close() // the database has failed
}

// TestCrashBesideReuse captures a disk while a file on it is reused, as logs are.
func TestCrashBesideReuse(t *testing.T) {
	disk := NewCrashDisk()
	files := disk.FS().vfs
	names := [2]string{"a", "b"}
	file, err := files.Create(names[0], vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				disk.Crash(0, 1)
			}
		}
	}()
	for i := range 2_000 {
		if err = errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if file, err = files.ReuseForWrite(names[i%2], names[1-i%2], vfs.WriteCategoryUnspecified); err != nil {
			t.Fatal(err)
		}
		if _, err = file.Write([]byte("log")); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	<-stopped
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// Data acknowledged by a new database survives a power cut, as do the directories that were made for it.
func TestNewDatabaseSurvivesAPowerCut(t *testing.T) {
	disk := NewCrashDisk()
	db, err := Open("new/data/db", Options{FS: disk.FS(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	b := db.NewBatch(64)
	b.Set([]byte("key"), []byte("value"))
	if err := db.Commit(b, true); err != nil {
		t.Fatal(err)
	}
	after, err := Open("new/data/db", Options{FS: disk.Crash(0, 1).FS(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if value, err := after.Get([]byte("key")); err != nil || string(value) != "value" {
		t.Errorf("after the power cut: got %q, want value, error %v", value, err)
	}
	if err := errors.Join(db.Close(), after.Close()); err != nil {
		t.Fatal(err)
	}
}

// If any file of a database is missing or too short, opening the database returns an error of damage.
func TestOpenTellsDamage(t *testing.T) {
	sound := t.TempDir()
	fill := func() error {
		db, err := Open(sound, Options{})
		if err != nil {
			return err
		}
		for i := range 3 {
			batch := db.NewBatch(128)
			batch.Set([]byte{byte(i)}, make([]byte, 100))
			if err := db.Commit(batch, true); err != nil {
				return err
			}
		}
		return db.Close()
	}
	for range 2 { // at the second start, a table has the writes of the first
		if err := fill(); err != nil {
			t.Fatal(err)
		}
	}
	for name, ruin := range map[string]func(path string) error{
		"a table that is longer": func(path string) error { return appendTo(path, ".sst") },
		"no manifest":            func(path string) error { return removeLike(path, "MANIFEST-*") },
		"no table":               func(path string) error { return removeLike(path, "*.sst") },
		"no marker":              func(path string) error { return removeLike(path, "marker.*") },
	} {
		dir := filepath.Join(t.TempDir(), "db")
		if err := errors.Join(os.CopyFS(dir, os.DirFS(sound)), ruin(dir)); err != nil {
			t.Fatal(err)
		}
		db, err := Open(dir, Options{})
		if err == nil {
			err = db.Close()
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: got %v, want %v", name, err, ErrDamaged)
		}
	}
}

// removeLike removes the files of a directory whose names match a pattern.
func removeLike(dir, pattern string) error {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	for _, path := range paths {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// appendTo appends a byte to the files with a suffix.
func appendTo(dir, suffix string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	for _, path := range paths {
		content, readErr := os.ReadFile(path)
		err = errors.Join(err, readErr, os.WriteFile(path, append(content, 0), 0o600))
	}
	return err
}
