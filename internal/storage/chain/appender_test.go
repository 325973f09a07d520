package chain

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// appendAll appends blocks by one appender, and syncs the last one separately if asked for.
func appendAll(s *Store, entries []Entry, sync bool) error {
	r, err := s.Begin()
	for i := 0; i < len(entries) && err == nil; i++ {
		err = r.Append(entries[i], sync && i == len(entries)-1)
	}
	return errors.Join(err, r.End())
}

// TestAppender appends blocks, compares the appender's view and the visible one at each step, and ends it.
func TestAppender(t *testing.T) {
	for _, sync := range []bool{false, true} {
		s, c := newStore(t, Options{WitnessBytes: 1}, 3)
		before := s.Head()
		r, err := s.Begin()
		must(t, err)
		dice := rand.New(rand.NewPCG(17, 18))
		known := make(map[types.CodeHash]bool)
		for _, b := range c.blocks {
			for hash := range b.Codes {
				known[hash] = true
			}
		}
		codes := 0
		for i := range 4 {
			e := c.next(t, dice, 20)
			e.Witness = []byte{1}
			keeps, err := r.KeepsWitnesses()
			must(t, err)
			if keeps != (i == 0) {
				t.Errorf("before block %d of the run: witnesses are kept: %t, want %t", i, keeps, (i == 0))
			}
			must(t, r.Append(e, sync && i == 3))
			st := r.State()
			if st.Height() != e.Header.Height {
				t.Errorf("the state is of block %d, want %d", st.Height(), e.Header.Height)
			}
			requireState(t, st, c.head().state, c)
			must(t, st.Close())
			for hash, code := range e.Codes {
				got, err := r.Code(hash)
				must(t, err)
				size, err := r.CodeSize(hash)
				must(t, err)
				if string(got) != string(code) || size != len(code) {
					t.Errorf("the run has another code %s, of %d bytes", hash, size)
				}
				if known[hash] {
					continue
				}
				if _, err := s.Code(hash); !errors.Is(err, ErrNotFound) {
					t.Errorf("the store has the code of a run under way: error %v", err)
				}
				codes++
			}
			if _, err := s.Block(e.Header.Height); !errors.Is(err, ErrAboveHead) && !errors.Is(err, ErrNotFound) {
				t.Errorf("the store has a block of a run under way: error %v", err)
			}
			if s.Head() != before {
				t.Fatalf("the head is %d before the run's end", s.Head().Header.Height)
			}
		}
		if codes == 0 {
			t.Error("no block of the run had a code")
		}
		must(t, r.End())
		if s.Head() != c.head().Signed() {
			t.Errorf("the head is %d after the run", s.Head().Header.Height)
		}
		requireSound(t, s)
	}
}

// TestAppenderWithoutBlocks ends a run without blocks, and one whose only block is refused: others may write.
func TestAppenderWithoutBlocks(t *testing.T) {
	s, c := newStore(t, Options{}, 1)
	head := s.Head()
	r, err := s.Begin()
	must(t, err)
	must(t, r.End())
	good := c.next(t, rand.New(rand.NewPCG(3, 4)), 5)
	bad := good
	bad.Transactions = bad.Transactions[1:]
	requireIs(t, "a run of a bad entry", appendAll(s, []Entry{bad}, true), ErrBadEntry)
	if s.Head() != head {
		t.Errorf("the head is %d", s.Head().Header.Height)
	}
	next := c.next(t, rand.New(rand.NewPCG(5, 6)), 5)
	bad = next
	bad.Header.Height++
	requireIs(t, "a run of a good and a bad entry", appendAll(s, []Entry{good, bad}, true), ErrBadEntry)
	if s.Head() != good.Signed() {
		t.Errorf("the head is %d, not that of the good entry", s.Head().Header.Height)
	}
	must(t, s.Append(next))
	requireSound(t, s)
}

// TestRunBesideOtherWriters begins runs before other writes, whose effects stay. A later writer waits for the end of
// the run, which is notified of it.
func TestRunBesideOtherWriters(t *testing.T) {
	s, c := newStore(t, Options{Retention: 3}, 6)
	dice := rand.New(rand.NewPCG(19, 20))
	r, err := s.Begin()
	must(t, err)
	must(t, s.Prune(context.Background()))
	must(t, s.PutProof(5, []byte("proof")))
	must(t, r.Append(c.next(t, dice, 4), false))
	if r.Awaited() {
		t.Error("somebody waits for a run of which nobody wants anything")
	}
	done := make(chan error)
	go func() { done <- s.PutProof(6, []byte("another")) }()
	for !r.Awaited() { // until the writer waits
		must(t, r.Append(c.next(t, dice, 1), false))
	}
	if _, err := s.Proof(6); !errors.Is(err, ErrNotFound) {
		t.Errorf("a proof was written beside a run: error %v, want %v", err, ErrNotFound)
	}
	must(t, r.End())
	must(t, <-done)
	if _, err := s.Proof(5); err != nil || s.OldestHeight() != 3 || s.Head() != c.head().Signed() {
		t.Errorf("proof %v, oldest block %d, head %d", err, s.OldestHeight(), s.Head().Header.Height)
	}
	must(t, s.Prune(context.Background()))
	requireSound(t, s)
}

// TestPruneLetsAnAppenderGoOn prunes several blocks in one batch, which waits until a run of appends ends by itself.
func TestPruneLetsAnAppenderGoOn(t *testing.T) {
	s, c := newStore(t, Options{Retention: 3}, 9)
	dice := rand.New(rand.NewPCG(23, 24))
	r, err := s.Begin()
	must(t, err)
	must(t, r.Append(c.next(t, dice, 4), false))
	before := r.view.number
	done := make(chan error)
	go func() { done <- s.Prune(context.Background()) }()
	for s.pruning.TryLock() { // until it has begun
		s.pruning.Unlock()
	}
	for range 20 {
		if r.Awaited() {
			t.Fatal("the run is to end for a batch that is the last")
		}
		must(t, r.Append(c.next(t, dice, 1), false))
	}
	if oldest := s.OldestHeight(); oldest != 0 {
		t.Errorf("pruned to %d beside a run, want 0", oldest)
	}
	must(t, r.End())
	must(t, <-done)
	if oldest, head := s.OldestHeight(), s.Head().Header.Height; oldest != head-3 {
		t.Errorf("pruned to %d, the head is %d", oldest, head)
	}
	if batches := s.view.Load().number - before - 20; batches > 2 { // for the data before the run, and after it
		t.Errorf("%d blocks were pruned in %d batches", s.OldestHeight(), batches)
	}
	requireSound(t, s)
}

// TestAppenderFails makes the disk fail during a run: none of its blocks is announced, and nothing is written any more.
func TestAppenderFails(t *testing.T) {
	disk := kv.NewCrashDisk()
	db, err := kv.Open("db", kv.Options{FS: disk.FS(), Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	s, err := Open(db, Options{Schedule: toySchedule})
	must(t, err)
	c := newToyChain(t)
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	dice := rand.New(rand.NewPCG(15, 16))
	must(t, s.Append(c.next(t, dice, 5)))
	before := s.Head()
	r, err := s.Begin()
	must(t, err)
	must(t, r.Append(c.next(t, dice, 5), false))
	must(t, r.Append(c.next(t, dice, 5), false))
	broken := errors.New("broken disk")
	disk.OnWrite(func() error { return broken })
	requireIs(t, "the end of a run", r.End(), kv.ErrFailed)
	disk.OnWrite(nil)
	if s.Head() != before {
		t.Errorf("the head is %d, want %d", s.Head().Header.Height, before.Header.Height)
	}
	requireIs(t, "a block after it", s.Append(c.next(t, dice, 5)), kv.ErrFailed)
	must(t, s.Close())
	if db.Close() == nil {
		t.Error("the database closed as if nothing had been")
	}
	again := openStore(t, disk.Crash(0, 1).FS(), Options{})
	if again.Head() != before {
		t.Errorf("opened anew the head is %d, want %d", again.Head().Header.Height, before.Header.Height)
	}
	requireSound(t, again)
}

// headsOf are the hashes of blocks.
func headsOf(entries []Entry) (hashes []types.BlockHash) {
	for _, e := range entries {
		hashes = append(hashes, e.Header.Hash())
	}
	return hashes
}

// TestLogged appends a block that is already in a log: it is announced without a sync, and is on disk with the next
// one.
func TestLogged(t *testing.T) {
	disk := kv.NewCrashDisk()
	s, c := openStore(t, disk.FS(), Options{}), newToyChain(t)
	dice := rand.New(rand.NewPCG(25, 26))
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	before := s.Head()
	a, err := s.Begin()
	must(t, err)
	must(t, a.Append(c.next(t, dice, 4), false))
	a.Logged()
	syncs := s.db.Metrics().Syncs
	must(t, a.End())
	if now := s.db.Metrics().Syncs; now != syncs || s.Head() != c.head().Signed() {
		t.Errorf("%d syncs, the head is %d", now-syncs, s.Head().Header.Height)
	}
	if left := openStore(t, disk.Crash(0, 1).FS(), Options{}); left.Head() != before {
		t.Errorf("what was not synced is there: the head is %d", left.Head().Header.Height)
	}
	must(t, s.db.Sync())
	if left := openStore(t, disk.Crash(0, 1).FS(), Options{}); left.Head() != s.Head() {
		t.Errorf("what was synced is lost: the head is %d", left.Head().Header.Height)
	}
	requireSound(t, s)
}
