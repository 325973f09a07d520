package chain

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// crashes captures a disk, as a crash would leave it, before every operation that changes it.
type crashes struct {
	disk *kv.CrashDisk

	mu       sync.Mutex
	heads    []types.BlockHash // in order, the first one of an empty store; the last may not be on disk yet
	acked    int               // index of the last head that must be on disk
	pictures []picture
}

// picture is a disk after a crash, with the heads that it may have.
type picture struct {
	disk        *kv.CrashDisk
	first, last int
}

// maxPictures bounds the time of the test.
const maxPictures = 400

func (c *crashes) take() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Unsynced data is lost, kept, or kept in part.
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
	must(t, c.take()) // the head stays after the call has returned
}

// TestCrash stops the machine before every operation on the disk while blocks are appended, also in runs, pruned and
// rewound. The store must be sound afterwards, with the last acknowledged head or a later one.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	recorded := &crashes{disk: kv.NewCrashDisk(), heads: []types.BlockHash{{}}}
	recordHistory(t, recorded)
	recorded.comeBack(t, Options{Schedule: toySchedule}, func(*Store) {})
}

// comeBack opens the store on each captured disk. It must be sound, with one of the possible heads.
func (c *crashes) comeBack(t *testing.T, options Options, look func(*Store)) {
	t.Helper()
	if len(c.pictures) < 100 {
		t.Errorf("only %d operations on the disk", len(c.pictures))
	}
	if len(c.pictures) > maxPictures {
		t.Errorf("%d operations on the disk: make the history shorter", len(c.pictures))
	}
	between := 0
	t.Logf("%d operations on the disk", len(c.pictures))
	for i, p := range c.pictures {
		db, err := kv.Open("db", kv.Options{
			FS: p.disk.FS(), CacheBytes: 1 << 20, MemTableBytes: 256 << 10, Logger: slog.New(slog.DiscardHandler),
		})
		must(t, err)
		s, err := Open(db, options)
		if err != nil {
			t.Fatalf("picture %d: error %v", i, err)
		}
		found := false
		for _, head := range c.heads[p.first : p.last+1] {
			found = found || s.HeadHash() == head
		}
		if !found {
			t.Errorf("picture %d: head %d, %s, which is none of %s", i, s.Head().Header.Height, s.HeadHash(),
				c.heads[p.first:p.last+1])
		}
		if p.first < p.last {
			between++
		}
		if !s.Empty() {
			requireSound(t, s)
			look(s)
		}
		must(t, errors.Join(s.Close(), db.Close()))
	}
	if between < 20 {
		t.Errorf("only %d pictures are of an operation under way", between)
	}
}

// TestCrashTogether stops the machine before every operation on the disk while blocks are appended together to a store
// without state. The store then has all of them with their proof, or none, as no proof shows the roots in between.
func TestCrashTogether(t *testing.T) {
	recorded := &crashes{disk: kv.NewCrashDisk(), heads: []types.BlockHash{{}}}
	ends := recordTogether(t, recorded)
	proven := 0
	recorded.comeBack(t, Options{Schedule: toySchedule, Stateless: true}, func(s *Store) {
		head := s.Head().Header.Height
		span, of := ends[head]
		if !of {
			t.Fatalf("the head is block %d, in the middle of blocks that were appended together", head)
		}
		for last, span := range ends {
			if span.Log() == 0 || last > head {
				continue
			}
			proof, err := s.RangeProof(span)
			if err != nil && !errors.Is(err, ErrPruned) || err == nil && !bytes.Equal(proof, rangeRow(span)) {
				t.Errorf("at block %d, the proof up to block %d: got %x, error %v", head, last, proof, err)
			}
		}
		if span.Log() > 0 {
			proven++
		}
		for _, span := range ends {
			if has, err := s.HasRangeProof(span); err != nil || has && span.Last() > head {
				t.Errorf("at block %d there is a proof up to block %d, error %v", head, span.Last(), err)
			}
		}
	})
	if proven == 0 {
		t.Error("no picture is of blocks that were appended together")
	}
}

// recordTogether appends blocks together and alone, and prunes. It returns the heads at which the store may end, each
// with the span that ends there; a block alone is a span of one.
func recordTogether(t *testing.T, recorded *crashes) map[types.Height]blockproof.Span {
	recorded.disk.OnWrite(recorded.take)
	db, err := kv.Open("db", kv.Options{
		FS: recorded.disk.FS(), CacheBytes: 1 << 20, MemTableBytes: 64 << 10, Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	s, err := Open(db, Options{Retention: 20, Schedule: toySchedule, Stateless: true})
	must(t, err)
	s.pruneRows = 100
	c, r := newToyChain(t), rand.New(rand.NewPCG(23, 24))
	ends := map[types.Height]blockproof.Span{0: 0}
	recorded.during(t, headsOf([]Entry{c.blocks[0].Entry}), func() error { return s.Init(c.genesis, c.blocks[0].Entry) })
	for _, log := range []int{3, 3, 0, 0, 1, 2, 3, 4} {
		var entries []Entry
		for range 1 << log {
			entries = append(entries, c.next(t, r, r.IntN(40)))
		}
		last := entries[len(entries)-1]
		span := blockproof.NewSpan(last.Header.Height, log)
		ends[span.Last()] = span
		recorded.during(t, headsOf([]Entry{last}), func() error {
			if log == 0 {
				return s.Append(last)
			}
			return s.AppendTogether(entries, span, rangeRow(span))
		})
		if log == 2 {
			must(t, s.Prune(context.Background()))
		}
	}
	recorded.disk.OnWrite(nil)
	must(t, errors.Join(s.Close(), db.Close()))
	return ends
}

// recordHistory runs a history with a small memtable, so that files are also flushed and compacted.
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

// TestFailedDisk makes every write to the disk fail from the nth on. The append returns an error, the head stays,
// nothing is written any more, and the store is sound when reopened.
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
