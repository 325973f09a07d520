package chain

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// crashes takes a picture of a disk, as a crash would leave it, before every operation that changes it.
type crashes struct {
	disk *kv.CrashDisk

	mu       sync.Mutex
	heads    []types.BlockHash // one after the other, the first of an empty store; the last may not be on disk yet
	acked    int               // index of the last one that must be on disk
	pictures []picture
}

// picture is a disk after a crash, and which heads it may have.
type picture struct {
	disk        *kv.CrashDisk
	first, last int
}

// maxPictures keeps the test short.
const maxPictures = 400

func (c *crashes) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// What is not synced is lost, kept, or kept in part.
	percent := []int{0, 50, 100, 20}[len(c.pictures)%4]
	c.pictures = append(c.pictures, picture{c.disk.Crash(percent, uint64(len(c.pictures))), c.acked, len(c.heads) - 1})
	return nil
}

// during records that an operation makes these blocks the head, one after the other.
func (c *crashes) during(t tester, heads []types.BlockHash, operation func() error) {
	t.Helper()
	c.mu.Lock()
	c.heads = append(c.heads, heads...)
	c.mu.Unlock()
	must(t, operation())
	c.mu.Lock()
	c.acked = len(c.heads) - 1
	c.mu.Unlock()
	must(t, c.take()) // once it returned, the head stays
}

// TestCrash stops the machine before every operation on the disk while blocks are appended, in runs too, pruned and
// rewound. The store must come back sound, with the last head that was acknowledged or a later one.
func TestCrash(t *testing.T) {
	recorded := &crashes{disk: kv.NewCrashDisk(), heads: []types.BlockHash{{}}}
	recordHistory(t, recorded)
	if len(recorded.pictures) < 100 {
		t.Errorf("only %d operations on the disk", len(recorded.pictures))
	}
	if len(recorded.pictures) > maxPictures {
		t.Errorf("%d operations on the disk: make the history shorter", len(recorded.pictures))
	}
	between := 0
	t.Logf("%d operations on the disk", len(recorded.pictures))
	for i, p := range recorded.pictures {
		db, err := kv.Open("db", kv.Options{
			FS: p.disk.FS(), CacheBytes: 1 << 20, MemTableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler),
		})
		must(t, err)
		s, err := Open(db, Options{Schedule: toySchedule})
		if err != nil {
			t.Fatalf("picture %d: %v", i, err)
		}
		found := false
		for _, head := range recorded.heads[p.first : p.last+1] {
			found = found || s.HeadHash() == head
		}
		if !found {
			t.Errorf("picture %d: head %d, %s, which is none of %s", i, s.Head().Header.Height, s.HeadHash(),
				recorded.heads[p.first:p.last+1])
		}
		if p.first < p.last {
			between++
		}
		if !s.Empty() {
			requireSound(t, s)
		}
		must(t, errors.Join(s.Close(), db.Close()))
	}
	if between < 20 {
		t.Errorf("only %d pictures are of an operation under way", between)
	}
}

// recordHistory runs a history over a small memtable, so that files are flushed and compacted in it too.
func recordHistory(t *testing.T, recorded *crashes) {
	recorded.disk.OnWrite(recorded.take)
	db, err := kv.Open("db", kv.Options{
		FS: recorded.disk.FS(), CacheBytes: 1 << 20, MemTableBytes: 64 << 10, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	s, err := Open(db, Options{Retention: 5, Schedule: toySchedule})
	must(t, err)
	s.pruneRows = 100
	c := newToyChain(t)
	r := rand.New(rand.NewPCG(13, 14))
	recorded.during(t, headsOf([]Entry{c.blocks[0].Entry}), func() error { return s.Init(c.genesis, c.blocks[0].Entry) })
	for i := range 10 {
		e := c.next(t, r, r.IntN(40))
		recorded.during(t, headsOf([]Entry{e}), func() error { return s.Append(e) })
		switch i {
		case 6:
			must(t, s.Prune(context.Background()))
		case 7:
			h := s.Head().Header.Height - 3
			var undo []types.Access
			recorded.during(t, headsOf([]Entry{c.blocks[h].Entry}), func() (err error) { undo, err = s.Rewind(h); return err })
			c.rewind(t, h, undo)
		case 3, 9:
			var run []Entry
			for range 4 {
				run = append(run, c.next(t, r, r.IntN(40)))
			}
			recorded.during(t, headsOf(run), func() error { return appendAll(s, run, i == 9) })
		}
	}
	recorded.disk.OnWrite(nil)
	must(t, errors.Join(s.Close(), db.Close()))
}

// TestFailedDisk lets every write to the disk fail from the nth on. The append says so, the head stays, nothing is
// written any more, and the store opened anew is sound.
func TestFailedDisk(t *testing.T) {
	broken := errors.New("broken disk")
	failures := 0
	for n := range 4 {
		disk := kv.NewCrashDisk()
		db, err := kv.Open("db", kv.Options{FS: disk.FS(), Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		s, err := Open(db, Options{Schedule: toySchedule})
		must(t, err)
		c := newToyChain(t)
		r := rand.New(rand.NewPCG(15, 16))
		must(t, s.Init(c.genesis, c.blocks[0].Entry))
		must(t, s.Append(c.next(t, r, 5)))
		before, left := s.Head(), n
		var mu sync.Mutex
		disk.OnWrite(func() error {
			mu.Lock()
			defer mu.Unlock()
			if left == 0 {
				return broken
			}
			left--
			return nil
		})
		after := c.next(t, r, 5)
		err = s.Append(after)
		disk.OnWrite(nil)
		want := after.Signed()
		if err != nil {
			failures++
			want = before
			requireIs(t, "Append", err, kv.ErrFailed)
			requireIs(t, "Append after a failure", s.Append(after), kv.ErrFailed)
			_, err := s.Rewind(0)
			requireIs(t, "Rewind after a failure", err, kv.ErrFailed)
		}
		if s.Head() != want {
			t.Errorf("write %d fails: head %d, want %d", n, s.Head().Header.Height, want.Header.Height)
		}
		if again := openStore(t, disk.Crash(100, 1).FS(), Options{}); again.Head().Header.Height < want.Header.Height {
			t.Errorf("write %d fails: opened anew the head is %d, want %d", n, again.Head().Header.Height, want.Header.Height)
		} else {
			requireSound(t, again)
		}
		must(t, s.Close())
		if closeErr := db.Close(); (closeErr == nil) != (err == nil) {
			t.Errorf("write %d fails: closing returns %v after %v", n, closeErr, err)
		}
	}
	if failures == 0 {
		t.Error("no write failed")
	}
}
