package mempool

import (
	"context"
	"errors"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// CheckBatch adds nothing to the pool. ApplyBatches adds transactions with the log's time, whatever the clock shows.
func TestScreenAndKeep(t *testing.T) {
	c := newChain()
	moment := time.Unix(1_000_000, 0)
	opts := Options{Journal: journalPath(t), Clock: func() time.Time { return moment }, Expiry: time.Hour}
	p := openPool(t, c, opts)
	good, again := transfer(1, 0, 100, 5), transfer(1, 1, 100, 5)
	screened := p.CheckBatch(context.Background(), [][]byte{good, again, {1, 2, 3}}, "somewhere")
	if len(contents(p)) != 0 || screened[0].Err != nil || screened[1].Err != nil ||
		!errors.Is(screened[2].Err, ErrMalformed) {
		t.Fatalf("got %+v with %d in the pool", screened, len(contents(p)))
	}
	known := func(id types.TxID) *types.VerifiedTx {
		if id == screened[0].Tx.ID() {
			return screened[0].Verified
		}
		return nil
	}
	forged, err := types.DecodeTx(transfer(2, 0, 100, 5))
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), forged.Encoded()...)
	bad[len(bad)-2] ^= 1
	if forged, err = types.DecodeTx(bad); err != nil {
		t.Fatal(err)
	}
	txs := []*types.Tx{screened[0].Tx, screened[1].Tx, screened[0].Tx, forged}
	results, err := keepEntry(p, 1, txs, known)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []error{nil, nil, ErrKnown, ErrBadSignature} {
		if !errors.Is(results[i].Err, want) {
			t.Errorf("transaction %d: got %v, want %v", i, results[i].Err, want)
		}
	}
	want := contents(p)
	if len(want) != 2 || !want[screened[0].Tx.ID()].Added.Equal(moment) {
		t.Fatalf("got %v", want)
	}
	if err := p.SyncJournal(); err != nil {
		t.Fatal(err)
	}
	if got := contents(openCopy(t, c, opts.Journal, Options{Clock: opts.Clock})); !maps.Equal(got, want) {
		t.Errorf("the journal brings %v", got)
	}
	moment = moment.Add(2 * time.Hour)
	next := p.head
	next.Height++
	if err := p.Reset(next, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(contents(p)); n != 0 {
		t.Errorf("%d have not expired", n)
	}
	if n := len(contents(openCopy(t, c, opts.Journal, Options{Clock: opts.Clock}))); n != 0 {
		t.Errorf("the journal brings %d that have expired", n)
	}
}

// A member that catches up gets the pool of another member before it has the log's time. If it restarts then, its
// transactions are as old as on all other members.
func TestRestoreBeforeItsTime(t *testing.T) {
	c := newChain()
	moment := time.Unix(1_000_000, 0)
	opts := Options{Journal: journalPath(t), Clock: func() time.Time { return moment }, Expiry: time.Hour}
	tx, err := types.DecodeTx(transfer(1, 0, 100, 5))
	if err != nil {
		t.Fatal(err)
	}
	added := moment.Add(2 * time.Hour)
	first := openPool(t, c, opts)
	if err := first.Restore(7, first.head, []Taken{{Tx: tx, Added: added}}); err != nil {
		t.Fatal(err)
	}
	p := openCopy(t, c, opts.Journal, Options{Clock: opts.Clock, Expiry: opts.Expiry})
	moment = added.Add(time.Minute)
	next := p.head
	next.Height++
	if err := p.Reset(next, nil); err != nil {
		t.Fatal(err)
	}
	if got := contents(p); !got[tx.ID()].Added.Equal(added) {
		t.Errorf("it is pending since %v, not since %v", got[tx.ID()].Added, added)
	}
}

// A member that catches up again still has the transactions that it restored before. Those that the others have dropped
// since must leave its pool and journal.
func TestRestoreReplaces(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t), Clock: func() time.Time { return time.Unix(1_000_000, 0) }}
	p := openPool(t, c, opts)
	restore := func(txs ...[]byte) map[types.TxID]bool {
		t.Helper()
		ids, taken := make(map[types.TxID]bool), make([]Taken, len(txs))
		for i, encoded := range txs {
			tx, err := types.DecodeTx(encoded)
			if err != nil {
				t.Fatal(err)
			}
			ids[tx.ID()], taken[i] = true, Taken{Tx: tx, Added: opts.Clock()}
		}
		if err := p.Restore(7, p.head, taken); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	restore(transfer(1, 0, 100, 5), transfer(1, 1, 100, 5), transfer(2, 0, 100, 5), transfer(3, 7, 100, 5))
	want := restore(transfer(1, 1, 100, 5), transfer(4, 0, 100, 5))
	for name, pool := range map[string]*Pool{"the pool": p, "its copy": openCopy(t, c, opts.Journal, opts)} {
		got := contents(pool)
		if len(got) != len(want) {
			t.Errorf("%s holds %d transactions, not %d", name, len(got), len(want))
		}
		for id := range want {
			if _, there := got[id]; !there {
				t.Errorf("%s lacks %s", name, id)
			}
		}
	}
}

// keepEntry makes a pool apply one entry, now.
func keepEntry(p *Pool, index uint64, txs []*types.Tx, known func(types.TxID) *types.VerifiedTx) ([]Result, error) {
	results, err := p.ApplyBatches([]CommittedBatch{{index, p.opts.Clock(), txs}}, known)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// A fault of the node is no result: the pool would differ from the others'.
func TestKeepWithoutDisk(t *testing.T) {
	c, fs := newChain(), newFaultyFS()
	p := openPool(t, c, Options{Journal: journalPath(t), FS: fs})
	tx, err := types.DecodeTx(transfer(1, 0, 100, 5))
	if err != nil {
		t.Fatal(err)
	}
	fs.set("write")
	unknown := func(types.TxID) *types.VerifiedTx { return nil }
	if _, err := keepEntry(p, 1, []*types.Tx{tx}, unknown); !errors.Is(err, ErrJournal) {
		t.Errorf("got %v", err)
	}
	if len(contents(p)) != 0 {
		t.Error("it is pending")
	}
}

// Pools with different limits have different digests.
func TestLimits(t *testing.T) {
	c := newChain()
	seen := make(map[[32]byte]int)
	for i, o := range []Options{
		{}, {MaxTransactions: 7}, {MaxBytes: 7}, {Expiry: 7}, {HeldPerSender: 7}, {NonceWindow: 7},
	} {
		limits := openPool(t, c, o).Limits()
		if first, there := seen[limits]; there {
			t.Errorf("options %d have the digest of options %d", i, first)
		}
		seen[limits] = i
	}
	if openPool(
		t, c, Options{Now: func() time.Time { return time.Unix(9, 0) }},
	).Limits() != openPool(t, c, Options{}).Limits() {
		t.Error("the clock is in the digest")
	}
}

// A restarted member applies decided entries again. It adds nothing that its journal covers, even if there is room by
// now, so evicted transactions do not come back.
func TestKeptOnce(t *testing.T) {
	c := newChain()
	moment := time.Unix(1_000_000, 0)
	opts := Options{
		Journal:         journalPath(t),
		Clock:           func() time.Time { return moment },
		Cluster:         [16]byte{1},
		MaxTransactions: 2,
	}
	unknown := func(types.TxID) *types.VerifiedTx { return nil }
	decode := func(sender int, tip types.Amount) *types.Tx {
		tx, err := types.DecodeTx(transfer(sender, 0, 100, tip))
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	p := openPool(t, c, opts)
	first := []*types.Tx{decode(1, 6), decode(2, 5), decode(3, 1)} // the third finds no room
	results, err := keepEntry(p, 3, first, unknown)
	if err != nil || results[0].Err != nil || results[1].Err != nil || results[2].Err == nil {
		t.Fatalf("got %v, error %v", results, err)
	}
	if results, err = keepEntry(p, 4, []*types.Tx{decode(4, 9)}, unknown); err != nil || results[0].Err != nil {
		t.Fatalf("got %v, error %v", results, err) // first[1] is evicted
	}
	want := contents(p)
	if _, pending := want[first[1].ID()]; pending || len(want) != 2 {
		t.Fatalf("pending: %v", want)
	}
	if err := p.SyncJournal(); err != nil {
		t.Fatal(err)
	}
	roomy := opts
	roomy.MaxTransactions = 100
	again := openCopy(t, c, opts.Journal, roomy)
	if got := contents(again); !maps.Equal(got, want) {
		t.Errorf("the journal brings %v, want %v", got, want)
	}
	for index := uint64(3); index <= 4; index++ {
		if results, err := keepEntry(again, index, first, unknown); results != nil || err != nil {
			t.Errorf("entry %d: %v, error %v", index, results, err)
		}
	}
	if results, err := keepEntry(again, 5, first[1:2], unknown); err != nil || results[0].Err != nil {
		t.Errorf("the next entry: %v, error %v", results, err)
	}
	roomy.Cluster = [16]byte{2} // a new log
	other := openCopy(t, c, opts.Journal, roomy)
	if results, err := keepEntry(other, 3, first[1:2], unknown); err != nil || len(results) != 1 || results[0].Err != nil {
		t.Errorf("another log: %v, error %v", results, err)
	}
}

// An entry refuses a transaction that a later entry accepts, and both arrive together: after a restart its age is that
// of the later entry.
func TestTakenAfterARefusal(t *testing.T) {
	c := newChain()
	moment := time.Unix(1_000_000, 0)
	opts := Options{Journal: journalPath(t), Clock: func() time.Time { return moment }, HeldPerSender: 1}
	p := openPool(t, c, opts)
	nonces := func(all ...uint64) (txs []*types.Tx) {
		for _, nonce := range all {
			tx, err := types.DecodeTx(transfer(1, nonce, 100, 5))
			if err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
		}
		return txs
	}
	later := moment.Add(time.Second)
	results, err := p.ApplyBatches([]CommittedBatch{
		{1, moment, nonces(3, 5)},
		{2, later, nonces(0, 1, 2)},
		{3, later, nonces(5)},
	}, func(types.TxID) *types.VerifiedTx { return nil })
	if err != nil || results[0][1].Err == nil || results[2][0].Err != nil {
		t.Fatalf("got %v, error %v", results, err)
	}
	id := results[2][0].Tx.ID()
	for name, pool := range map[string]*Pool{"the pool": p, "its copy": openCopy(t, c, opts.Journal, opts)} {
		if got := contents(pool); len(got) != 5 || !got[id].Added.Equal(later) {
			t.Errorf("%s has %d, the last since %v, not since %v", name, len(got), got[id].Added, later)
		}
	}
}

// A power failure may leave a journal with a hole in place of a long record, followed by later writes. A member's pool
// then resumes at the last position before the hole, and gets the rest from the log again.
func TestHoleInTheJournal(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t), Clock: func() time.Time { return time.Unix(1_000_000, 0) }}
	p := openPool(t, c, opts)
	unknown := func(types.TxID) *types.VerifiedTx { return nil }
	var entries [3][]*types.Tx
	var ends [3]int
	for i := range entries {
		tx, err := types.DecodeTx(transfer(1+i, 0, 100, 5))
		if err != nil {
			t.Fatal(err)
		}
		entries[i] = []*types.Tx{tx}
		if _, err := keepEntry(p, uint64(1+i), entries[i], unknown); err != nil {
			t.Fatal(err)
		}
		ends[i] = int(p.journal.Size())
	}
	want := contents(p)
	written, err := os.ReadFile(opts.Journal)
	if err != nil {
		t.Fatal(err)
	}
	clear(written[ends[0]+40 : ends[0]+60]) // age of the second entry's transaction
	again := openImage(t, c, written, opts)
	for i, txs := range entries {
		if _, err := keepEntry(again, uint64(1+i), txs, unknown); err != nil {
			t.Fatal(err)
		}
	}
	if got := contents(again); !maps.Equal(got, want) {
		t.Errorf("after its log it has %d, not %d", len(got), len(want))
	}
}
