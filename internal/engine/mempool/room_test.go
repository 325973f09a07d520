package mempool

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// fill adds n executable transactions of the accounts from, from+1, … with tips 1, 2, …, and returns their IDs.
func fill(t *testing.T, p *Pool, from, n int) []types.TxID {
	t.Helper()
	var ids []types.TxID
	for i := range n {
		ids = append(ids, add(t, p, transfer(from+i, 0, 100, types.Amount(i+1))))
	}
	return ids
}

func TestFullEvictsLowestTip(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	ids := fill(t, p, 1, 10)
	refuse(t, p, transfer(20, 0, 100, 1), ErrFull)
	add(t, p, transfer(20, 0, 100, 2))
	checkInvariants(t, p)
	if _, ok := p.Get(ids[0]); ok {
		t.Fatal("the lowest tip is still there")
	}
	if n := p.Stats().Count; n != 10 {
		t.Fatalf("%d transactions", n)
	}
	// Two with tip 2 now: the later arrival goes first.
	add(t, p, transfer(21, 0, 100, 3))
	if _, ok := p.Get(ids[1]); !ok {
		t.Fatal("the earlier arrival went first")
	}
}

func TestFullCountsTipAtBaseFee(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	ids := fill(t, p, 1, 10)
	// Its priority fee is high, but its max fee leaves a tip of 1 over the base fee.
	refuse(t, p, transfer(20, 0, testBaseFee+1, 15), ErrFull)
	add(t, p, transfer(20, 0, testBaseFee+2, 15))
	if _, ok := p.Get(ids[0]); ok {
		t.Fatal("the lowest tip is still there")
	}
}

func TestReplacementNeedsNoRoom(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	fill(t, p, 1, 10)
	add(t, p, transfer(1, 0, 110, 2))
	if n := p.Stats().Count; n != 10 {
		t.Fatalf("%d transactions", n)
	}
	checkInvariants(t, p)
}

// TestFullEvictsLastOfRun has a run whose first transaction pays little: its last goes, however much it pays.
func TestFullEvictsLastOfRun(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	first := add(t, p, transfer(1, 0, 100, 0))
	last := add(t, p, transfer(1, 1, 100, 80))
	fill(t, p, 2, 8)
	// A continuation of a poor run is as poor.
	refuse(t, p, transfer(1, 2, 100, 80), ErrFull)
	checkInvariants(t, p)
	add(t, p, transfer(20, 0, 100, 5))
	if _, ok := p.Get(first); !ok {
		t.Fatal("the first of the run is gone")
	}
	if _, ok := p.Get(last); ok {
		t.Fatal("the last of the run is still there")
	}
	checkInvariants(t, p)
}

func TestFullEvictsHeldFirst(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 20})
	fill(t, p, 1, 18)
	poor := add(t, p, transfer(30, 1, 100, 60))
	better := add(t, p, transfer(31, 1, 100, 70))
	refuse(t, p, transfer(32, 1, 100, 60), ErrFull)
	add(t, p, transfer(33, 0, 20, 0)) // executable, and pays least of all
	if _, ok := p.Get(poor); ok {
		t.Fatal("the poorer held transaction is still there")
	}
	// What is held makes no room by evicting what is executable, nor what is held and pays as much.
	refuse(t, p, transfer(32, 1, 100, 70), ErrFull)
	add(t, p, transfer(32, 1, 100, 71))
	if _, ok := p.Get(better); ok {
		t.Fatal("the held transaction that was outbid is still there")
	}
	checkInvariants(t, p)
}

func TestHeldShare(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 20})
	poor := add(t, p, transfer(1, 1, 100, 5))
	add(t, p, transfer(2, 1, 100, 6))
	refuse(t, p, transfer(3, 1, 100, 5), ErrFull)
	add(t, p, transfer(3, 1, 100, 7))
	if _, ok := p.Get(poor); ok {
		t.Fatal("the poorest is still held")
	}
	add(t, p, transfer(4, 0, 100, 1)) // there is room for what is executable
	checkInvariants(t, p)
}

// TestRoomIsMadeWholeOrNotAtAll offers a large transaction that outbids only some of what would have to go.
func TestRoomIsMadeWholeOrNotAtAll(t *testing.T) {
	size := len(transfer(1, 0, 100, 1))
	p := openPool(t, newChain(), Options{MaxBytes: 10 * size})
	fill(t, p, 1, 10)
	large := func(priority types.Amount) []byte {
		tx := draft(20, 0, 100, priority)
		tx.GasLimit = 1_000_000
		tx.Payload = types.Call{Function: "f", Args: make([]byte, 3*size-17)} // four times as long as a transfer
		return sign(20, tx)
	}
	refuse(t, p, large(3), ErrFull)
	if n := p.Stats().Count; n != 10 {
		t.Fatalf("a refused transaction left %d", n)
	}
	checkInvariants(t, p)
	add(t, p, large(5))
	if n := p.Stats().Count; n != 10-4+1 {
		t.Fatalf("%d transactions", n)
	}
	checkInvariants(t, p)
}

// TestOwnTransactionsAreNotEvicted replaces a transaction by a longer one when only its own sender's pay less.
func TestOwnTransactionsAreNotEvicted(t *testing.T) {
	size := len(transfer(1, 0, 100, 1))
	p := openPool(t, newChain(), Options{MaxBytes: 3 * size})
	for n := range uint64(3) {
		add(t, p, transfer(1, n, 100, 1))
	}
	longer := draft(1, 0, 200, 50)
	longer.GasLimit, longer.Payload = 1_000_000, types.Call{Function: "f", Args: make([]byte, size)}
	refuse(t, p, sign(1, longer), ErrFull)
	if n := p.Stats().Count; n != 3 {
		t.Fatalf("%d transactions", n)
	}
	checkInvariants(t, p)
}

func TestBackPressure(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 20})
	fill(t, p, 1, 17)
	if p.Stats().BackPressure {
		t.Fatal("on at 85 %")
	}
	add(t, p, transfer(40, 0, testBaseFee-1, 0)) // under the base fee, taken while there is no pressure
	if !p.Stats().BackPressure {
		t.Fatal("off at 90 %")
	}
	refuse(t, p, transfer(41, 0, testBaseFee-1, 0), ErrFull)
	add(t, p, transfer(41, 0, testBaseFee, 0))
	add(t, p, transfer(40, 0, testBaseFee+1, 1)) // a replacement
	include := func(from, n int) {
		t.Helper()
		records := make(map[int]state.Account)
		for i := range n {
			records[from+i] = state.Account{Balance: rich, Nonce: 1}
		}
		reset(t, p, c, records)
	}
	include(1, 4)
	if !p.Stats().BackPressure {
		t.Fatalf("off at 75 %%: %+v", p.Stats())
	}
	include(5, 1)
	if p.Stats().BackPressure {
		t.Fatal("on under 75 %")
	}
}

func TestRetryAfterIsTheBlockInterval(t *testing.T) {
	for _, test := range []struct{ interval, want time.Duration }{
		{0, time.Second}, {10 * time.Second, 10 * time.Second}, {time.Hour, time.Minute},
	} {
		c := newChain()
		p := openPool(t, c, Options{MaxTransactions: 10})
		reset(t, p, c, nil)
		c.pass(test.interval)
		reset(t, p, c, nil)
		fill(t, p, 1, 10)
		_, err := p.Add(t.Context(), transfer(20, 0, 100, 1), "test")
		var full *FullError
		if !errors.As(err, &full) || full.RetryAfter != test.want {
			t.Errorf("interval %v: got %v", test.interval, err)
		}
	}
}

// TestEvictionOrderFollowsBaseFee makes a transaction the first to go by raising the base fee.
func TestEvictionOrderFollowsBaseFee(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 10})
	capped := add(t, p, transfer(1, 0, 30, 10)) // tip 10 at base fee 20, 0 at 30, none at 31
	for i := range 9 {
		add(t, p, transfer(2+i, 0, 1000, 5))
	}
	c.env.BaseFee = 26
	reset(t, p, c, nil)
	ids := best(p, c.env.BaseFee)
	if ids[len(ids)-1] != capped {
		t.Fatal("the capped transaction is not the last")
	}
	add(t, p, transfer(20, 0, 1000, 5))
	if _, ok := p.Get(capped); ok {
		t.Fatal("the capped transaction is still there")
	}
	if slices.Contains(best(p, c.env.BaseFee), capped) {
		t.Fatal("a builder still gets it")
	}
	checkInvariants(t, p)
}

// The first of a batch pushes out all that the sender of the second has, who is then not in the pool any more.
func TestBatchPushesOutItsOwnSender(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 2})
	add(t, p, transfer(1, 0, 100, 1))
	add(t, p, transfer(2, 0, 100, 9))
	results := p.AddMany(t.Context(), [][]byte{transfer(3, 0, 100, 8), transfer(1, 0, 110, 10)}, "test")
	if results[0].Err != nil || results[1].Err != nil {
		t.Errorf("got %v and %v", results[0].Err, results[1].Err)
	}
	if _, pending := p.Get(results[1].Tx.ID()); !pending {
		t.Error("what pays most is not pending")
	}
	checkInvariants(t, p)
}
