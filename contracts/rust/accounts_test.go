package rust

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

func module(t *testing.T, name string) []byte {
	t.Helper()
	code, err := os.ReadFile("../wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// sessionWallet is a wallet with coins and tokens, and a model of the amounts that its session may still spend.
type sessionWallet struct {
	t        *testing.T
	chain    *contracttest.Chain
	wallet   *contracttest.Contract
	tokens   []*contracttest.Contract
	owner    contracttest.Account
	session  contracttest.Account
	until    uint64
	coins    uint64
	left     []uint64 // of each token
	shop     types.Account
	accepted int
	refused  int
}

type step struct {
	To     types.Account `json:"to"`
	Method string        `json:"method"`
	Args   string        `json:"args"`
	Value  json.Number   `json:"value"`
}

func newSessionWallet(t *testing.T, module string) *sessionWallet {
	c := contracttest.New(t)
	s := &sessionWallet{
		t: t, chain: c, owner: c.Account("alice"), session: c.PolicyAccount("session"), shop: types.Account{0x51},
	}
	s.wallet = deploy(c, t, module, args{"owner": s.owner})
	c.Fund(s.wallet.Account(), 1_000_000)
	c.Fund(s.shop, 1)
	for _, name := range []string{"Gold", "Iron"} {
		k := token(c, t, name)
		k.Call(s.owner, "transfer", args{"to": s.wallet.ID, "amount": 500_000}).Must(t)
		s.tokens = append(s.tokens, k)
	}
	return s
}

// allow begins a session, in the model too.
func (s *sessionWallet) allow(r *rand.Rand) {
	s.t.Helper()
	s.until = s.chain.Time() + uint64(r.IntN(40))
	s.coins = uint64(r.IntN(300))
	s.left = []uint64{uint64(r.IntN(300)), uint64(r.IntN(300))}
	var limits []any
	for i, k := range s.tokens {
		limits = append(limits, args{"token": k.ID, "amount": s.left[i]})
	}
	s.wallet.Call(s.owner, "allow", args{
		"session": s.session, "until": s.until, "coins": s.coins, "tokens": limits,
		"rights": []any{args{"contract": s.tokens[0].ID, "method": "balanceOf"}},
	}).Must(s.t)
}

// near is a number near a limit: mostly the limit, one more, or a part of it.
func near(r *rand.Rand, limit uint64) uint64 {
	switch r.IntN(8) {
	case 0:
		return limit
	case 1:
		return limit + 1
	case 2:
		return r.Uint64()
	case 3:
		return 0 - r.Uint64N(3) // wraps around in an addition
	default:
		return r.Uint64N(limit/2 + 2)
	}
}

// steps makes random steps, and returns whether the session may execute them and the amounts left to spend afterwards.
func (s *sessionWallet) steps(r *rand.Rand) (steps []step, allowed bool, coins uint64, left []uint64) {
	allowed, coins, left = true, s.coins, append([]uint64{}, s.left...)
	for range 1 + r.IntN(4) {
		switch kind := r.IntN(10); {
		case kind < 4: // coins
			value := near(r, coins)
			steps = append(steps, step{s.shop, "", "0x", json.Number(fmt.Sprint(value))})
			if allowed = allowed && value <= coins; allowed {
				coins -= value
			}
		case kind < 8: // tokens
			i := r.IntN(2)
			amount := near(r, left[i])
			data := append(append([]byte{}, s.shop[:]...), binary.LittleEndian.AppendUint64(nil, amount)...)
			if r.IntN(12) == 0 { // bytes more or fewer than a transfer has
				data = append(data, 0)[:39+2*r.IntN(2)]
				allowed = false
			}
			steps = append(steps, step{types.Account(s.tokens[i].ID), "transfer", "0x" + hex.EncodeToString(data), "0"})
			if allowed = allowed && amount <= left[i]; allowed {
				left[i] -= amount
			}
		default: // the call that the session must not make
			method := []string{"approve", "burn", "transferFrom", "mint", "setOwner", "run"}[r.IntN(6)]
			to := []types.Account{types.Account(s.tokens[0].ID), s.wallet.Account()}[r.IntN(2)]
			data := append(append([]byte{}, s.session.Account[:]...), binary.LittleEndian.AppendUint64(nil, 1)...)
			steps = append(steps, step{to, method, "0x" + hex.EncodeToString(data), "0"})
			allowed = false
		}
	}
	return steps, allowed, coins, left
}

func (s *sessionWallet) balances() [3]uint64 {
	s.t.Helper()
	b := [3]uint64{uint64(s.chain.Balance(s.wallet.Account()))}
	for i, k := range s.tokens {
		k.View("balanceOf", args{"address": s.wallet.ID}).Decode(s.t, &b[i+1])
	}
	return b
}

// TestNoLimitIsPassed lets sessions run random steps near their limits on the real engine. A session never takes a unit
// more from the wallet than the model allows, and can take everything that the model allows.
func TestNoLimitIsPassed(t *testing.T) {
	both(t, "wallet", passesNoLimit)
}

func passesNoLimit(t *testing.T, module string) {
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	r := rand.New(rand.NewPCG(41, 9))
	s := newSessionWallet(t, module)
	for round := range rounds {
		if round%6 == 0 {
			s.allow(r)
		}
		if r.IntN(8) == 0 {
			s.chain.Advance(time.Duration(r.IntN(10)) * time.Second)
		}
		steps, allowed, coins, left := s.steps(r)
		before := s.balances()
		now := s.chain.Time() + 1 // time of the next block, unless it was postponed
		result := s.wallet.Call(s.session, "run", args{"steps": steps})
		now = max(now, s.chain.Time())
		allowed = allowed && now <= s.until
		if result.OK != allowed {
			t.Fatalf("round %d: %+v of %d coins and %d: ok %v, the model says %v: %v", round, steps, s.coins, s.left, result.OK,
				allowed, result.Err())
		}
		want := before
		if allowed {
			s.accepted++
			want[0] -= s.coins - coins
			for i := range left {
				want[i+1] -= s.left[i] - left[i]
			}
			s.coins, s.left = coins, left
		} else {
			s.refused++
		}
		if got := s.balances(); got != want {
			t.Fatalf("round %d: the wallet has %d, want %d", round, got, want)
		}
	}
	if s.accepted < rounds/10 || s.refused < rounds/10 {
		t.Errorf("%d runs were accepted, %d refused", s.accepted, s.refused)
	}
}

// TestSessionIsSponsored: a session's account needs no coins, if another account pays.
func TestSessionIsSponsored(t *testing.T) {
	s := newSessionWallet(t, "wallet")
	s.wallet.Call(s.owner, "allow", args{
		"session": s.session, "until": s.chain.Time() + 100, "coins": 5, "tokens": []any{}, "rights": []any{},
	}).Must(t)
	before := s.chain.Balance(s.session.Account)
	run := args{"steps": []step{{s.shop, "", "0x", "5"}}}
	s.wallet.Call(s.session, "run", run, contracttest.Options{Payer: s.owner}).Must(t)
	if got := s.chain.Balance(s.session.Account); got != before {
		t.Errorf("the session paid %d", before-got)
	}
	s.wallet.Call(s.session, "run", run).Reverts(t, "more coins than the session has left")
}

// TestFactory creates wallets at predicted addresses, and reports their cost.
func TestFactory(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	template := deploy(c, t, "wallet", args{"owner": alice})
	factory := deploy(c, t, "factory", args{"template": template.ID})
	var address types.ContractID
	factory.View("addressOf", args{"user": bob}).Decode(t, &address)
	c.Fund(types.Account(address), 77)
	made := factory.Call(alice, "make", args{"user": bob}).Must(t)
	k := c.Contract(address)
	shows(t, k, "owner", nil, fmt.Sprintf("%q", bob.Account.String()))
	if c.Balance(k.Account()) != 77 || len(k.ABI.Functions) == 0 {
		t.Errorf("it has %d coins", c.Balance(k.Account()))
	}
	if made.GasUsed > 900_000 {
		t.Errorf("it took %d gas", made.GasUsed)
	}
	factory.Call(alice, "make", args{"user": bob}).Reverts(t, "it was made already")
	code := module(t, "factory")
	if can, err := contractbuild.CanChange(code); can || err != nil {
		t.Errorf("the factory can change: got %v, error %v", can, err)
	}
}

// TestPermits has a key's account and a P-256 account each permit a spender once.
func TestPermits(t *testing.T) {
	t.Run("coin", func(t *testing.T) {
		takesPermits(t, "coin", args{"name": "Coin", "symbol": "CN", "supply": 1_000, "delay": 60})
	})
	t.Run("as-coin", func(t *testing.T) { takesPermits(t, "as-coin", args{"supply": 1_000, "delay": 60}) })
}

func takesPermits(t *testing.T, module string, init args) {
	c := contracttest.New(t)
	alice := c.Account("alice")
	k := deploy(c, t, module, init)
	for name, owner := range map[string]contracttest.Account{"key": c.Account("bob"), "p256": c.PolicyAccount("bob")} {
		k.Call(alice, "transfer", args{"to": owner, "amount": 100}).Must(t)
		terms := args{"owner": owner, "spender": alice, "amount": 30, "deadline": c.Time() + 1_000}
		var message string
		k.View("permitMessage", terms).Decode(t, &message)
		text, err := hex.DecodeString(strings.TrimPrefix(message, "0x"))
		if err != nil || !strings.HasPrefix(string(text), "permit 30 to 0x") {
			t.Fatalf("%s: got %q, error %v", name, text, err)
		}
		terms["witness"] = "0x" + hex.EncodeToString(c.SignMessage(owner, k.ID, text))
		forged := args{}
		for key, value := range terms {
			forged[key] = value
		}
		forged["amount"] = 31
		k.Call(alice, "permit", forged).Reverts(t, "the owner has not signed it")
		k.Call(alice, "permit", terms).Must(t)
		k.Call(alice, "permit", terms).Reverts(t, "the owner has not signed it")
		k.Call(alice, "transferFrom", args{"from": owner, "to": alice, "amount": 30}).Must(t)
		k.Call(alice, "transferFrom", args{"from": owner, "to": alice, "amount": 1}).Reverts(t, "allowance is too low")
	}
}

// TestUpgrade: the coin changes to another code after its delay, keeps all balances, and is reported as changeable.
func TestUpgrade(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := deploy(c, t, "coin", args{"name": "Coin", "symbol": "CN", "supply": 1_000, "delay": 60})
	if can, err := contractbuild.CanChange(module(t, "coin")); !can || err != nil {
		t.Errorf("the coin can change: got %v, error %v", can, err)
	}
	k.Call(alice, "transfer", args{"to": bob, "amount": 100}).Must(t)
	next := token(c, t, "Gold") // the reference token stores balances under the same names
	k.Call(bob, "announce", args{"template": next.ID}).Reverts(t, "only the owner may")
	k.Call(alice, "announce", args{"template": next.ID}).Must(t)
	k.Call(bob, "upgrade", nil).Reverts(t, "the delay is not over")
	c.Advance(time.Minute)
	upgraded := k.Call(bob, "upgrade", nil).Must(t)
	if logs := upgraded.Events; len(logs) != 1 || logs[0].Name != types.CodeReplaced || logs[0].Topics[0] != [32]byte(k.ID) {
		t.Errorf("events %+v", logs)
	}
	now := c.Contract(k.ID)
	shows(t, now, "balanceOf", args{"address": bob}, "100")
	shows(t, now, "symbol", nil, `"CN"`)
	now.Call(bob, "burn", args{"amount": 40}).Must(t) // the function that the old code lacked
	if again := now.Call(alice, "upgrade", nil); again.Reason != "no_such_function" {
		t.Errorf("got %+v", again)
	}
}

// TestStepsOfABatch: a batch calls a contract several times, all or nothing.
func TestStepsOfABatch(t *testing.T) {
	c := contracttest.New(t)
	alice, bob := c.Account("alice"), c.Account("bob")
	k := token(c, t, "Gold")
	give := func(amount uint64) client.Action {
		action, err := client.Call(k.ID, "transfer", args{"to": bob, "amount": amount}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return action
	}
	c.Batch(alice, []client.Action{give(10), client.Transfer(bob.Account, 5), give(20)}).Must(t)
	c.Batch(alice, []client.Action{give(10), give(1 << 40)}).Reverts(t, "balance is too low")
	shows(t, k, "balanceOf", args{"address": bob}, "30")
}
