package mempool

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// feeCap is the amount that a transfer with a max fee of 100 reserves of its payer's balance.
const feeCap = types.Amount(testGas * 100)

// sponsored is a transfer of nothing by the i-th key for which the payer-th pays.
func sponsored(i, payer int, nonce uint64) []byte {
	return sponsor(i, payer, withValue(draft(i, nonce, 100, 5), 0))
}

func expectFate(t *testing.T, p *Pool, id types.TxID, want Cause) {
	t.Helper()
	if fate, _ := p.Fate(id); fate.Cause != want {
		t.Errorf("the fate of %v is %q, want %q", id, fate.Cause, want)
	}
	if _, pending := p.Get(id); pending {
		t.Errorf("%v is pending", id)
	}
}

// A sender without an entry and without coins is executable if another account pays and the gas covers the new entry.
func TestSponsoredSenderWithoutCoins(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	tx := withValue(draft(70, 0, 100, 5), 0)
	tx.GasLimit = 5_000 + 5_000 + 15_000 + 5_000 + params.Prices.NewAccount
	id := add(t, p, sponsor(70, 1, tx))
	if got := best(p, testBaseFee); !slices.Equal(got, []types.TxID{id}) || nextNonce(t, p, 70) != 1 {
		t.Fatalf("got %v", got)
	}
	checkInvariants(t, p)
	tx.GasLimit--
	tx.Sender = account(71)
	refuse(t, p, sponsor(71, 1, tx), exec.ErrIntrinsicGas)
	tx.GasLimit, tx.Value = tx.GasLimit+1, 1
	refuse(t, p, sponsor(71, 1, tx), exec.ErrCannotPay) // the sender pays the value itself
	reset(t, p, c, map[int]state.Account{70: {Nonce: 1}, 1: {Balance: rich - 1}})
	if s := p.Stats(); s.Count != 0 || len(p.index.senders) != 0 {
		t.Fatalf("got %+v", s)
	}
}

// A payer has room for the fee caps of all transactions that it pays for, and its own transactions have the rest.
func TestPayersRoom(t *testing.T) {
	c := newChain()
	c.set(1, 3*feeCap, 0)
	c.set(9, 0, 1)
	p := openPool(t, c, Options{})
	add(t, p, sponsored(2, 1, 0))
	add(t, p, sponsored(3, 1, 0))
	own := withValue(draft(1, 0, 100, 5), 1)
	_, err := p.Add(t.Context(), sign(1, own), "test")
	var pay *PayError
	if !errors.As(err, &pay) || *pay != (PayError{
		Balance: 3 * feeCap, Reserved: 2 * feeCap, Pending: 2, Needed: feeCap + 1,
	}) || !errors.Is(err, exec.ErrCannotPay) {
		t.Fatalf("got %v", err)
	}
	add(t, p, sign(1, withValue(own, 0)))
	_, err = p.Add(t.Context(), sponsored(4, 1, 0), "test")
	if !errors.As(err, &pay) || *pay != (PayError{
		Payer: true, Balance: 3 * feeCap, Reserved: 3 * feeCap, Pending: 3, Needed: feeCap,
	}) || !errors.Is(err, exec.ErrPayerCannotPay) || errors.Is(err, exec.ErrCannotPay) {
		t.Fatalf("got %v", err)
	}
	refuse(t, p, sponsored(4, 9, 0), exec.ErrPayerCannotPay)
	// Each transaction of a batch is judged as if those before it were in the pool.
	c.set(5, 2*feeCap, 0)
	if err := p.Reload(c.head()); err != nil {
		t.Fatal(err)
	}
	results := p.AddMany(t.Context(), [][]byte{
		sponsored(6, 5, 0), transfer(5, 0, 100, 5), sponsored(7, 5, 0), sponsored(8, 5, 0),
	}, "test")
	for i, want := range []error{nil, exec.ErrCannotPay, nil, exec.ErrPayerCannotPay} {
		if !errors.Is(results[i].Err, want) {
			t.Errorf("transaction %d: got %v, want %v", i, results[i].Err, want)
		}
	}
	checkInvariants(t, p)
}

// A replacement also replaces the old transaction at its payer, and another payer frees the first one.
func TestReplacementFreesPayer(t *testing.T) {
	c := newChain()
	c.set(1, feeCap*11/10, 0)
	p := openPool(t, c, Options{PerPayer: 1})
	add(t, p, sponsored(2, 1, 0))
	add(t, p, sponsor(2, 1, withValue(draft(2, 0, 110, 6), 0)))
	refuse(t, p, sponsored(3, 1, 0), ErrFull)
	add(t, p, sponsor(2, 4, withValue(draft(2, 0, 130, 9), 0)))
	add(t, p, sponsored(3, 1, 0))
	add(t, p, sign(2, withValue(draft(2, 0, 150, 12), 0)))
	add(t, p, sponsored(5, 4, 0))
	checkInvariants(t, p)
}

// The balance that an account's own transactions lack is free again when those that it pays for leave.
func TestPayersOwnGoOn(t *testing.T) {
	c := newChain()
	c.set(1, 3*feeCap, 0)
	p := openPool(t, c, Options{})
	ends := withValue(draft(2, 0, 100, 5), 0)
	until := uint64(c.now().UnixMilli()) + 5_000
	ends.ValidUntil = &until
	id := add(t, p, sponsor(2, 1, ends))
	one := add(t, p, sign(1, withValue(draft(1, 0, 100, 5), 0)))
	two := add(t, p, sign(1, withValue(draft(1, 1, 100, 5), 0)))
	reset(t, p, c, map[int]state.Account{1: {Balance: 2 * feeCap}})
	if got := p.BySender(account(1)); !got[0].Executable || got[1].Executable {
		t.Fatalf("got %+v", got)
	}
	c.pass(6 * time.Second)
	reset(t, p, c, nil)
	expectFate(t, p, id, Expired)
	if got := best(p, testBaseFee); !slices.Equal(got, []types.TxID{one, two}) {
		t.Fatalf("got %v", got)
	}
}

func TestPerPayer(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{PerPayer: 3})
	for i := range 3 {
		add(t, p, sponsored(2, 1, uint64(i)))
	}
	_, err := p.Add(t.Context(), sponsored(3, 1, 0), "test")
	var full *FullError
	if !errors.As(err, &full) || full.Class != ClassSponsored {
		t.Fatalf("got %v", err)
	}
	add(t, p, sponsored(3, 4, 0))
	add(t, p, transfer(1, 0, 100, 5)) // its own transactions are not limited by it
	reset(t, p, c, map[int]state.Account{2: {Balance: rich, Nonce: 1}, 1: {Balance: rich - feeCap}})
	add(t, p, sponsored(5, 1, 0))
	if got := p.opts.withDefaults().PerPayer; got != 3 || new(Options).withDefaults().PerPayer != 4096 {
		t.Errorf("the limit is %d", got)
	}
}

// A block that lowers a payer's balance first removes the included transactions, and then drops the newest that it pays
// for until the rest fits.
func TestPayerWithLess(t *testing.T) {
	c := newChain()
	c.set(1, 5*feeCap, 0)
	p := openPool(t, c, Options{})
	var ids []types.TxID
	for i := range 5 {
		ids = append(ids, add(t, p, sponsored(2+i, 1, 0)))
	}
	next := add(t, p, transfer(6, 1, 100, 5)) // after the newest
	// The first is included. The balance suffices for two of the other four.
	reset(t, p, c, map[int]state.Account{2: {Balance: rich, Nonce: 1}, 1: {Balance: 3*feeCap - 1}})
	if got := best(p, testBaseFee); !slices.Equal(got, ids[1:3]) {
		t.Fatalf("got %v", got)
	}
	expectFate(t, p, ids[0], "")
	expectFate(t, p, ids[3], Unpaid)
	expectFate(t, p, ids[4], Unpaid)
	if got := p.BySender(account(6)); len(got) != 1 || got[0].Tx.ID() != next || got[0].Executable {
		t.Fatalf("got %+v", got)
	}
}

// A block that changes an account's authority drops the transactions that it sends or pays for by another one.
func TestAuthorityChanges(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	own, paid, other := add(t, p, transfer(1, 0, 100, 5)), add(t, p, sponsored(2, 1, 0)), add(t, p, transfer(3, 0, 100, 5))
	policy := authorityOf(policyKey, account(1))
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 1, Authority: &policy}})
	expectFate(t, p, own, "") // its nonce was used
	expectFate(t, p, paid, Unauthorized)
	if got := best(p, testBaseFee); !slices.Equal(got, []types.TxID{other}) {
		t.Fatalf("got %v", got)
	}
	_, err := p.Add(t.Context(), transfer(1, 1, 100, 5), "test")
	var wrong *exec.AuthorityError
	if !errors.As(err, &wrong) || wrong.Account != account(1) || wrong.Authority != policy {
		t.Fatalf("got %v", err)
	}
	refuse(t, p, sponsored(2, 1, 0), exec.ErrWrongPolicy)
	tx := draft(1, 1, 100, 5)
	signed := types.SignedTransaction{Transaction: tx, Witness: witnessBy(policyKey, account(1), tx.Hash())}
	byPolicy := add(t, p, signed.Encode())
	// The authority is the key again, after a block that includes another transaction than the pool's.
	reset(t, p, c, map[int]state.Account{1: {Balance: rich, Nonce: 1}})
	expectFate(t, p, byPolicy, Unauthorized)
	add(t, p, transfer(1, 1, 100, 5))
	checkInvariants(t, p)
}

// A recovery comes into force by time alone: with the first block from then on, transactions that the old authority
// signed leave.
func TestRecoveryComesIntoForce(t *testing.T) {
	c := newChain()
	from := uint64(c.now().UnixMilli()) + 5_000
	policy := authorityOf(policyKey, account(1))
	c.accounts[account(1)] = state.Account{Balance: rich, Nonce: 1, Pending: &state.Recovery{Next: policy, From: from}}
	p := openPool(t, c, Options{})
	own, paid := add(t, p, transfer(1, 1, 100, 5)), add(t, p, sponsored(2, 1, 0))
	tx := draft(1, 1, 1000, 50)
	signed := types.SignedTransaction{Transaction: tx, Witness: witnessBy(policyKey, account(1), tx.Hash())}
	refuse(t, p, signed.Encode(), exec.ErrWrongPolicy)
	c.pass(4_999 * time.Millisecond)
	reset(t, p, c, nil)
	if n := p.Stats().Count; n != 2 {
		t.Fatalf("%d are pending before the time", n)
	}
	c.pass(time.Millisecond)
	refuse(t, p, transfer(1, 2, 100, 5), exec.ErrWrongPolicy)
	reset(t, p, c, nil)
	expectFate(t, p, own, Unauthorized)
	expectFate(t, p, paid, Unauthorized)
	add(t, p, signed.Encode())
	// The clock is behind the chain, so the block's own time counts.
	c.env.Timestamp = from + 10_000
	reset(t, p, c, map[int]state.Account{3: {Balance: rich, Nonce: 1, Pending: &state.Recovery{Next: policy, From: from}}})
	refuse(t, p, transfer(3, 1, 100, 5), exec.ErrWrongPolicy)
}

// The claims are compared before any signature is verified, and a wrong claim makes no source a suspect.
func TestClaimsBeforeSignatures(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	tx := draft(1, 0, 100, 5)
	// The witness is over another hash than the transaction's.
	signed := types.SignedTransaction{Transaction: tx, Witness: witnessBy(policyKey, account(1), [32]byte{1})}
	refuse(t, p, signed.Encode(), exec.ErrWrongPolicy)
	paying := account(2)
	tx.Payer = &paying
	signed = types.SignedTransaction{
		Transaction: tx, Witness: types.WitnessKey{}, PayerWitness: witnessBy(policyKey, account(2), [32]byte{}),
	}
	refuse(t, p, signed.Encode(), exec.ErrWrongPolicy)
	if s := p.Stats(); s.SignatureBatches != 0 || p.verifier.isSuspect("test") {
		t.Errorf("got %+v", s)
	}
	signed.PayerWitness = types.WitnessKey{} // the claim is right, but the signatures are wrong
	refuse(t, p, signed.Encode(), ErrBadSignature)
	if s := p.Stats(); s.SignatureBatches != 1 || !p.verifier.isSuspect("test") || s.Refused["wrong_policy"] != 2 {
		t.Errorf("got %+v", s)
	}
}

// A transaction that is in the pool is known with whatever witness it is sent. Its witness in the pool does not count
// for another one, which Verify checks by itself.
func TestKnownByID(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	tx := draft(1, 0, 100, 5)
	first, err := types.Sign(tx, key(1), [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := types.Sign(tx, key(1), [32]byte{1})
	if err != nil || slices.Equal(first.Encode(), second.Encode()) {
		t.Fatal("both signatures are one")
	}
	id := add(t, p, first.Encode())
	forged := second
	forged.Witness = types.WitnessKey{}
	for _, other := range []types.SignedTransaction{second, forged} {
		got, err := p.Add(t.Context(), other.Encode(), "test")
		if !errors.Is(err, ErrKnown) || got != id {
			t.Errorf("got %v, %v", got, err)
		}
	}
	screened := p.Verify(t.Context(), [][]byte{second.Encode(), forged.Encode()}, "test", func() bool { return true })
	if screened[0].Err != nil || !slices.Equal(screened[0].Verified.Encoded(), second.Encode()) ||
		!errors.Is(screened[1].Err, ErrBadSignature) {
		t.Errorf("got %+v", screened)
	}
}

// A member keeps the committed bytes, and not others that are known under the same ID.
func TestKeptByBytes(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{Clock: c.now})
	tx := draft(1, 0, 100, 5)
	first, err := types.Sign(tx, key(1), [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := types.Sign(tx, key(1), [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	known := verifyAll(types.NewTxs(first))[0]
	forged := second
	forged.Witness = types.WitnessKey{}
	results, err := keepEntry(p, 1, types.NewTxs(forged, second), func(types.TxID) *types.VerifiedTx { return known })
	if err != nil || !errors.Is(results[0].Err, ErrBadSignature) || results[1].Err != nil {
		t.Fatalf("got %+v, %v", results, err)
	}
	if kept, ok := p.Get(second.ID()); !ok || !slices.Equal(kept.Encoded(), second.Encode()) {
		t.Errorf("got %v", ok)
	}
}

func TestValidUntil(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	now := uint64(c.now().UnixMilli())
	ending := func(i int, until uint64) []byte {
		tx := draft(i, 0, 100, 5)
		tx.ValidUntil = &until
		return sign(i, tx)
	}
	refuse(t, p, ending(1, now-1), exec.ErrExpired)
	refuse(t, p, ending(1, types.MaxTime+1), exec.ErrBadValidUntil)
	one, two, three := add(t, p, ending(1, now)), add(t, p, ending(2, now+7)), add(t, p, ending(3, now+3))
	reset(t, p, c, nil)
	if got := best(p, testBaseFee); !slices.Equal(got, []types.TxID{one, two, three}) {
		t.Fatalf("got %v", got)
	}
	c.pass(4 * time.Millisecond)
	reset(t, p, c, nil)
	expectFate(t, p, one, Expired)
	expectFate(t, p, three, Expired)
	c.env.Timestamp = now + 8 // the clock is behind the chain
	reset(t, p, c, nil)
	expectFate(t, p, two, Expired)
	if s := p.Stats(); s.Count != 0 || len(p.index.deadlines) != 0 || s.Refused["expired"] != 1 {
		t.Errorf("got %+v", s)
	}
}

// A text that is too long for a signature has its own error, before any signature is verified.
func TestTextTooLong(t *testing.T) {
	c := newChain()
	p := openPool(t, c, Options{})
	steps := make([]types.Step, 200)
	for i := range steps {
		steps[i] = types.Step{Target: types.Account{1}, Action: types.Transfer{}}
	}
	tx := draft(1, 0, 100, 5)
	tx.Target, tx.Value, tx.GasLimit, tx.Payload = types.Account{}, 0, 2_000_000, types.Batch{Steps: steps}
	signed := types.SignedTransaction{Transaction: tx, Witness: types.WitnessText{}}
	refuse(t, p, signed.Encode(), exec.ErrTextTooLong)
	if s := p.Stats(); s.SignatureBatches != 0 {
		t.Errorf("got %+v", s)
	}
	add(t, p, sign(1, tx)) // a key signs the hash
}

// The journal restores sponsored transactions and their reserves.
func TestPayersInTheJournal(t *testing.T) {
	c := newChain()
	c.set(1, 3*feeCap, 0)
	opts := Options{Journal: journalPath(t)}
	p := openPool(t, c, opts)
	for i := range 3 {
		add(t, p, sponsored(2+i, 1, 0))
	}
	want := contents(p)
	again := openCopy(t, c, opts.Journal, Options{})
	if got := contents(again); len(got) != len(want) {
		t.Fatalf("%d of %d came back", len(got), len(want))
	}
	checkInvariants(t, again)
	refuse(t, again, sponsored(5, 1, 0), exec.ErrPayerCannotPay)
	// Of the restored transactions, the newest by arrival leaves first.
	reset(t, again, c, map[int]state.Account{1: {Balance: 2*feeCap - 1}})
	if s := again.Stats(); s.Count != 1 {
		t.Fatalf("got %+v", s)
	}
	if got := again.BySender(account(2)); len(got) != 1 {
		t.Fatal("the oldest is gone")
	}
}

// A transaction that a block made unpayable or unauthorized does not return when a member starts.
func TestMemberForgetsWhatNobodyPays(t *testing.T) {
	c := newChain()
	c.set(1, 3*feeCap, 1)
	opts := Options{Journal: journalPath(t), Clock: c.now}
	p := openPool(t, c, opts)
	var txs []*types.Tx
	for _, encoded := range [][]byte{sponsored(2, 1, 0), sponsored(3, 1, 0), sponsored(4, 5, 0)} {
		tx, err := types.DecodeTx(encoded)
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	results, err := keepEntry(p, 1, txs, func(types.TxID) *types.VerifiedTx { return nil })
	if err != nil || results[0].Err != nil || results[1].Err != nil || results[2].Err != nil {
		t.Fatal(results, err)
	}
	policy := authorityOf(policyKey, account(5))
	reset(t, p, c, map[int]state.Account{
		1: {Balance: 2*feeCap - 1, Nonce: 1}, 5: {Balance: rich, Nonce: 1, Authority: &policy},
	})
	expectFate(t, p, txs[1].ID(), Unpaid)
	expectFate(t, p, txs[2].ID(), Unauthorized)
	again := openCopy(t, c, opts.Journal, Options{Clock: c.now})
	checkInvariants(t, again)
	if _, pending := again.Get(txs[0].ID()); !pending || again.Stats().Count != 1 {
		t.Errorf("%d came back", again.Stats().Count)
	}
}
