package mempool

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// addRun adds n transactions of the i-th account from a nonce on and returns their IDs.
func addRun(t *testing.T, p *Pool, i int, nonce uint64, n int) []types.TxID {
	t.Helper()
	var ids []types.TxID
	for k := range uint64(n) {
		ids = append(ids, add(t, p, transfer(i, nonce+k, 100, 5)))
	}
	return ids
}

func TestResetDropsIncluded(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	one, two := addRun(t, p, 1, 0, 5), addRun(t, p, 2, 0, 2)
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 3}})
	if got := best(p, testBaseFee); !slices.Equal(got, append(one[3:], two...)) {
		t.Fatalf("got %v", got)
	}
	if s := p.Stats(); s.Count != 4 || s.Gas != 4*testGas || s.Held != 0 {
		t.Fatalf("got %+v", s)
	}
	refuse(t, p, transfer(1, 2, 1000, 500), exec.ErrNonceTooLow)
	if got := nextNonce(t, p, 1); got != 5 {
		t.Fatalf("next nonce is %d", got)
	}
}

// TestResetOfSeveralBlocks has an account in two of three blocks: the record in the later one counts.
func TestResetOfSeveralBlocks(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	one, two := addRun(t, p, 1, 0, 5), addRun(t, p, 2, 0, 2)
	nonce := func(i int, nonce uint64) types.Access {
		return types.Access{Key: state.AccountKey(account(i)), New: state.Account{Balance: rich, Nonce: nonce}.Encode(account(i))}
	}
	c.height += 3
	if err := p.Reset(
		c.head(), []types.Access{nonce(1, 1)}, []types.Access{nonce(2, 1)}, []types.Access{nonce(1, 3)},
	); err != nil {
		t.Fatal(err)
	}
	if got := best(p, testBaseFee); !slices.Equal(got, append(one[3:], two[1])) {
		t.Fatalf("got %v", got)
	}
}

// TestResetJoinsHeld includes a transaction that the pool never had and that fills a gap.
func TestResetJoinsHeld(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	id := add(t, p, transfer(1, 1, 100, 5))
	reset(t, p, c, nil)
	if signalled(p) {
		t.Fatal("signalled without anything executable")
	}
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 1}})
	if got := best(p, testBaseFee); !slices.Equal(got, []types.TxID{id}) {
		t.Fatalf("got %v", got)
	}
	if !signalled(p) {
		t.Fatal("not signalled")
	}
}

func TestResetDemotesWhatIsNotPayable(t *testing.T) {
	cost := types.Amount(testGas*100 + 1)
	c := newChain()
	c.set(1, 5*cost, 0)
	p := openPool(t, c, Options{})
	ids := addRun(t, p, 1, 0, 5)
	reset(t, p, c, map[int]state.Account{1: {Balance: 3*cost - 1}})
	if got := best(p, testBaseFee); !slices.Equal(got, ids[:2]) {
		t.Fatalf("got %v", got)
	}
	if s := p.Stats(); s.Held != 3 {
		t.Fatalf("got %+v", s)
	}
	reset(t, p, c, map[int]state.Account{1: {Balance: 5 * cost}})
	if got := best(p, testBaseFee); !slices.Equal(got, ids) {
		t.Fatalf("got %v", got)
	}
}

// TestResetCapsHeld makes more transactions held than are allowed: the highest nonces are dropped, and then the pool's
// share for held ones applies.
func TestResetCapsHeld(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 300, HeldPerSender: 20})
	ids := addRun(t, p, 1, 0, 40)
	addRun(t, p, 2, 0, 15)
	reset(t, p, c, map[int]state.Account{1: {Balance: 1}})
	if got := p.Stats(); got.Held != 20 || got.Count != 20+15 {
		t.Fatalf("got %+v", got)
	}
	if _, ok := p.Get(ids[19]); !ok {
		t.Fatal("a low nonce is gone")
	}
	reset(t, p, c, map[int]state.Account{2: {Balance: 1}})
	if got := p.Stats(); got.Held != 30 || got.Count != 30 {
		t.Fatalf("got %+v", got)
	}
}

func TestResetWithOtherParameters(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	add(t, p, transfer(1, 0, 30, 5))
	kept := add(t, p, transfer(1, 1, 100, 5))
	add(t, p, transfer(1, 2, 30, 5))
	c.env.Parameters.MinBaseFee, c.env.BaseFee = 31, 31
	// The first one is included in the block that changes the parameters: it leaves no gap.
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 1}})
	if got := best(p, 31); !slices.Equal(got, []types.TxID{kept}) {
		t.Fatalf("got %v", got)
	}
	if n := p.Stats().Count; n != 1 {
		t.Fatalf("%d transactions", n)
	}
	refuse(t, p, transfer(1, 2, 30, 5), exec.ErrFeeTooLow)
}

func TestResetRefusesOtherBlocks(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	add(t, p, transfer(1, 0, 100, 5))
	if err := p.Reset(c.head(), nil); !errors.Is(err, ErrNotNext) {
		t.Fatalf("same height: %v", err)
	}
	c.height += 2
	if err := p.Reset(c.head(), nil); !errors.Is(err, ErrNotNext) {
		t.Fatalf("a height left out: %v", err)
	}
	if err := p.Reset(c.head(), nil, nil, nil); !errors.Is(err, ErrNotNext) {
		t.Fatalf("a block too many: %v", err)
	}
	c.height--
	bad := types.Access{Key: state.AccountKey(account(1)), New: []byte{1, 2, 3}}
	if err := p.Reset(c.head(), []types.Access{bad}); err == nil {
		t.Fatal("a record that does not decode was taken")
	}
	if n := p.Stats().Count; n != 1 {
		t.Fatalf("%d transactions", n)
	}
	checkInvariants(t, p)
}

func TestReloadAfterRewind(t *testing.T) {
	c := newChain()
	c.set(1, rich, 5)
	p := openPool(t, c, Options{})
	addRun(t, p, 1, 5, 3)
	addRun(t, p, 2, 0, 2)
	c.set(1, rich, 3)
	c.height = 2
	if err := p.Reload(c.head()); err != nil {
		t.Fatal(err)
	}
	checkInvariants(t, p)
	if s := p.Stats(); s.Count != 5 || s.Held != 3 || nextNonce(t, p, 1) != 3 {
		t.Fatalf("got %+v", s)
	}
	addRun(t, p, 1, 3, 2)
	if s := p.Stats(); s.Held != 0 || nextNonce(t, p, 1) != 8 {
		t.Fatalf("got %+v", s)
	}
	c.readErr = errors.New("disk")
	if err := p.Reload(c.head()); !errors.Is(err, c.readErr) {
		t.Fatalf("got %v", err)
	}
}

func TestExpiry(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{Expiry: time.Hour})
	addRun(t, p, 1, 0, 3)
	c.pass(time.Minute)
	kept := addRun(t, p, 1, 3, 2)
	c.pass(time.Hour - time.Minute - 1)
	reset(t, p, c, nil)
	if s := p.Stats(); s.Count != 5 || s.Oldest != time.Hour-1 {
		t.Fatalf("got %+v", s)
	}
	c.pass(1)
	reset(t, p, c, nil)
	if s := p.Stats(); s.Count != 2 || s.Held != 2 {
		t.Fatalf("got %+v", s)
	}
	addRun(t, p, 1, 0, 3)
	if got := best(p, testBaseFee); !slices.Equal(got[3:], kept) {
		t.Fatalf("got %v", got)
	}
}

func TestBestOrder(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	a0 := add(t, p, transfer(1, 0, 100, 5))
	a1 := add(t, p, transfer(1, 1, 100, 50))
	b0 := add(t, p, transfer(2, 0, 100, 10))
	c0 := add(t, p, transfer(3, 0, 22, 22)) // tip 2 at base fee 20
	d0 := add(t, p, transfer(4, 0, 100, 10))
	d1 := add(t, p, transfer(4, 1, 19, 1)) // cannot pay a base fee of 20
	d2 := add(t, p, transfer(4, 2, 100, 90))
	e0 := add(t, p, transfer(5, 0, 20, 0))
	add(t, p, transfer(6, 1, 100, 90)) // held
	for _, test := range []struct {
		baseFee types.Amount
		want    []types.TxID
	}{
		{20, []types.TxID{b0, d0, a0, a1, c0, e0}},
		// The tips: a0 5, a1 50, b0 10, c0 12, d0 10, d1 1, d2 90, e0 0.
		{10, []types.TxID{c0, b0, d0, a0, a1, d1, d2, e0}},
		{95, []types.TxID{a0, a1, b0, d0}},
		{101, nil},
	} {
		if got := best(p, test.baseFee); !slices.Equal(got, test.want) {
			t.Errorf("base fee %d: got %v, want %v", test.baseFee, got, test.want)
		}
	}
}

func TestBestSkipSender(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	a := addRun(t, p, 1, 0, 3)
	b := addRun(t, p, 2, 0, 2)
	iterator := p.Best(testBaseFee)
	iterator.SkipSender() // no effect: Next returned nothing yet
	for i, want := range []types.TxID{a[0], a[1], b[0]} {
		if got := iterator.Next(); got.ID() != want {
			t.Fatalf("transaction %d is %v", i, got.ID())
		}
		if i == 1 {
			iterator.SkipSender()
			iterator.SkipSender()
		}
	}
	if got := iterator.Next(); got.ID() != b[1] {
		t.Fatal("the other sender's second is missing")
	}
	for range 2 {
		if iterator.Next() != nil {
			t.Fatal("the end is not the end")
		}
	}
}

// TestBestIsASnapshot changes the pool in every way while a builder iterates over it.
func TestBestIsASnapshot(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{MaxTransactions: 20})
	ids := addRun(t, p, 1, 0, 5)
	all := func(b *Best) (got []types.TxID) {
		for tx := b.Next(); tx != nil; tx = b.Next() {
			got = append(got, tx.ID())
		}
		return got
	}
	before := []*Best{p.Best(testBaseFee), p.Best(testBaseFee), p.Best(testBaseFee), p.Best(testBaseFee)}
	check := func(what string) {
		t.Helper()
		if got := all(before[0]); !slices.Equal(got, ids) {
			t.Fatalf("after %s: got %v, want %v", what, got, ids)
		}
		before = before[1:]
	}
	add(t, p, transfer(1, 2, 110, 6))
	check("replacing")
	addRun(t, p, 1, 5, 3)
	check("appending")
	reset(t, p, c, map[int]state.Account{1: {Balance: testGas*110 + 1, Nonce: 2}})
	addRun(t, p, 2, 0, 2)
	check("cutting at both ends")
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 2}})
	add(t, p, transfer(1, 3, 150, 10))
	check("growing again")

	ids = addRun(t, p, 3, 0, 5)
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 8}, 2: {Balance: rich, Nonce: 2}})
	before = []*Best{p.Best(testBaseFee)}
	reset(t, p, c, map[int]state.Account{3: {Balance: 3 * (testGas*100 + 1)}})
	smaller := draft(3, 3, 110, 6)
	smaller.GasLimit = 21_000
	reset(t, p, c, map[int]state.Account{3: {Balance: 3*(testGas*100+1) + 21_000*110 + 1}})
	add(t, p, sign(3, smaller))
	check("cutting and appending another")
}

func TestPendingLists(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	first := add(t, p, transfer(1, 1, 100, 5))
	c.pass(time.Second)
	second := add(t, p, transfer(2, 0, 100, 5))
	third := add(t, p, transfer(1, 0, 100, 5))
	fourth := add(t, p, transfer(1, 9, 100, 5))
	list := func(pending []Pending) (ids []types.TxID) {
		for _, e := range pending {
			ids = append(ids, e.Tx.ID())
		}
		return ids
	}
	if got := list(p.Pending(10)); !slices.Equal(got, []types.TxID{fourth, third, second, first}) {
		t.Fatalf("got %v", got)
	}
	if got := p.Pending(2); len(got) != 2 || got[0].Executable || !got[1].Executable || !got[0].Added.Equal(c.now()) {
		t.Fatalf("got %+v", got)
	}
	if got := list(p.BySender(account(1))); !slices.Equal(got, []types.TxID{third, first, fourth}) {
		t.Fatalf("got %v", got)
	}
	if len(p.Pending(0)) != 0 || len(p.Pending(-1)) != 0 || len(p.BySender(account(9))) != 0 {
		t.Fatal("lists that are to be empty are not")
	}
}

// A builder's preferred transaction comes first, and its sender's next one at its usual turn. A preference for a
// transaction that is absent or cannot come first changes nothing.
func TestBestPrefers(t *testing.T) {
	p := openPool(t, newChain(), Options{})
	a := addRun(t, p, 1, 0, 2)
	b := addRun(t, p, 2, 0, 2)
	tx := func(id types.TxID) *types.VerifiedTx {
		got, ok := p.Get(id)
		if !ok {
			t.Fatalf("%v is not pending", id)
		}
		return got
	}
	usual := best(p, testBaseFee)
	if !slices.Equal(usual, []types.TxID{a[0], a[1], b[0], b[1]}) {
		t.Fatalf("the usual order is %v", usual)
	}
	for name, test := range map[string]struct {
		preferred []*types.VerifiedTx
		want      []types.TxID
	}{
		"another sender's":     {[]*types.VerifiedTx{tx(b[0])}, []types.TxID{b[0], a[0], a[1], b[1]}},
		"what is first anyway": {[]*types.VerifiedTx{tx(a[0])}, usual},
		"what is not first":    {[]*types.VerifiedTx{tx(b[1])}, usual},
		"several":              {[]*types.VerifiedTx{nil, tx(b[0]), tx(a[0])}, []types.TxID{b[0], a[0], a[1], b[1]}},
		"nothing":              {[]*types.VerifiedTx{nil}, usual},
	} {
		iterator := p.Best(testBaseFee)
		iterator.Prefer(test.preferred...)
		for i, want := range test.want {
			if got := iterator.Next(); got.ID() != want {
				t.Errorf("%s: transaction %d is %v", name, i, got.ID())
			}
		}
		if iterator.Next() != nil {
			t.Errorf("%s: there is more", name)
		}
	}
	iterator := p.Best(testBaseFee)
	iterator.Prefer(tx(b[0]))
	iterator.Next()
	iterator.SkipSender()
	if got := iterator.Next(); got.ID() != a[0] {
		t.Errorf("after a sender that was skipped comes %v", got.ID())
	}
}

// A dropped transaction is gone, wherever it was in its sender's run, and the later ones are held until another has its
// nonce.
func TestDrop(t *testing.T) {
	for at := range 4 {
		p := openPool(t, newChain(), Options{})
		ids := addRun(t, p, 1, 0, 3)
		ids = append(ids, addRun(t, p, 1, 4, 1)...) // held from the start
		p.Drop(ids[at])
		p.Drop(ids[at])
		checkInvariants(t, p)
		if _, pending := p.Get(ids[at]); pending {
			t.Errorf("transaction %d is pending", at)
		}
		if got := best(p, testBaseFee); !slices.Equal(got, ids[:min(at, 3)]) {
			t.Errorf("without transaction %d: %v are executable", at, got)
		}
		if n := p.Stats().Count; n != 3 {
			t.Errorf("without transaction %d: %d are pending", at, n)
		}
		if at == 3 {
			continue
		}
		addRun(t, p, 1, uint64(at), 1)
		checkInvariants(t, p)
		if got := best(p, testBaseFee); len(got) != 3 {
			t.Errorf("with another transaction %d: %v are executable", at, got)
		}
	}
}
