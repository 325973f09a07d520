package mempool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// faultyFS is the operating system's file system with faults: fail names the operation that currently fails.
type faultyFS struct {
	journal.OS
	mu       sync.Mutex
	fail     string
	replaced chan struct{} // the journal was replaced by another file
}

var errFault = errors.New("injected fault")

func newFaultyFS() *faultyFS { return &faultyFS{replaced: make(chan struct{}, 100)} }

func (f *faultyFS) set(op string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = op
}

func (f *faultyFS) fault(op string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == op {
		return errFault
	}
	return nil
}

func (f *faultyFS) Create(name string) (journal.File, error) {
	file, err := f.OS.Create(name)
	return &faultyFile{file, f}, errors.Join(err, f.fault("create"))
}

func (f *faultyFS) SyncDir(dir string) error {
	err := f.OS.SyncDir(dir)
	f.replaced <- struct{}{}
	return err
}

type faultyFile struct {
	journal.File
	fs *faultyFS
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.fs.fault("write"); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultyFile) Sync() error { return errors.Join(f.fs.fault("sync"), f.File.Sync()) }

func journalPath(t *testing.T) string { return filepath.Join(t.TempDir(), "mempool.journal") }

// openCopy opens a pool on a copy of the present journal, as after a kill.
func openCopy(t *testing.T, c *fakeChain, path string, opts Options) *Pool {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return openImage(t, c, b, opts)
}

func openImage(t *testing.T, c *fakeChain, b []byte, opts Options) *Pool {
	t.Helper()
	opts.Journal = journalPath(t)
	if err := os.WriteFile(opts.Journal, b, 0o600); err != nil {
		t.Fatal(err)
	}
	p := openPool(t, c, opts)
	checkInvariants(t, p)
	return p
}

// contents returns the properties of each pending transaction that a restart must keep.
func contents(p *Pool) map[types.TxID]Pending {
	all := make(map[types.TxID]Pending)
	for _, e := range p.Pending(1 << 30) {
		id := e.Tx.ID()
		e.Tx, e.Added = nil, e.Added.Round(0)
		all[id] = e
	}
	return all
}

// TestRestart opens the journal of a closed pool, and then the journal of that pool: nothing changes.
func TestRestart(t *testing.T) {
	c := newChain()
	c.tick = 1
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	for i := range 5 {
		addRun(t, p, 1+i, 0, 4)
	}
	add(t, p, transfer(1, 9, 100, 5))  // held
	add(t, p, transfer(1, 0, 120, 6))  // a replacement
	addRun(t, p, 6, 0, 100)            // more than may be held; with their senders
	add(t, p, transfer(6, 0, 110, 10)) // first is then the latest
	add(t, p, transfer(7, 0, 100, 5))
	want, order, arrivals := contents(p), best(p, testBaseFee), arrivalsOf(p)
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p = openPool(t, c, opts)
		checkInvariants(t, p)
		if got := contents(p); !maps.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if got := best(p, testBaseFee); !slices.Equal(got, order) {
			t.Fatalf("a builder gets %v, want %v", got, order)
		}
		if got := arrivalsOf(p); !slices.Equal(got, arrivals) {
			t.Fatalf("arrivals are %v, want %v", got, arrivals)
		}
	}
}

// arrivalsOf returns the IDs of the pending transactions, newest first.
func arrivalsOf(p *Pool) (ids []types.TxID) {
	for _, e := range p.Pending(1 << 30) {
		ids = append(ids, e.Tx.ID())
	}
	return ids
}

// TestKilled copies the journal after every acknowledgement, and at random lengths in between.
func TestKilled(t *testing.T) {
	for _, sync := range []bool{false, true} {
		c := newChain()
		opts := Options{Journal: journalPath(t), SyncJournal: sync}
		p := openPool(t, c, opts)
		for n := range uint64(5) {
			addRun(t, p, 1, n, 1)
			add(t, p, transfer(2, 0, 100<<n, 5<<n)) // each one replaces the one before it
			if got, want := contents(openCopy(t, c, opts.Journal, Options{})), contents(p); !maps.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
	}
}

// TestTornJournal cuts the journal at many lengths: the remaining transactions form a run without a gap, and were all
// there before.
func TestTornJournal(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	ids := addRun(t, p, 1, 0, 6)
	whole, err := os.ReadFile(opts.Journal)
	if err != nil {
		t.Fatal(err)
	}
	for size := len("cairn journal 2\n"); size <= len(whole); size += 37 {
		got := best(openImage(t, c, whole[:size], Options{}), testBaseFee)
		if !slices.Equal(got, ids[:len(got)]) || len(got) < size*len(ids)/len(whole)-1 {
			t.Fatalf("cut at %d: got %v", size, got)
		}
	}
}

// TestDamagedJournal loses only the record with a flipped bit, and reports how many were read and lost.
func TestDamagedJournal(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	ids := addRun(t, p, 1, 0, 3)
	b, err := os.ReadFile(opts.Journal)
	if err != nil {
		t.Fatal(err)
	}
	second := len("cairn journal 2\n") + (len(b)-len("cairn journal 2\n"))/3
	for name, at := range map[string]int{"header": second, "payload": len(b) / 2} {
		flipped := slices.Clone(b)
		flipped[at] ^= 1
		var log bytes.Buffer
		damaged := openImage(t, c, flipped, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if got := contents(damaged); len(got) != 2 || got[ids[0]] != (Pending{Added: c.now(), Executable: true}) {
			t.Errorf("%s: got %v, want the first and the last of %v", name, got, ids)
		}
		for _, want := range []string{"journal is damaged", "read=2", "lost_at_least=1", "cairn tx ID"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: logged %s, want %q in it", name, &log, want)
			}
		}
	}
}

// TestReplayJudgesAgain replays a journal with transactions that are no longer valid, or never were.
func TestReplayJudgesAgain(t *testing.T) {
	c := newChain()
	path := journalPath(t)
	record := func(encoded []byte, age time.Duration) []byte {
		tx, err := types.DecodeSignedTransaction(encoded)
		if err != nil {
			t.Fatal(err)
		}
		verified := verifyAll(types.NewTxs(tx))[0]
		return appendTaken(nil, c.now().Add(-age), verified)
	}
	forged := record(transfer(1, 0, 100, 5), 0)
	forged[len(forged)-2] ^= 1
	future := record(transfer(2, 0, 100, 5), -time.Hour)
	j, err := journal.Create(journal.Options{FS: journal.OS{}, Path: path}, slices.Values([][]byte{
		nil, []byte("short"), []byte("this is no transaction"), forged,
		record(transfer(3, 0, 9, 0), 0),                   // fee below the minimum
		record(transfer(4, 0, 100, 5), 3*time.Hour),       // expired
		record(transfer(5, 0, 100, 5), 3*time.Hour-1),     // not yet
		record(transfer(6, 0, 100, 5), 0),                 // included
		record(transfer(7, 0, 1<<40, 5), 0),               // cannot pay
		future, future, record(transfer(8, 0, 100, 5), 0), // twice
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	c.set(6, rich, 1)
	p := openPool(t, c, Options{Journal: path})
	if got := p.Stats(); got.Count != 3 || got.Oldest != 3*time.Hour-1 {
		t.Fatalf("got %+v", got)
	}
	for _, i := range []int{2, 5, 8} {
		if len(p.BySender(account(i))) != 1 {
			t.Errorf("account %d has nothing pending", i)
		}
	}
	if got := p.BySender(account(2))[0].Added; !got.Equal(c.now()) {
		t.Errorf("a time in the future became %v", got)
	}
}

// TestReplayUnderPressure keeps the transactions that were accepted before the pool was nearly full.
func TestReplayUnderPressure(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t), MaxTransactions: 10}
	p := openPool(t, c, opts)
	fill(t, p, 1, 8)
	add(t, p, transfer(20, 0, testBaseFee-1, 0))
	add(t, p, transfer(21, 0, testBaseFee, 0))
	want := contents(p)
	if got := contents(openCopy(t, c, opts.Journal, opts)); !maps.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestFileThatIsNoJournal(t *testing.T) {
	path := journalPath(t)
	if err := os.WriteFile(path, []byte("somebody's thesis"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newChain()
	if _, err := New(Options{Journal: path, Now: c.now}, c.head()); !errors.Is(err, journal.ErrFormat) {
		t.Fatalf("got error %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "somebody's thesis" {
		t.Fatalf("the file was changed to %q, %v", b, err)
	}
}

// TestDiskFull refuses transactions that cannot be written. Those that they would have replaced or evicted stay. The
// log reports it once.
func TestDiskFull(t *testing.T) {
	c, fs := newChain(), newFaultyFS()
	var log bytes.Buffer
	opts := Options{Journal: journalPath(t), FS: fs, MaxTransactions: 10, Log: slog.New(slog.NewTextHandler(&log, nil))}
	p := openPool(t, c, opts)
	fill(t, p, 1, 10)
	want := contents(p)
	fs.set("write")
	refuse(t, p, transfer(1, 0, 200, 50), ErrJournal)
	refuse(t, p, transfer(20, 0, 100, 50), ErrJournal)
	if got := contents(p); !maps.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	checkInvariants(t, p)
	for range 2 {
		if err := p.Failing(); !errors.Is(err, ErrJournal) || !errors.Is(err, errFault) {
			t.Errorf("while the disk is full it says %v", err)
		}
	}
	fs.set("")
	if err := p.Failing(); err != nil {
		t.Errorf("once there is room it says %v", err)
	}
	if left, err := filepath.Glob(opts.Journal + ".*"); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	add(t, p, transfer(1, 0, 200, 50))
	add(t, p, transfer(1, 1, 200, 50))
	if refused, taken := strings.Count(log.String(), "refusing transactions"),
		strings.Count(log.String(), "accepting transactions again"); refused != 1 || taken != 1 {
		t.Errorf(
			"told %d times that transactions are refused, %d times that they are taken:\n%s", refused, taken, log.String(),
		)
	}
	want = contents(p)
	if got := contents(openCopy(t, c, opts.Journal, opts)); !maps.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestSyncFailureHeals: the pool refuses transactions after a failed sync until the journal is rewritten.
func TestSyncFailureHeals(t *testing.T) {
	c, fs := newChain(), newFaultyFS()
	opts := Options{Journal: journalPath(t), FS: fs, SyncJournal: true}
	p := openPool(t, c, opts)
	<-fs.replaced
	add(t, p, transfer(1, 0, 100, 5))
	fs.set("sync")
	refuse(t, p, transfer(1, 1, 100, 5), ErrJournal)
	fs.set("")
	c.pass(time.Minute)
	// The earlier refusal may have triggered a rewrite that failed, or one that came late enough.
	if _, err := p.Add(t.Context(), transfer(1, 1, 100, 5), "test"); err != nil && !errors.Is(err, ErrJournal) {
		t.Fatal(err)
	}
	<-fs.replaced
	if err := p.Stats().Journal; err != nil {
		t.Fatal(err)
	}
	if _, err := p.Add(t.Context(), transfer(1, 2, 100, 5), "test"); err != nil {
		t.Fatal(err)
	}
	want := contents(p)
	if got := contents(openCopy(t, c, opts.Journal, Options{})); !maps.Equal(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}

// TestJournalIsRewritten adds and includes large transactions from several senders at once until the journal was
// rewritten several times. Every copy has all transactions that are acknowledged and not included.
func TestJournalIsRewritten(t *testing.T) {
	c, fs := newChain(), newFaultyFS()
	opts := Options{Journal: journalPath(t), FS: fs, MaxBytes: 1 << 20}
	p := openPool(t, c, opts)
	large := func(i int, nonce uint64) []byte {
		tx := draft(i, nonce, 100, 5)
		tx.GasLimit, tx.Payload = 100_000_000, types.Call{Function: "f", Args: make([]byte, types.MaxArgsBytes)}
		return sign(i, tx)
	}
	const senders, each = 3, 250
	kept := addRun(t, p, 10, 0, 20)
	var adding sync.WaitGroup
	var blocks sync.Mutex
	for i := 1; i <= senders; i++ {
		adding.Go(func() {
			for nonce := range uint64(each) {
				if _, err := p.Add(t.Context(), large(i, nonce), "test"); err != nil {
					t.Error(err)
					return
				}
				blocks.Lock()
				accesses := c.block(map[int]state.Account{i: {Balance: rich, Nonce: nonce + 1}})
				if err := p.Reset(c.head(), accesses); err != nil {
					t.Error(err)
				}
				blocks.Unlock()
			}
		})
	}
	adding.Wait()
	<-fs.replaced // at opening
	<-fs.replaced
	if size := p.Stats().JournalBytes; size > 40<<20 {
		t.Fatalf("the journal has %d bytes", size)
	}
	if got := best(openCopy(t, c, opts.Journal, opts), testBaseFee); !slices.Equal(got, kept) {
		t.Fatalf("got %v, want %v", got, kept)
	}
}

func recordTime(nanoseconds int64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{recordTaken}, uint64(nanoseconds))
}

// FuzzReplay replays an arbitrary payload and a valid one: whatever is pending afterwards is signed.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(append(make([]byte, recordPrefix), transfer(1, 0, 100, 5)...))
	f.Add(append(make([]byte, recordPrefix), withBadSignature(transfer(1, 0, 100, 5))...))
	f.Add(append(recordTime(1<<60), transfer(1, 1, 100, 5)...))
	f.Add(encodeDropped(idOf(transfer(2, 0, 100, 5))))
	f.Add(append(encodeDropped(types.TxID{}), 0))
	good := append(recordTime(newChain().now().UnixNano()), transfer(2, 0, 100, 5)...)
	f.Fuzz(func(t *testing.T, payload []byte) {
		p := openPool(t, newChain(), Options{})
		r := &replay{pool: p}
		r.read(good)
		r.read(encodeDropped(idOf(transfer(2, 0, 100, 5))))
		r.read(payload)
		r.read(good)
		r.flush()
		checkInvariants(t, p)
		if len(p.BySender(account(2))) == 0 {
			t.Fatal("the good one is lost")
		}
		for _, e := range p.Pending(3) {
			if verifyAll(types.NewTxs(*e.Tx.Signed()))[0] == nil {
				t.Fatal("a transaction without a signature is pending")
			}
		}
	})
}
