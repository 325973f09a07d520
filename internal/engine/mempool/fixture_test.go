package mempool

import (
	"encoding/binary"
	"errors"
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
		Version:              types.TransactionVersion,
		ChainID:              testChain,
		Sender:               account(i),
		Nonce:                nonce,
		GasLimit:             testGas,
		MaxFeePerGas:         maxFee,
		MaxPriorityFeePerGas: maxPriority,
		Payload:              types.Transfer{To: types.Account{1}, Amount: 1},
	}
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

// withBadSignature flips a bit of an encoded transaction's signature.
func withBadSignature(encoded []byte) []byte {
	b := slices.Clone(encoded)
	b[len(b)-1] ^= 1
	return b
}

// fakeChain is the state that a pool under test stands on, and its clock.
type fakeChain struct {
	mu       sync.Mutex
	height   types.Height
	env      exec.Env
	accounts map[types.Account]exec.Sender
	time     time.Time
	tick     time.Duration // by which each look at the clock moves it
	readErr  error
}

// newChain has 64 rich accounts.
func newChain() *fakeChain {
	c := &fakeChain{
		height:   10,
		env:      exec.Env{ChainID: testChain, Parameters: params.Default(key(0).PublicKey()), BaseFee: testBaseFee},
		accounts: make(map[types.Account]exec.Sender),
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
	c.accounts[account(i)] = exec.Sender{Account: state.Account{Balance: balance, Nonce: nonce}}
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
	return Head{Height: c.height, Env: c.env, Account: func(a types.Account) (exec.Sender, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.accounts[a], c.readErr
	}}
}

// block advances the chain by one block that leaves accounts with these records and returns its accesses.
func (c *fakeChain) block(records map[int]state.Account) []types.Access {
	var accesses []types.Access
	for i, record := range records {
		a := account(i)
		c.mu.Lock()
		old := c.accounts[a].Account
		c.mu.Unlock()
		c.set(i, record.Balance, record.Nonce)
		accesses = append(accesses, types.Access{Key: state.AccountKey(a), Old: old.Encode(), New: record.Encode()})
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

// add adds a transaction that must be taken.
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

// best is the IDs that a builder gets at a base fee.
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

// signalled takes the pool's signal, if there is one.
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

// checkInvariants checks that everything the pool keeps twice agrees, and that what is executable may be included.
func checkInvariants(t testReporter, p *Pool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var u usage
	var gas types.Gas
	count, executable := 0, 0
	var ordered [heaps]int
	for a, s := range p.index.senders {
		if s.account != a || len(s.run)+len(s.held) == 0 {
			t.Fatalf("sender %v is listed wrongly", a)
		}
		judged := s.rules == p.judging.rules
		if !judged && p.judging.next == nil {
			t.Fatalf("sender %v is never judged", a)
		}
		switch {
		case !judged:
		case len(s.run) > 0:
			executable++
			if r := p.index.executable[s.runIndex]; len(r) != len(s.run) || r[0] != s.run[0] {
				t.Fatalf("run of %v is published wrongly", a)
			}
		case s.runIndex != -1:
			t.Fatalf("sender %v without a run has a place among the runs", a)
		}
		checkRun(t, p, s)
		for _, part := range [][]*entry{s.run, s.held} {
			for i, e := range part {
				if judged && checkStatic(p.head.Env, e.tx.Signed()) != nil {
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
		for i := range p.index.order {
			h, at := &p.index.order[i], s.orderIndex[i]
			if empty := len(s.left(partOf[i])) == 0; empty != (at < 0) || s.planned != [parts]int{} ||
				!empty && (h.slots[at] != h.slotOf(s) || at > 0 && h.Less(at, (at-1)/2)) {
				t.Fatalf("sender %v is ordered wrongly", a)
			}
			if at >= 0 {
				ordered[i]++
			}
		}
	}
	for a, state := range p.index.idle {
		if is, err := p.head.Account(a); err != nil || is != state || p.index.senders[a] != nil {
			t.Fatalf("account %v is remembered as %+v, and is %+v: %v", a, state, is, err)
		}
	}
	if u != p.filling.usage || gas != p.filling.gas || count != len(p.index.byID) || count != p.index.arrivals.Len() ||
		executable != len(p.index.executable) {
		t.Fatalf("numbers differ: %+v, kept are %+v", u, p.filling.usage)
	}
	for i := range p.index.order {
		if n := p.index.order[i].Len(); n != ordered[i] {
			t.Fatalf("heap %d has %d senders, want %d", i, n, ordered[i])
		}
	}
	if !u.fits(&p.opts) {
		t.Fatalf("the pool is over its limits: %+v", u)
	}
}

func checkRun(t testReporter, p *Pool, s *sender) {
	t.Helper()
	at := s.state
	var spent types.Amount
	for i, e := range s.run {
		if err := exec.CheckAt(p.head.Env, at, e.tx.Signed()); err != nil || e.held {
			t.Fatalf("transaction %d of a run is not executable: %v", i, err)
		}
		if e.floor != s.runFloor(i, e.fees()) {
			t.Fatalf("floor of transaction %d is wrong", i)
		}
		at.Nonce, at.Balance, spent = at.Nonce+1, at.Balance-e.cost, spent+e.cost
	}
	if spent != s.spent {
		t.Fatalf("run spends %d, kept is %d", spent, s.spent)
	}
	for _, e := range s.held {
		if !e.held || e.nonce < s.next() {
			t.Fatalf("nonce %d is held with next nonce %d", e.nonce, s.next())
		}
	}
	if len(s.held) > 0 && exec.CheckAt(p.head.Env, at, s.held[0].tx.Signed()) == nil {
		t.Fatalf("nonce %d is held but executable", s.held[0].nonce)
	}
}

// testReporter is what testing.TB and rapid.T have in common.
type testReporter interface {
	Helper()
	Fatalf(format string, args ...any)
}
