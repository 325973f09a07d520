package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const path = "/data/pool.journal"

func create(t testing.TB, fs FS, sync bool, payloads ...string) *Journal {
	t.Helper()
	j, err := Create(Options{FS: fs, Path: path, Sync: sync}, sequence(payloads...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeJournal(t, j) })
	return j
}

func closeJournal(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func sequence(payloads ...string) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, p := range payloads {
			if !yield([]byte(p)) {
				return
			}
		}
	}
}

func appendAll(t testing.TB, j *Journal, payloads ...string) {
	t.Helper()
	for _, p := range payloads {
		if err := j.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, fs FS) ([]string, Report) {
	t.Helper()
	var got []string
	report, err := Read(fs, path, func(p []byte) error {
		got = append(got, string(p))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, report
}

func expect(t testing.TB, fs FS, want ...string) {
	t.Helper()
	got, report := read(t, fs)
	if !slices.Equal(got, want) || report != (Report{Records: len(want)}) {
		t.Fatalf("got %q, %+v, want %q", got, report, want)
	}
}

// image returns the bytes of a journal with these payloads.
func image(payloads ...string) []byte {
	b := []byte(magic)
	for _, p := range payloads {
		var err error
		if b, err = appendRecord(b, []byte(p)); err != nil {
			panic(err)
		}
	}
	return b
}

// TestOnDisk uses the operating system's file system.
func TestOnDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pool.journal")
	collect := func() (got []string) {
		if _, err := Read(OS{}, name, func(p []byte) error { got = append(got, string(p)); return nil }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := collect(); got != nil {
		t.Fatalf("an absent file has %q", got)
	}
	j, err := Create(Options{FS: OS{}, Path: name, Sync: true}, sequence("a"))
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "b", "")
	if got := collect(); !slices.Equal(got, []string{"a", "b", ""}) {
		t.Fatalf("got %q", got)
	}
	if err := j.Rewrite(j.Size(), sequence("b")); err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "c")
	closeJournal(t, j)
	if got := collect(); !slices.Equal(got, []string{"b", "c"}) {
		t.Fatalf("got %q", got)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != j.Size() {
		t.Fatalf("got %v, %v", info, err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Fatalf("left over: %v, %v", left, err)
	}
}

// TestKilled copies the file after every append: each copy contains every record whose append returned.
func TestKilled(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, false, "first")
	want := []string{"first"}
	for i := range 20 {
		batch := [][]byte{fmt.Append(nil, "a", i), fmt.Append(nil, "b", i)}
		if err := j.Append(batch...); err != nil {
			t.Fatal(err)
		}
		want = append(want, string(batch[0]), string(batch[1]))
		expect(t, newMemoryFS().with(path, fs.copyFile(path)), want...)
	}
}

// TestTorn cuts a file at every length: whole records are read, and the rest is counted.
func TestTorn(t *testing.T) {
	whole := image("one", "", "three")
	ends := []int{len(image()), len(image("one")), len(image("one", "")), len(whole)}
	for size := len(magic); size <= len(whole); size++ {
		got, report := read(t, newMemoryFS().with(path, whole[:size]))
		n, found := slices.BinarySearch(ends, size)
		if !found {
			n--
		}
		if len(got) != n || report != (Report{Records: n, Torn: int64(size - ends[n])}) {
			t.Fatalf("cut at %d: got %q, %+v", size, got, report)
		}
	}
}

// TestDamagedPayload skips exactly the records whose payload has another bit, or ends before the first.
func TestDamagedPayload(t *testing.T) {
	b := image("one", "two", "three", "four")
	b[len(image("one"))+headerBytes] ^= 4
	b[len(b)-1] ^= 1
	got, report := read(t, newMemoryFS().with(path, b))
	if !slices.Equal(got, []string{"one", "three"}) || report != (Report{Records: 2, Damaged: 2, Lost: int64(len(b) - len(image("one", "three")))}) {
		t.Fatalf("got %q, %+v", got, report)
	}
	got = nil
	report, err := ReadSound(newMemoryFS().with(path, b), path, func(p []byte) error {
		got = append(got, string(p))
		return nil
	})
	lost := int64(len(b) - len(image("one")))
	if err != nil || !slices.Equal(got, []string{"one"}) || report != (Report{Records: 1, Damaged: 1, Lost: lost}) {
		t.Fatalf("what is sound: got %q, %+v, %v", got, report, err)
	}
}

// TestEveryFlip flips each bit of a file: only the record with that bit is lost, and the loss is reported.
func TestEveryFlip(t *testing.T) {
	all := []string{"one", "two", "three", ""}
	whole := image(all...)
	for at := range whole {
		for bit := range 8 {
			b := slices.Clone(whole)
			b[at] ^= 1 << bit
			want := Report{Records: len(all), Lost: int64(len(magic))} // the flip is in the magic
			left, from := slices.Clone(all), len(magic)
			for i, p := range all {
				if end := from + RecordBytes(len(p)); at >= from && at < end {
					left = slices.Delete(left, i, i+1)
					want = Report{Records: len(left), Damaged: 1, Lost: int64(end - from)}
				}
				from += RecordBytes(len(p))
			}
			got, report := read(t, newMemoryFS().with(path, b))
			if !slices.Equal(got, left) || report != want {
				t.Fatalf("bit %d of byte %d: got %q, %+v; want %q, %+v", bit, at, got, report, left, want)
			}
		}
	}
}

// TestZeroed zeroes every stretch of a file: the records outside it are read, and a stretch at the end, as a crash may
// leave it, is not damage.
func TestZeroed(t *testing.T) {
	all := []string{"one", "two", "three"}
	whole := image(all...)
	for from := len(magic); from < len(whole); from++ {
		for to := from + 1; to <= len(whole); to++ {
			b := slices.Clone(whole)
			clear(b[from:to])
			if slices.Equal(b, whole) {
				continue
			}
			var left []string
			start := len(magic)
			for _, p := range all {
				end := start + RecordBytes(len(p))
				if slices.Equal(b[start:end], whole[start:end]) {
					left = append(left, p)
				}
				start = end
			}
			got, report := read(t, newMemoryFS().with(path, b))
			if !slices.Equal(got, left) || report.Records != len(left) || report.Damaged == 0 && report.Torn == 0 {
				t.Fatalf("zeros from %d to %d: got %q, %+v; want %q and damage", from, to, got, report, left)
			}
		}
	}
}

// TestHugeLength has a header that is consistent, but with a length greater than any record's.
func TestHugeLength(t *testing.T) {
	b := binary.LittleEndian.AppendUint32([]byte(magic), MaxPayloadBytes+1)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint32(b, checksum(b[len(magic):]))
	if got, report := read(t, newMemoryFS().with(path, b)); got != nil || report.Lost != headerBytes || report.Damaged != 1 {
		t.Fatalf("got %q, %+v", got, report)
	}
}

func TestFormat(t *testing.T) {
	for _, b := range []string{"", "cairn journal 2", "cairn journal 1\n", "something else that is longer"} {
		_, err := Read(newMemoryFS().with(path, []byte(b)), path, func([]byte) error { return nil })
		if !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got error %v", b, err)
		}
	}
}

func TestReadErrors(t *testing.T) {
	for _, op := range []string{"open", "read"} {
		fs := newMemoryFS().with(path, image("one"))
		fs.fault = faultAt(op, nil)
		if _, err := Read(fs, path, func([]byte) error { return nil }); !errors.Is(err, errFault) {
			t.Errorf("%s: got error %v", op, err)
		}
	}
	stop := errors.New("stop")
	fs := newMemoryFS().with(path, image("one", "two"))
	if _, err := Read(fs, path, func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got error %v", err)
	}
}

func TestTooLong(t *testing.T) {
	j := create(t, newMemoryFS(), false)
	if err := j.Append(make([]byte, MaxPayloadBytes)); err != nil {
		t.Fatal(err)
	}
	size := j.Size()
	if err := j.Append([]byte("a"), make([]byte, MaxPayloadBytes+1)); !errors.Is(err, ErrTooLong) || j.Size() != size {
		t.Fatalf("got error %v", err)
	}
}

// faultAt fails an operation while on is nil or true.
func faultAt(op string, on *bool) func(string, string) error {
	return func(o, _ string) error {
		if o == op && (on == nil || *on) {
			return errFault
		}
		return nil
	}
}

// TestDiskFull cuts off a partly written record, so that appending can continue once there is room.
func TestDiskFull(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, false, "one")
	for room := range RecordBytes(3) {
		fs.room = room
		if err := j.Append([]byte("two")); !errors.Is(err, errFault) {
			t.Fatalf("room for %d bytes: got error %v", room, err)
		}
		expect(t, fs, "one")
	}
	fs.room = -1
	appendAll(t, j, "three")
	expect(t, fs, "one", "three")
}

// TestDiskFullAndStuck has a disk on which even truncation fails: the journal accepts nothing more until it has a new
// file.
func TestDiskFullAndStuck(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, false, "one")
	fs.room, fs.fault = 5, faultAt("truncate", nil)
	if err := j.Append([]byte("two")); !errors.Is(err, errFault) {
		t.Fatalf("got error %v", err)
	}
	fs.room = -1
	if err := j.Append([]byte("two")); !errors.Is(err, errFault) || j.Err() == nil {
		t.Fatalf("got error %v", err)
	}
	if err := j.Rewrite(j.Size(), sequence("one")); err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "two")
	expect(t, fs, "one", "two")
}

// TestSyncedInBackground waits for the sync that follows an append without Sync.
func TestSyncedInBackground(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, false)
	<-fs.synced // the new file
	appendAll(t, j, "one", "two")
	<-fs.synced
	if err := j.Sync(); err != nil {
		t.Fatal(err)
	}
	expect(t, fs.afterPowerLoss(), "one", "two")
}

// TestLazy appends to a journal that is synced every few seconds, or on request.
func TestLazy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := newMemoryFS()
		j, err := Create(Options{FS: fs, Path: path, Lazy: true}, sequence())
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		appendAll(t, j, "one")
		time.Sleep(lazyDelay - time.Nanosecond)
		synctest.Wait()
		expect(t, fs.afterPowerLoss())
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		expect(t, fs.afterPowerLoss(), "one")
		appendAll(t, j, "two")
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
		expect(t, fs.afterPowerLoss(), "one", "two")
	})
}

// TestSyncAppend loses power after each of several concurrent appends: the payloads of those that returned are there.
func TestSyncAppend(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, true)
	var appends sync.WaitGroup
	for i := range 50 {
		appends.Go(func() {
			payload := fmt.Sprint("payload ", i)
			if err := j.Append([]byte(payload)); err != nil {
				t.Error(err)
			}
			if got, _ := read(t, fs.afterPowerLoss()); !slices.Contains(got, payload) {
				t.Errorf("%s is lost", payload)
			}
		})
	}
	appends.Wait()
}

func TestSyncFails(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, true, "one")
	fs.fault = faultAt("sync", nil)
	for range 2 {
		if err := j.Append([]byte("two")); !errors.Is(err, errFault) {
			t.Fatalf("got error %v", err)
		}
	}
	if err := j.Rewrite(j.Size(), sequence("one")); !errors.Is(err, errFault) {
		t.Fatalf("rewrite: got error %v", err)
	}
	fs.fault = faultAt("", nil)
	if err := j.Append([]byte("two")); !errors.Is(err, errFault) {
		t.Fatalf("before a rewrite: got error %v", err)
	}
	if err := j.Rewrite(j.Size(), sequence("one")); err != nil || j.Err() != nil {
		t.Fatalf("rewrite: got error %v", err)
	}
	appendAll(t, j, "three")
	expect(t, fs.afterPowerLoss(), "one", "three")
}

// TestRewriteFails has every operation of a rewrite fail once: the old file stays in use, and is complete.
func TestRewriteFails(t *testing.T) {
	for _, op := range []string{"create", "write", "open", "read", "sync", "rename"} {
		fs := newMemoryFS()
		j := create(t, fs, false, "one", "two")
		mark := j.Size()
		appendAll(t, j, "three")
		if err := j.Sync(); err != nil {
			t.Fatal(err)
		}
		fs.fault = faultAt(op, nil)
		if err := j.Rewrite(mark, sequence("two")); !errors.Is(err, errFault) {
			t.Fatalf("%s: got error %v", op, err)
		}
		fs.fault = faultAt("", nil)
		appendAll(t, j, "four")
		expect(t, fs, "one", "two", "three", "four")
		if len(fs.files) != 1 {
			t.Errorf("%s: %d files are left", op, len(fs.files))
		}
	}
}

// TestRewriteDirectoryFails: after the failed sync of the directory it is unknown which file a loss of power would
// leave, so the journal accepts nothing until a rewrite succeeds.
func TestRewriteDirectoryFails(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, false, "one", "two")
	fs.fault = faultAt("syncdir", nil)
	if err := j.Rewrite(j.Size(), sequence("two")); !errors.Is(err, errFault) {
		t.Fatalf("got error %v", err)
	}
	if err := j.Append([]byte("three")); !errors.Is(err, errFault) {
		t.Fatalf("append: got error %v", err)
	}
	expect(t, fs.afterPowerLoss(), "one", "two")
	fs.fault = faultAt("", nil)
	if err := j.Rewrite(j.Size(), sequence("two")); err != nil {
		t.Fatal(err)
	}
	appendAll(t, j, "three")
	expect(t, fs, "two", "three")
}

func TestCreateFails(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "rename", "syncdir"} {
		fs := newMemoryFS().with(path, image("old"))
		fs.fault = faultAt(op, nil)
		if _, err := Create(Options{FS: fs, Path: path}, sequence("old")); !errors.Is(err, errFault) {
			t.Fatalf("%s: got error %v", op, err)
		}
		fs.fault = faultAt("", nil)
		expect(t, fs, "old")
	}
}

// TestRewriteWhileAppending rewrites repeatedly under concurrent appends. At any moment the file, and its remains after
// a power loss, have every payload whose append returned.
func TestRewriteWhileAppending(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, true)
	var mu sync.Mutex
	var alive []string
	var appends, rewrites sync.WaitGroup
	var inFlight sync.RWMutex // as an owner must: when a mark is taken, all payloads before it are in alive
	stop := make(chan struct{})
	rewrites.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			inFlight.Lock()
			mark := j.Size()
			inFlight.Unlock()
			mu.Lock()
			payloads := slices.Clone(alive)
			mu.Unlock()
			if err := j.Rewrite(mark, sequence(payloads...)); err != nil {
				t.Error(err)
			}
		}
	})
	for w := range 4 {
		appends.Go(func() {
			for i := range 50 {
				payload := fmt.Sprint(w, " ", i)
				inFlight.RLock()
				if err := j.Append([]byte(payload)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				alive = append(alive, payload)
				mu.Unlock()
				inFlight.RUnlock()
				if got, report := read(t, fs.afterPowerLoss()); report.Damaged > 0 || !slices.Contains(got, payload) {
					t.Errorf("%s is lost: %+v", payload, report)
				}
			}
		})
	}
	appends.Wait()
	close(stop)
	rewrites.Wait()
	got, _ := read(t, fs)
	for _, payload := range alive {
		if !slices.Contains(got, payload) {
			t.Errorf("%s is lost in the end", payload)
		}
	}
}

func TestClosed(t *testing.T) {
	fs := newMemoryFS()
	j := create(t, fs, false)
	appendAll(t, j, "one")
	closeJournal(t, j)
	closeJournal(t, j)
	expect(t, fs.afterPowerLoss(), "one")
	if err := j.Append([]byte("two")); !errors.Is(err, ErrClosed) {
		t.Fatalf("got error %v", err)
	}
	if err := j.Rewrite(0, sequence()); !errors.Is(err, ErrClosed) {
		t.Fatalf("got error %v", err)
	}
	expect(t, fs, "one")
}

// FuzzJournalReplay reads arbitrary files: it never panics, accounts for all bytes, and returns only payloads that are
// in them.
func FuzzJournalReplay(f *testing.F) {
	f.Add(image())
	f.Add(image("one", "", "three"))
	f.Add(image("one", "two")[:40])
	damaged := image("one", "two", "three")
	damaged[len(image("one"))+headerBytes] ^= 1
	f.Add(damaged)
	framing := image("one", "two", "three")
	framing[len(image("one"))] ^= 1
	f.Add(framing)
	f.Add([]byte("not a journal"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var again []byte
		report, err := scan(bytes.NewReader(b), true, func(p []byte) error {
			var err error
			again, err = appendRecord(again, p)
			return err
		})
		if err != nil {
			if !errors.Is(err, ErrFormat) || bytes.HasPrefix(b, []byte(magic)) {
				t.Fatal(err)
			}
			return
		}
		if got := int64(len(magic)+len(again)) + report.Torn + report.Lost; bytes.HasPrefix(b, []byte(magic)) && got != int64(len(b)) {
			t.Fatalf("%+v are %d bytes, want %d", report, got, len(b))
		}
		if report.Lost == 0 && !bytes.Equal(append([]byte(magic), again...), b[:int64(len(b))-report.Torn]) {
			t.Fatal("what was read is not what is there")
		}
	})
}
