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
	// Two now have tip 2: the one that arrived later is evicted first.
	add(t, p, transfer(21, 0, 100, 3))
	if _, ok := p.Get(ids[1]); !ok {
		t.Fatal("the earlier arrival went first")
	}
}

func TestFullCountsTipAtBaseFee(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	ids := fill(t, p, 1, 10)
	// Its priority fee is high, but its max fee leaves a tip of only 1 over the base fee.
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

// TestFullEvictsLastOfRun has a run whose first transaction pays little: its last one is evicted, however much it pays.
func TestFullEvictsLastOfRun(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	first := add(t, p, transfer(1, 0, 100, 0))
	last := add(t, p, transfer(1, 1, 100, 80))
	fill(t, p, 2, 8)
	// A transaction that continues a poor run counts as equally poor.
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
	first := add(t, p, transfer(30, 1, 100, 60))
	later := add(t, p, transfer(31, 1, 100, 70))
	add(t, p, transfer(33, 0, 20, 0)) // executable, and pays the least of all
	if _, ok := p.Get(later); ok {
		t.Fatal("the later held transaction is still there")
	}
	// A held transaction evicts no executable ones, and no held ones of a sender with as few.
	refuse(t, p, transfer(32, 1, 100, 90), ErrFull)
	if _, ok := p.Get(first); !ok {
		t.Fatal("the earlier held transaction is gone")
	}
	checkInvariants(t, p)
}

// heldBy returns the number of an account's held transactions.
func heldBy(p *Pool, i int) (n int) {
	for _, pending := range p.BySender(account(i)) {
		if !pending.Executable {
			n++
		}
	}
	return n
}

// TestHeldShareGoesRoundBySender fills the share for held transactions with one sender's at the highest tip. Another
// sender gets half of the share at the lowest tip, and a third sender a third.
func TestHeldShareGoesRoundBySender(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 120})
	for nonce := range uint64(12) {
		add(t, p, transfer(1, nonce+1, 1000, 900))
	}
	for nonce := range uint64(6) {
		add(t, p, transfer(2, nonce+1, 30, 0))
	}
	refuse(t, p, transfer(2, 7, 30, 0), ErrFull)
	refuse(t, p, transfer(1, 7, 1000, 900), ErrFull)
	for nonce := range uint64(4) {
		add(t, p, transfer(3, nonce+1, 30, 0))
	}
	for i := 1; i <= 3; i++ {
		if n := heldBy(p, i); n != 4 {
			t.Errorf("sender %d holds %d, want 4", i, n)
		}
	}
	add(t, p, transfer(4, 0, 100, 1)) // there is room for executable transactions
	checkInvariants(t, p)
}

// sendBackwards lets a wallet send nonces in descending order, all of which must be accepted.
func sendBackwards(t *testing.T, p *Pool, i, n int) {
	t.Helper()
	for nonce := n - 1; nonce >= 0; nonce-- {
		if _, err := p.Add(t.Context(), transfer(i, uint64(nonce), 30, 1), "wallet"); err != nil {
			t.Errorf("nonce %d: got error %v, want none", nonce, err)
		}
	}
	if next := nextNonce(t, p, i); next != uint64(n) {
		t.Errorf("the next nonce is %d, want %d", next, n)
	}
	checkInvariants(t, p)
}

// TestGapsKeepNobodyOut fills the held share with transactions at a high tip that never become executable.
func TestGapsKeepNobodyOut(t *testing.T) {
	for name, senders := range map[string]int{"of few senders": 4, "of many senders": 50} {
		t.Run(name, func(t *testing.T) {
			p := openPool(t, newChain(), Options{MaxTransactions: 2000})
			for i := range 200 {
				add(t, p, transfer(1+i%senders, uint64(1+i/senders), 1000, 900))
			}
			if held := p.Stats().Held; held != 200 {
				t.Fatalf("%d are held, want 200", held)
			}
			sendBackwards(t, p, 60, 4)
		})
	}
	// Each from another sender: for ten seconds the share is full of transactions that have just arrived.
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 500})
	for i := range 50 {
		add(t, p, transfer(1+i, 1, 1000, 900))
	}
	refuse(t, p, transfer(60, 15, 30, 1), ErrFull)
	c.pass(gapTime)
	refuse(t, p, transfer(1, 2, 1000, 900), ErrFull) // its own gap is too old
	sendBackwards(t, p, 60, 16)
}

// TestUnderBaseFeeGoesRoundBySender fills the pool until it is nearly full with transactions under the base fee.
func TestUnderBaseFeeGoesRoundBySender(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 100})
	for i := range 90 {
		add(t, p, transfer(1+i%3, uint64(i/3), testBaseFee-1, 0))
	}
	refuse(t, p, transfer(1, 30, testBaseFee-1, 0), ErrFull)
	for nonce := range uint64(10) {
		add(t, p, transfer(10, nonce, testBaseFee-2, 0))
	}
	if s := p.Stats(); s.Count != 90 || s.Held != 0 {
		t.Fatalf("%d are pending and %d held, want 90 and none", s.Count, s.Held)
	}
	fill(t, p, 20, 30) // transactions that pay displace those of the sender that has the most
	for i, want := range map[int]int{1: 20, 2: 20, 3: 20, 10: 10} {
		if n := len(p.BySender(account(i))); n != want {
			t.Errorf("sender %d has %d, want %d", i, n, want)
		}
	}
	sendBackwards(t, p, 55, 8)
	checkInvariants(t, p)
}

// TestNothingDisplacesWhatPays offers transactions that cannot be included now to a full pool.
func TestNothingDisplacesWhatPays(t *testing.T) {
	p := openPool(t, newChain(), Options{MaxTransactions: 10})
	ids := fill(t, p, 1, 10)
	refuse(t, p, transfer(20, 1, 1000, 900), ErrFull)        // held
	refuse(t, p, transfer(20, 0, testBaseFee-1, 0), ErrFull) // below the base fee
	refuse(t, p, transfer(1, 1, testBaseFee-1, 0), ErrFull)  // likewise, after one that pays
	refuse(t, p, transfer(20, 0, testBaseFee, 0), ErrFull)   // pays less
	add(t, p, transfer(1, 0, 110, 2))                        // a replacement
	for _, id := range ids[1:] {
		if _, ok := p.Get(id); !ok {
			t.Errorf("%v is gone", id)
		}
	}
	want := map[Class]ClassStats{
		ClassHeld:         {Class: ClassHeld, Refused: 1, Refusing: true},
		ClassUnderBaseFee: {Class: ClassUnderBaseFee, Refused: 2, Refusing: true},
		ClassExecutable:   {Class: ClassExecutable, Refused: 1, Refusing: true},
		ClassSponsored:    {Class: ClassSponsored},
		ClassSignatures:   {Class: ClassSignatures},
		ClassSuspects:     {Class: ClassSuspects},
	}
	for _, got := range p.Stats().Classes {
		if got != want[got.Class] {
			t.Errorf("got %+v, want %+v", got, want[got.Class])
		}
	}
}

// TestRoomStatistics counts evicted transactions, and checks that a class stops refusing after a minute.
func TestRoomStatistics(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 10})
	room := func(class Class) ClassStats {
		for _, s := range p.Stats().Classes {
			if s.Class == class {
				return s
			}
		}
		t.Fatalf("there are no statistics of %s", class)
		return ClassStats{}
	}
	add(t, p, transfer(1, 1, 100, 5))
	refuse(t, p, transfer(2, 1, 100, 5), ErrFull)
	if s := room(ClassHeld); !s.Refusing || s.Refused != 1 || s.Displaced != 0 {
		t.Errorf("got %+v, want one refused", s)
	}
	c.pass(refusingTime)
	if s := room(ClassHeld); s.Refusing || s.Refused != 1 {
		t.Errorf("after a minute: got %+v, want none that is being refused", s)
	}
	add(t, p, transfer(2, 1, 100, 5)) // the other one's gap is too old
	if s := room(ClassHeld); s.Displaced != 1 {
		t.Errorf("got %+v, want one displaced", s)
	}
	fill(t, p, 10, 10)
	if s := room(ClassHeld); s.Displaced != 2 {
		t.Errorf("got %+v, want two displaced", s)
	}
	add(t, p, transfer(30, 0, 100, 2))
	refuse(t, p, transfer(40, 0, 100, 2), ErrFull)
	if s := room(ClassExecutable); s.Displaced != 1 || s.Refused != 1 {
		t.Errorf("got %+v, want one displaced and one refused", s)
	}
}

// TestRoomIsMadeWholeOrNotAtAll offers a large transaction that outbids only some of those that it would displace.
func TestRoomIsMadeWholeOrNotAtAll(t *testing.T) {
	size := len(transfer(1, 0, 100, 1))
	p := openPool(t, newChain(), Options{MaxBytes: 10 * size})
	fill(t, p, 1, 10)
	large := func(priority types.Amount) []byte {
		tx := draft(20, 0, 100, priority)
		tx.GasLimit = 1_000_000
		tx.Payload = types.Call{Function: "f", Args: make([]byte, 3*size-17)} // four times the size of a transfer
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

// TestOwnTransactionsAreNotEvicted replaces a transaction by a longer one when the only ones that pay less are its own
// sender's.
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
	add(t, p, transfer(40, 0, testBaseFee-1, 0)) // under the base fee, accepted before the pool was nearly full
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

// TestEvictionOrderFollowsBaseFee raises the base fee, after which another transaction is the first to be evicted.
func TestEvictionOrderFollowsBaseFee(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 10})
	capped := add(t, p, transfer(1, 0, 30, 10)) // tip 10 at base fee 20, 0 at 30; not included at 31
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

// The first transaction of a batch evicts all of the second one's sender, who is then no longer in the pool.
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
