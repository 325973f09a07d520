package mempool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testChain   = 7
	testGas     = 100_000
	testBaseFee = 20
	rich        = types.Amount(1) << 50
)

var keys struct {
	sync.Mutex
	made []crypto.PrivateKey
}

// key is the i-th test key.
func key(i int) crypto.PrivateKey {
	keys.Lock()
	defer keys.Unlock()
	for len(keys.made) <= i {
		var secret [32]byte
		binary.BigEndian.PutUint64(secret[24:], uint64(len(keys.made)+1))
		k, err := crypto.NewPrivateKey(secret)
		if err != nil {
			panic(err)
		}
		keys.made = append(keys.made, k)
	}
	return keys.made[i]
}

// account is the account of the i-th test key.
func account(i int) types.Account { return types.Account(key(i).PublicKey()) }

// draft is the unsigned transfer of 1 by the i-th key with these fees.
func draft(i int, nonce uint64, maxFee, maxPriority types.Amount) types.Transaction {
	return types.Transaction{
		Sender:               account(i),
		Target:               types.Account{1},
		ChainID:              testChain,
		Nonce:                nonce,
		GasLimit:             testGas,
		MaxFeePerGas:         maxFee,
		MaxPriorityFeePerGas: maxPriority,
		Value:                1,
		Payload:              types.Transfer{},
	}
}

// withValue is the transaction with another value.
func withValue(tx types.Transaction, value types.Amount) types.Transaction {
	tx.Value = value
	return tx
}

// sign encodes the transaction signed by the i-th key.
func sign(i int, tx types.Transaction) []byte {
	signed, err := types.Sign(tx, key(i), [32]byte{})
	if err != nil {
		panic(err)
	}
	return signed.Encode()
}

// transfer is draft, signed.
func transfer(i int, nonce uint64, maxFee, maxPriority types.Amount) []byte {
	return sign(i, draft(i, nonce, maxFee, maxPriority))
}

// sponsor encodes the transaction with two signatures: of the i-th key, and of the payer-th, whose account pays.
func sponsor(i, payer int, tx types.Transaction) []byte {
	paying := account(payer)
	tx.Payer = &paying
	signed, err := types.Sign(tx, key(i), [32]byte{})
	if err != nil {
		panic(err)
	}
	signed.PayerWitness = types.WitnessKey{Signature: mustSign(payer, types.PayerHash(tx.Hash()))}
	return signed.Encode()
}

// policyKey is the test key that signs for the first policy. The next test key signs for the second policy.
const policyKey = 100

// policyOf returns the policy whose only signer is the i-th test key.
func policyOf(i int) types.Policy {
	signer := types.SignerKey{Key: key(i).PublicKey()}
	return types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{signer}}}
}

// authorityOf is the policy of the i-th key, or for −1 the account itself.
func authorityOf(i int, a types.Account) types.Account {
	if i < 0 {
		return a
	}
	return policyOf(i).Hash()
}

// witnessBy is a witness that holds for a message: by the policy of the i-th key, or for −1 by the account's own key.
func witnessBy(i int, a types.Account, message [32]byte) types.Witness {
	if i < 0 {
		for own := range keys.made {
			if account(own) == a {
				return types.WitnessKey{Signature: mustSign(own, message)}
			}
		}
	}
	evidence := types.EvidenceKey{Signature: mustSign(i, message)}
	return types.WitnessPolicy{Policy: policyOf(i), Proofs: []types.Proof{{Evidence: evidence}}}
}

func mustSign(i int, message [32]byte) types.Signature {
	signature, err := key(i).Sign(message[:], [32]byte{})
	if err != nil {
		panic(err)
	}
	return signature
}

// verifyAll is types.VerifyWitnesses on the network of the tests.
func verifyAll(txs []*types.Tx) []*types.VerifiedTx { return types.VerifyWitnesses(types.Regtest, txs) }

// idOf is the ID of an encoded transaction.
func idOf(encoded []byte) types.TxID {
	tx, err := types.DecodeTx(encoded)
	if err != nil {
		panic(err)
	}
	return tx.ID()
}

// withBadSignature flips a bit of the signature of a transaction without payer.
func withBadSignature(encoded []byte) []byte {
	b := slices.Clone(encoded)
	b[len(b)-2] ^= 1
	return b
}

// fakeChain is the state that a pool under test stands on, and its clock.
type fakeChain struct {
	mu       sync.Mutex
	height   types.Height
	env      exec.Env
	accounts map[types.Account]state.Account
	time     time.Time
	tick     time.Duration // advance of the clock at each reading
	readErr  error
}

// newChain returns a chain with 64 rich accounts.
func newChain() *fakeChain {
	c := &fakeChain{
		height: 10,
		env: exec.Env{
			ChainID: testChain, Network: types.Regtest, Parameters: params.Default(key(0).PublicKey()), BaseFee: testBaseFee,
			Timestamp: 1_700_000_000_000,
		},
		accounts: make(map[types.Account]state.Account),
		time:     time.Unix(1_700_000_000, 0),
	}
	for i := range 64 {
		c.set(i, rich, 0)
	}
	return c
}

func (c *fakeChain) set(i int, balance types.Amount, nonce uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accounts[account(i)] = state.Account{Balance: balance, Nonce: nonce}
}

func (c *fakeChain) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(c.tick)
	return c.time
}

func (c *fakeChain) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
}

func (c *fakeChain) head() Head {
	c.mu.Lock()
	defer c.mu.Unlock()
	height := c.height
	return Head{
		Height: height,
		Env:    c.env,
		Account: func(a types.Account) (state.Account, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.accounts[a], c.readErr
		},
		Newest: func() types.Height { return height },
	}
}

// block advances the chain by one block that leaves accounts with these records and returns its accesses.
func (c *fakeChain) block(records map[int]state.Account) []types.Access {
	var accesses []types.Access
	for i, record := range records {
		a := account(i)
		c.mu.Lock()
		old := c.accounts[a]
		c.accounts[a] = record
		c.mu.Unlock()
		accesses = append(accesses, types.Access{Key: state.AccountKey(a), Old: old.Encode(a), New: record.Encode(a)})
	}
	slices.SortFunc(accesses, func(a, b types.Access) int { return slices.Compare(a.Key, b.Key) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.height++
	return accesses
}

func openPool(t testing.TB, c *fakeChain, opts Options) *Pool {
	t.Helper()
	opts.Now = c.now
	p, err := New(opts, c.head())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return p
}

// add adds a transaction that the pool must accept.
func add(t testing.TB, p *Pool, encoded []byte) types.TxID {
	t.Helper()
	id, err := p.Add(t.Context(), encoded, "test")
	if err != nil {
		t.Fatalf("add: %v", err)
	}
	return id
}

// refuse adds a transaction that must be refused with want.
func refuse(t testing.TB, p *Pool, encoded []byte, want error) {
	t.Helper()
	if _, err := p.Add(t.Context(), encoded, "test"); !errors.Is(err, want) {
		t.Fatalf("add: got error %v, want %v", err, want)
	}
}

func reset(t testing.TB, p *Pool, c *fakeChain, records map[int]state.Account) {
	t.Helper()
	accesses := c.block(records)
	if err := p.Reset(c.head(), accesses); err != nil {
		t.Fatalf("reset: %v", err)
	}
	checkInvariants(t, p)
}

// best returns the IDs that a builder gets at a base fee.
func best(p *Pool, baseFee types.Amount) []types.TxID {
	var ids []types.TxID
	for b := p.Best(baseFee); ; {
		tx := b.Next()
		if tx == nil {
			return ids
		}
		ids = append(ids, tx.ID())
	}
}

// signalled receives the pool's signal, if there is one.
func signalled(p *Pool) bool {
	select {
	case <-p.Changed():
		return true
	default:
		return false
	}
}

func nextNonce(t testing.TB, p *Pool, i int) uint64 {
	t.Helper()
	n, err := p.NextNonce(account(i))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkInvariants checks that all duplicated data in the pool agrees, and that executable transactions may be included.
func checkInvariants(t testReporter, p *Pool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var u usage
	var gas types.Gas
	count, executable := 0, 0
	var ordered [heaps]int
	for a, s := range p.index.senders {
		if s.account != a || !s.busy() || s.freed {
			t.Fatalf("sender %v is listed wrongly", a)
		}
		valid := s.rules == p.revalidation.rules
		if !valid && p.revalidation.next == nil && len(s.run)+len(s.held) > 0 {
			t.Fatalf("sender %v is never revalidated", a)
		}
		switch {
		case !valid:
		case len(s.run) > 0:
			executable++
			if r := p.index.executable[s.runIndex]; len(r) != len(s.run) || r[0] != s.run[0] {
				t.Fatalf("run of %v is published wrongly", a)
			}
		case s.runIndex != -1:
			t.Fatalf("sender %v without a run has a place among the runs", a)
		}
		checkRun(t, p, s)
		checkPayments(t, p, s)
		for _, part := range [][]*entry{s.run, s.held} {
			for i, e := range part {
				if valid && checkStatic(p.head.Env, e.tx.Signed()) != nil {
					t.Fatalf("entry %v is against the parameters", e.tx.ID())
				}
				if e.gone || p.index.byID[e.tx.ID()] != e || e.sender != s || i > 0 && part[i-1].nonce >= e.nonce {
					t.Fatalf("entry %v is listed wrongly", e.tx.ID())
				}
				u.add(e, 1)
				gas += e.tx.Signed().GasLimit
				count++
			}
		}
		for i := range p.index.order.heaps {
			if s.noted {
				break
			}
			h, at := &p.index.order.heaps[i], s.orderIndex[i]
			if empty := len(s.left(partOf[i])) == 0; empty != (at < 0) || s.planned != [parts]int{} ||
				!empty && (h.slots[at] != h.slotOf(s) || at > 0 && h.Less(at, (at-1)/2)) {
				t.Fatalf("sender %v is ordered wrongly", a)
			}
			if at >= 0 {
				ordered[i]++
			}
		}
	}
	if len(p.freed) > 0 {
		t.Fatalf("%d payers have more balance left, and were not updated", len(p.freed))
	}
	for a, state := range p.index.idle {
		if is, err := p.head.Account(a); err != nil || !is.Equal(a, state) || p.index.senders[a] != nil {
			t.Fatalf("account %v is remembered as %+v, and is %+v: %v", a, state, is, err)
		}
	}
	if u != p.usage || gas != p.gas || count != len(p.index.byID) || count != p.index.arrivals.Len() ||
		executable != len(p.index.executable) {
		t.Fatalf("numbers differ: %+v, kept are %+v", u, p.usage)
	}
	for i, h := range p.index.order.heaps {
		n := 0
		for _, slot := range h.slots {
			if !slot.sender.noted {
				n++
			}
		}
		if n != ordered[i] {
			t.Fatalf("heap %d has %d senders without a noted change, want %d", i, n, ordered[i])
		}
	}
	for _, s := range p.index.order.noted {
		if !s.noted {
			t.Fatalf("sender %v is noted wrongly", s.account)
		}
	}
	if !u.fits(&p.opts) {
		t.Fatalf("the pool is over its limits: %+v", u)
	}
}

func checkRun(t testReporter, p *Pool, s *sender) {
	t.Helper()
	left, nonce := s.free(), s.state.Nonce
	var spent types.Amount
	for i, e := range s.run {
		if err := checkNext(s, left, nonce, e); err != nil || e.held {
			t.Fatalf("transaction %d of a run is not executable: %v", i, err)
		}
		if e.floor != s.runFloor(i, e.fees()) {
			t.Fatalf("floor of transaction %d is wrong", i)
		}
		nonce, left, spent = nonce+1, left-e.cost, spent+e.cost
	}
	if spent != s.spent {
		t.Fatalf("run spends %d, kept is %d", spent, s.spent)
	}
	for _, e := range s.held {
		if !e.held || e.nonce < s.next() {
			t.Fatalf("nonce %d is held with next nonce %d", e.nonce, s.next())
		}
	}
	if len(s.held) > 0 && checkNext(s, left, nonce, s.held[0]) == nil {
		t.Fatalf("nonce %d is held but executable", s.held[0].nonce)
	}
}

// checkNext checks whether an entry is the next one of a sender with the given remaining balance. A recovery may have
// come into force since the newest block, but no other authority.
func checkNext(s *sender, left types.Amount, nonce uint64, e *entry) error {
	funds := exec.Funds{Entry: s.state.Exists() || nonce > s.state.Nonce, Balance: left, Payer: e.fee}
	if e.nonce != nonce {
		return exec.ErrNonceTooHigh
	}
	if err := exec.CheckFunds(funds, e.tx.Signed()); err != nil {
		return err
	}
	if !mayClaim(s, e.claims.Sender) || e.payer != nil && !mayClaim(e.payer, e.claims.Payer) {
		return exec.ErrWrongPolicy
	}
	return nil
}

func mayClaim(s *sender, authority types.Account) bool {
	return authority == s.state.AuthorityAt(s.account, 0) || authority == s.state.AuthorityAt(s.account, math.MaxUint64)
}

// checkPayments compares the payments of an account with the transactions that name it as payer.
func checkPayments(t testReporter, p *Pool, s *sender) {
	t.Helper()
	var sum types.Amount
	count := 0
	for _, e := range p.index.byID {
		if named := e.tx.Signed().Payer; named != nil && *named == s.account {
			fee, err := e.tx.Signed().FeeCap()
			if err != nil || e.payer != s || e.fee != fee {
				t.Fatalf("entry %v is paid wrongly", e.tx.ID())
			}
			sum, count = sum+fee, count+1
		}
	}
	if paid := s.paid(); sum != s.reserved || count != s.payCount || len(paid) != count ||
		!slices.IsSortedFunc(paid, func(a, b *entry) int { return cmp.Compare(a.sequence, b.sequence) }) {
		t.Fatalf("%v pays %d for %d, kept are %d for %d", s.account, sum, count, s.reserved, s.payCount)
	}
	if sum > s.state.Balance || count > p.opts.PerPayer {
		t.Fatalf("%v with %d pays %d for %d", s.account, s.state.Balance, sum, count)
	}
	if _, recovering := p.index.recovering[s]; recovering != (s.state.Pending != nil) {
		t.Fatalf("the recovery of %v is kept wrongly", s.account)
	}
}

// testReporter holds the methods that testing.TB and rapid.T share.
type testReporter interface {
	Helper()
	Fatalf(format string, args ...any)
}
