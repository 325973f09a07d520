package mempool

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// logEvent is an entry's effect on a pool: it adds transactions, or applies the block after which head is the head.
type logEvent struct {
	moment time.Time
	txs    []*types.Tx
	head   Head
	block  []types.Access
}

// logWorld is a log, with the results of its entries in a pool that never restarted.
type logWorld struct {
	path   string
	moment time.Time
	heads  map[types.Height]Head
	events []logEvent
	pool   *Pool

	journals [][]byte       // after each event
	heights  []types.Height // after each event
	contents [][]Taken      // after each event
}

func (w *logWorld) headAt(h types.Height) (Head, error) {
	head, ok := w.heads[h]
	if !ok {
		return head, fmt.Errorf("no head at %d", h)
	}
	return head, nil
}

// options returns the options of a pool of the world, with its journal at a path.
func (w *logWorld) options(path string) Options {
	return Options{
		MaxTransactions: 24,
		HeldPerSender:   3,
		NonceWindow:     12,
		Expiry:          40 * time.Second,
		Journal:         path,
		Cluster:         [16]byte{7},
		Clock:           func() time.Time { return w.moment },
		HeadAt:          w.headAt,
	}
}

// newLogWorld makes a pool with a chain and no events yet, which is removed with its files at the end of the check.
func newLogWorld(t *rapid.T) (*logWorld, *fakeChain) {
	dir, err := os.MkdirTemp("", "pool")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := newChain()
	first := c.frozen()
	w := &logWorld{
		path:   filepath.Join(dir, "live"),
		moment: time.Unix(1_700_000_000, 0),
		heads:  map[types.Height]Head{c.height: first},
	}
	if w.pool, err = New(w.options(w.path), first); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.pool.Close() })
	return w, c
}

// apply has a pool apply an event. If the chain already has the block, the pool is only notified of the new head.
func (w *logWorld) apply(t *rapid.T, p *Pool, index int) {
	e := w.events[index]
	w.moment = e.moment
	if e.block == nil {
		unknown := func(types.TxID) *types.VerifiedTx { return nil }
		if _, err := keepEntry(p, uint64(index+1), e.txs, unknown); err != nil {
			t.Fatalf("entry %d: %v", index+1, err)
		}
	} else if p.Height() < e.head.Height {
		if err := p.Reset(e.head, e.block); err != nil {
			t.Fatalf("block %d: %v", e.head.Height, err)
		}
	}
}

// grow draws and applies the next event of the log.
func (w *logWorld) grow(t *rapid.T, c *fakeChain) {
	e := logEvent{moment: w.moment.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "seconds")) * time.Second)}
	if rapid.IntRange(0, 2).Draw(t, "block") > 0 {
		for range rapid.IntRange(1, 6).Draw(t, "transactions") {
			i := rapid.IntRange(0, 4).Draw(t, "sender")
			nonce := c.accounts[account(i)].Nonce + uint64(rapid.IntRange(0, 13).Draw(t, "nonce"))
			fee := types.Amount(rapid.IntRange(20, 60).Draw(t, "fee"))
			made := draft(i, nonce, fee, fee/2)
			if rapid.IntRange(0, 2).Draw(t, "ends") == 0 {
				until := uint64(e.moment.UnixMilli()) + uint64(rapid.IntRange(0, 40_000).Draw(t, "valid for"))
				made.ValidUntil = &until
			}
			encoded := sign(i, made)
			if payer := rapid.IntRange(0, 9).Draw(t, "payer"); payer < 5 && payer != i {
				encoded = sponsor(i, payer, made)
			}
			tx, err := types.DecodeTx(encoded)
			if err != nil {
				t.Fatal(err)
			}
			e.txs = append(e.txs, tx)
		}
	} else {
		records := make(map[int]state.Account)
		for i := range 5 {
			old := c.accounts[account(i)]
			run := len(w.pool.BySender(account(i)))
			old.Nonce += uint64(rapid.IntRange(0, min(run, 4)).Draw(t, "included"))
			if rapid.IntRange(0, 3).Draw(t, "spent") == 0 { // its run becomes shorter or longer
				old.Balance = types.Amount(rapid.IntRange(1, 9).Draw(t, "balance")) * testGas * 60
			}
			old.Nonce = max(old.Nonce, 1)
			next := authorityOf(rapid.SampledFrom([]int{-1, -1, policyKey}).Draw(t, "next"), account(i))
			switch rapid.IntRange(0, 9).Draw(t, "authority") {
			case 0:
				old.Authority, old.Pending = &next, nil
			case 1:
				from := uint64(e.moment.UnixMilli()) + uint64(rapid.IntRange(0, 40_000).Draw(t, "delay"))
				old.Pending = &state.Recovery{Next: next, From: from}
			}
			records[i] = old
		}
		c.env.Timestamp = max(c.env.Timestamp, uint64(e.moment.UnixMilli()+rapid.Int64Range(-3000, 3000).Draw(t, "block time")))
		if rapid.IntRange(0, 3).Draw(t, "configured") == 0 {
			c.env.Parameters.MinBaseFee = types.Amount(rapid.IntRange(8, 40).Draw(t, "minimum"))
		}
		e.block = c.block(records)
		e.head = c.frozen()
		w.heads[e.head.Height] = e.head
	}
	w.events = append(w.events, e)
	w.apply(t, w.pool, len(w.events)-1)
	written, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	_, all := w.pool.All()
	w.journals = append(w.journals, written)
	w.heights = append(w.heights, w.pool.Height())
	w.contents = append(w.contents, all)
}

// frozen is the current head, which stays the same when the chain goes on.
func (c *fakeChain) frozen() Head {
	head, accounts := c.head(), maps.Clone(c.accounts)
	head.Account = func(a types.Account) (state.Account, error) { return accounts[a], nil }
	return head
}

// A member was killed, and its chain and journal have lost some or all of the unsynced data. It receives its log again
// from the beginning. Its pool ends with the same transactions as the others', in the same order.
func TestPoolFollowsItsLogAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := newLogWorld(t)
		synced := w.pool.journal.Size()
		for range rapid.IntRange(4, 30).Draw(t, "events") {
			w.grow(t, c)
		}
		last := len(w.events) - 1
		killed := rapid.IntRange(0, last).Draw(t, "killed after")
		journal := w.journals[rapid.IntRange(max(0, killed-6), killed).Draw(t, "journal of")]
		journal = journal[:len(journal)-rapid.IntRange(0, min(200, len(journal)-int(synced))).Draw(t, "cut")]
		height := w.heights[rapid.IntRange(max(0, killed-6), killed).Draw(t, "chain of")]
		journal = slices.Clone(journal)
		hole := journal[rapid.IntRange(int(synced), len(journal)).Draw(t, "hole at"):]
		clear(hole[:min(len(hole), rapid.IntRange(0, 60).Draw(t, "hole of"))])

		again := w.path + ".again"
		if err := os.WriteFile(again, journal, 0o600); err != nil {
			t.Fatal(err)
		}
		w.moment = time.Unix(1_700_000_000, 0)
		p, err := New(w.options(again), w.heads[height])
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for i := range w.events {
			w.apply(t, p, i)
			if i < killed {
				continue
			}
			if _, all := p.All(); !slices.EqualFunc(all, w.contents[i], sameTaken) {
				t.Fatalf("after event %d it holds %d, not the %d that others hold", i, len(all), len(w.contents[i]))
			}
		}
		checkInvariants(t, p)
		if a, b := best(p, testBaseFee), best(w.pool, testBaseFee); !slices.Equal(a, b) {
			t.Fatalf("a builder gets %d of them, not %d", len(a), len(b))
		}
	})
}

// The number of entries that a pool applies at a time makes no difference, even across a restart.
func TestEntriesTogetherAreThoseOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, c := newLogWorld(t)
		first := w.heads[c.height]
		for range rapid.IntRange(4, 30).Draw(t, "events") {
			w.grow(t, c)
		}
		w.moment = time.Unix(1_700_000_000, 0)
		together := w.path + ".together"
		p, err := New(w.options(together), first)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { p.Close() }()
		for next := 0; next < len(w.events); {
			var run []CommittedBatch
			for next < len(w.events) && w.events[next].block == nil {
				run = append(run, CommittedBatch{uint64(next + 1), w.events[next].moment, w.events[next].txs})
				w.moment = w.events[next].moment
				next++
			}
			results, err := p.ApplyBatches(run, func(types.TxID) *types.VerifiedTx { return nil })
			if err != nil || len(results) != len(run) {
				t.Fatalf("%d results of %d entries, error %v", len(results), len(run), err)
			}
			if next < len(w.events) {
				w.apply(t, p, next)
				next++
			}
			if _, all := p.All(); !slices.EqualFunc(all, w.contents[next-1], sameTaken) {
				t.Fatalf("after event %d it holds %d, not the %d of the other", next-1, len(all), len(w.contents[next-1]))
			}
		}
		checkInvariants(t, p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if p, err = New(w.options(together), w.heads[w.pool.Height()]); err != nil {
			t.Fatal(err)
		}
		if _, all := p.All(); !slices.EqualFunc(all, w.contents[len(w.events)-1], sameTaken) {
			t.Fatalf("after a start it holds %d, not %d", len(all), len(w.contents[len(w.events)-1]))
		}
	})
}

func sameTaken(a, b Taken) bool {
	return bytes.Equal(a.Tx.Encoded(), b.Tx.Encoded()) && a.Added.Equal(b.Added)
}

// The pool of another member becomes the same at once, whatever it held before, and stays so across a restart.
func TestRestoredPoolGoesOnAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "pool")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		c := newChain()
		w := &logWorld{
			path:   filepath.Join(dir, "live"),
			moment: time.Unix(1_700_000_000, 0),
			heads:  map[types.Height]Head{c.height: c.frozen()},
		}
		other, err := New(w.options(filepath.Join(dir, "other")), c.frozen())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { other.Close() }()
		if w.pool, err = New(w.options(w.path), c.frozen()); err != nil {
			t.Fatal(err)
		}
		defer w.pool.Close()
		known := rapid.IntRange(0, 5).Draw(t, "events that both see")
		for i := range known {
			w.grow(t, c)
			w.apply(t, other, i)
		}
		for range rapid.IntRange(1, 15).Draw(t, "events that one sees") {
			w.grow(t, c)
		}
		at, all := w.pool.All()
		if err := other.Restore(at.Index, w.heads[at.Height], all); err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "started anew") {
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			if other, err = New(w.options(filepath.Join(dir, "other")), w.heads[at.Height]); err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(0, 10).Draw(t, "events after") {
			w.grow(t, c)
			w.apply(t, other, len(w.events)-1)
		}
		_, want := w.pool.All()
		if _, got := other.All(); !slices.EqualFunc(got, want, sameTaken) {
			t.Fatalf("it holds %d, not the %d of the other", len(got), len(want))
		}
		checkInvariants(t, other)
	})
}

// A transaction leaves the pool and comes again with one entry of the log. After a start, it has its new place.
func TestLeftAndCameAgain(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t), MaxTransactions: 2, Cluster: [16]byte{7}, Clock: c.now}
	p := openPool(t, c, opts)
	for i, entry := range [][][]byte{
		{transfer(1, 0, 100, 10), transfer(1, 1, 200, 60)},
		{transfer(3, 0, 100, 20), transfer(1, 0, 150, 50), transfer(1, 1, 200, 60)}, // the first evicts 1, until 0 pays more
	} {
		var txs []*types.Tx
		for _, encoded := range entry {
			tx, err := types.DecodeTx(encoded)
			if err != nil {
				t.Fatal(err)
			}
			txs = append(txs, tx)
		}
		c.pass(time.Second)
		results, err := keepEntry(p, uint64(i+1), txs, func(types.TxID) *types.VerifiedTx { return nil })
		if err != nil || slices.ContainsFunc(results, func(r Result) bool { return r.Err != nil }) {
			t.Fatalf("entry %d: %v, error %v", i+1, results, err)
		}
	}
	_, want := p.All()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, got := openPool(t, c, opts).All(); len(want) != 2 || !slices.EqualFunc(got, want, sameTaken) {
		t.Fatalf("after a start it holds %v, not %v", got, want)
	}
}

// A start is behind the block after which the journal's transaction was pending. No block up to that one removes it,
// under whatever time, accounts and parameters. A transaction that a block removed does not come back.
func TestNothingLeavesBeforeItsBlock(t *testing.T) {
	recovery := func(c *fakeChain) map[int]state.Account {
		now := uint64(c.now().UnixMilli())
		own, policy := account(1), authorityOf(policyKey, account(1))
		return map[int]state.Account{
			1: {Balance: rich, Nonce: 1, Authority: &policy, Pending: &state.Recovery{Next: own, From: now + 1}},
		}
	}
	minimum := func(fee types.Amount) func(c *fakeChain) map[int]state.Account {
		return func(c *fakeChain) map[int]state.Account {
			c.env.Parameters.MinBaseFee = fee
			return nil
		}
	}
	type block = func(*fakeChain) map[int]state.Account
	for name, test := range map[string]struct {
		before, after []block // the entry that adds the transaction
		want          int
	}{
		"a recovery that has taken effect since": {before: []block{recovery}, want: 1},
		"parameters that had forbidden it":       {before: []block{minimum(101), minimum(8)}, want: 1},
		"parameters that forbade it":             {after: []block{minimum(101), minimum(8)}, want: 0},
	} {
		c := newChain()
		c.set(1, rich, 1)
		opts := Options{Journal: journalPath(t), Cluster: [16]byte{7}, Clock: c.now}
		first := c.frozen()
		p := openPool(t, c, opts)
		var again []func(p *Pool)
		apply := func(blocks []block) {
			for _, change := range blocks {
				accesses := c.block(change(c))
				head := c.frozen()
				reset := func(p *Pool) {
					if err := p.Reset(head, accesses); err != nil {
						t.Fatalf("%s: reset to %d: %v", name, head.Height, err)
					}
				}
				reset(p)
				again = append(again, reset)
			}
		}
		apply(test.before)
		c.pass(time.Second)
		tx, err := types.DecodeTx(transfer(1, 1, 100, 5))
		if err != nil {
			t.Fatal(err)
		}
		results, err := keepEntry(p, 1, []*types.Tx{tx}, func(types.TxID) *types.VerifiedTx { return nil })
		if err != nil || results[0].Err != nil {
			t.Fatalf("%s: entry: %v, error %v", name, results, err)
		}
		apply(test.after)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		c.pass(-time.Second)
		if p, err = New(opts, first); err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for _, reset := range again {
			reset(p)
		}
		if got := p.Stats().Count; got != test.want {
			t.Errorf("%s: after a start it holds %d, want %d", name, got, test.want)
		}
	}
}
