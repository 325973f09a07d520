package mempool

import (
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// The pool remembers why a transaction left without a block, and notifies those who wait for the transaction at once.
func TestFates(t *testing.T) {
	tests := []struct {
		name string
		want Cause
		do   func(t *testing.T, p *Pool, c *fakeChain)
	}{
		{"expired", Expired, func(t *testing.T, p *Pool, c *fakeChain) {
			c.pass(4 * time.Hour)
			reset(t, p, c, nil)
		}},
		{"without room", NoRoom, func(t *testing.T, p *Pool, _ *fakeChain) {
			fill(t, p, 2, 10) // of those with the lowest tip, the later one is evicted
			add(t, p, transfer(20, 0, 100, 5))
		}},
		{"replaced", Replaced, func(t *testing.T, p *Pool, _ *fakeChain) { add(t, p, transfer(1, 0, 200, 10)) }},
		{"replaced by what expired", Expired, func(t *testing.T, p *Pool, c *fakeChain) {
			add(t, p, transfer(1, 0, 200, 10))
			c.pass(4 * time.Hour)
			reset(t, p, c, nil)
		}},
		{"not allowed any more", NotAllowed, func(t *testing.T, p *Pool, c *fakeChain) {
			c.env.Parameters.MinBaseFee = 150
			reset(t, p, c, nil)
			finishRevalidation(p)
		}},
		{"no block could be made with it", Unbuilt, func(t *testing.T, p *Pool, _ *fakeChain) {
			if err := p.Drop(sentFirst(t)); err != nil {
				t.Fatal(err)
			}
		}},
		{"taken back", TakenBack, func(t *testing.T, p *Pool, _ *fakeChain) {
			if err := p.Forget(0); err != nil {
				t.Fatal(err)
			}
		}},
		{"in a block", "", func(t *testing.T, p *Pool, c *fakeChain) {
			reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 1}})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newChain()
			p := openPool(t, c, Options{MaxTransactions: 10})
			id := add(t, p, transfer(1, 0, 100, 1))
			left := p.Left(id)
			if fate, ok := p.Fate(id); ok {
				t.Fatalf("got %v of a pending transaction", fate)
			}
			test.do(t, p, c)
			select {
			case <-left:
			default:
				t.Error("who waits for it was not told")
			}
			if fate, ok := p.Fate(id); fate.Cause != test.want || ok != (test.want != "") {
				t.Errorf("got %v %v, want %q", fate, ok, test.want)
			}
			if p.Left(id) != nil {
				t.Error("it leaves a second time")
			}
		})
	}
}

// sentFirst is the ID of the transaction that each test begins with.
func sentFirst(t *testing.T) types.TxID {
	t.Helper()
	tx, err := types.DecodeTx(transfer(1, 0, 100, 1))
	if err != nil {
		t.Fatal(err)
	}
	return tx.ID()
}

// finishRevalidation revalidates all senders.
func finishRevalidation(p *Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.revalidateSome() {
	}
}

// A transaction that is added again is pending, and has no fate.
func TestFateEndsWithTheNextArrival(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	id := add(t, p, transfer(1, 0, 100, 1))
	if err := p.Drop(id); err != nil {
		t.Fatal(err)
	}
	add(t, p, transfer(1, 0, 100, 1))
	if fate, ok := p.Fate(id); ok {
		t.Errorf("got %v, want none", fate)
	}
}

// A transaction that expired while the node was down has the fate of an expired one.
func TestFateOfWhatExpiredInTheJournal(t *testing.T) {
	c := newChain()
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	id := add(t, p, transfer(1, 0, 100, 1))
	c.pass(4 * time.Hour)
	if fate, _ := openCopy(t, c, opts.Journal, Options{}).Fate(id); fate.Cause != Expired {
		t.Errorf("got %v, want %s", fate, Expired)
	}
}

func TestFatesAreBounded(t *testing.T) {
	var f fates
	id := func(i int) types.TxID { return types.TxID{byte(i), byte(i >> 8), byte(i >> 16)} }
	for i := range maxFates + 5 {
		f.put(id(i), Fate{Cause: Expired})
		f.put(id(i), Fate{Cause: NoRoom})
	}
	if len(f.of) != maxFates || len(f.order) != maxFates {
		t.Errorf("got %d fates in a ring of %d, want %d", len(f.of), len(f.order), maxFates)
	}
	if _, old := f.of[id(4)]; old {
		t.Error("the oldest is still there")
	}
	if f.of[id(5)].Cause != NoRoom {
		t.Errorf("got %v, want %s", f.of[id(5)], NoRoom)
	}
}
