package exec

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// keyPolicy returns a policy of one key, with a recovery by another key after a delay in milliseconds; 0 is no
// recovery.
func keyPolicy(owner, heir crypto.PrivateKey, delay uint64) types.Policy {
	p := types.Policy{Owner: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: owner.PublicKey()}}}}
	if delay > 0 {
		p.Recovery = &types.Recovery{Delay: delay, Rule: types.Rule{
			Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: heir.PublicKey()}},
		}}
	}
	return p
}

// byPolicy is the witness of a policy by one key.
func byPolicy(p types.Policy, key crypto.PrivateKey, message [32]byte) types.WitnessPolicy {
	return single(p, types.EvidenceKey{Signature: keyWitness(key, message).Signature})
}

// TestSetPolicy checks the records and logs of policies, recoveries and their ends, with the price of each.
func TestSetPolicy(t *testing.T) {
	owner, heir := testKey("owner"), testKey("heir")
	policy, other := keyPolicy(owner, heir, 5_000), keyPolicy(heir, owner, 0)
	c := newTestChain(t)
	self := account(alice)
	set := func(recovery bool, p *types.Policy, key crypto.PrivateKey, in *types.Policy) Result {
		t.Helper()
		tx := c.plain(self)
		with(types.SetPolicy{Recovery: recovery, Policy: p}).in(&tx)
		signed := types.SignedTransaction{Transaction: tx}
		if recovery {
			payer := account(bob)
			signed.Payer = &payer
			signed.PayerWitness = keyWitness(bob, types.PayerHash(signed.Hash()))
		}
		if in == nil {
			signed.Witness = keyWitness(key, signed.Hash())
		} else {
			signed.Witness = byPolicy(*in, key, signed.Hash())
		}
		return c.block(c.verify(signed))
	}
	check := func(r Result, name string, bytes int, topic types.Account, from uint64) {
		t.Helper()
		receipt, record := r.Receipts[0], c.state[string(state.AccountKey(self))]
		if len(receipt.Logs) != 1 || receipt.Status != types.StatusSuccess || len(record) != bytes {
			t.Fatalf("%d logs, status %d, a record of %d bytes, want %d", len(receipt.Logs), receipt.Status, len(record), bytes)
		}
		log := receipt.Logs[0]
		var data []byte
		if from > 0 {
			data = le64(from)
		}
		if !log.Contract.IsZero() || log.Name != name || len(log.Topics) != 2 || log.Topics[0] != self ||
			log.Topics[1] != topic || string(log.Data) != string(data) {
			t.Errorf("log %+v", log)
		}
		payload := r.Transactions[0].Signed().Payload
		want := 31_000 + 16*types.Gas(len(types.EncodePayload(payload)))
		want += 5_000
		if w, ok := r.Transactions[0].Signed().Witness.(types.WitnessPolicy); ok {
			want += 2_000 + 16*types.Gas(types.WitnessBytes(w))
		}
		if r.Transactions[0].Signed().Payer != nil {
			want += 15_000 + 5_000
		}
		if receipt.GasUsed != want {
			t.Errorf("it took %d gas, want %d", receipt.GasUsed, want)
		}
	}
	check(set(false, &policy, alice, nil), types.PolicySet, 48, policy.Hash(), 0)
	started := set(true, nil, heir, &policy)
	check(started, types.RecoveryStarted, 88, self, started.Header.Timestamp+5_000)
	started = set(true, &other, heir, &policy) // replaces the one that is pending
	check(started, types.RecoveryStarted, 88, other.Hash(), started.Header.Timestamp+5_000)
	check(set(false, &policy, owner, &policy), types.PolicySet, 48, policy.Hash(), 0) // the owner stops the recovery
	started = set(true, &other, heir, &policy)
	from := started.Header.Timestamp + 5_000
	c.blockAt(from)
	check(set(false, nil, heir, &other), types.PolicySet, 16, self, 0)
}

// TestMaturing: an account's first transaction after a recovery's time writes the new authority, even if the
// transaction fails; a payment to the account does not.
func TestMaturing(t *testing.T) {
	c := newTestChain(t)
	owner, heir := testKey("owner"), testKey("heir")
	policy, next := keyPolicy(owner, heir, 5_000), keyPolicy(heir, owner, 0)
	self := account(alice)
	c.pending(alice, policy, owner, heir, &next)
	record := c.state.account(t, self)
	c.blockAt(record.Pending.From, c.transfer(bob, pay(self, 9).in))
	paid := c.state.account(t, self)
	if paid.Pending == nil || *paid.Pending != *record.Pending || *paid.Authority != policy.Hash() ||
		paid.Balance != record.Balance+9 {
		t.Errorf("a payment left %+v of %+v", paid, record)
	}
	tx := c.plain(self)
	pay(fresh, 1).in(&tx)
	tx.GasLimit = 20_000
	result := c.block(c.verify(types.SignedTransaction{Transaction: tx, Witness: byPolicy(next, heir, tx.Hash())}))
	if result.Reasons[0] != OutOfGas {
		t.Fatalf("ended %q, want %q", result.Reasons[0], OutOfGas)
	}
	if got := c.state.account(t, self); got.Pending != nil || *got.Authority != next.Hash() || got.Nonce != paid.Nonce+1 {
		t.Errorf("it has %+v", got)
	}
}

// pending brings the key's account under a policy and begins a recovery to another policy, with bob as payer.
func (c *testChain) pending(key crypto.PrivateKey, policy types.Policy, owner, heir crypto.PrivateKey, next *types.Policy) {
	c.t.Helper()
	c.block(c.transfer(key, with(types.SetPolicy{Policy: &policy}).in))
	tx := c.plain(account(key))
	payer := account(bob)
	tx.Payer = &payer
	with(types.SetPolicy{Recovery: true, Policy: next}).in(&tx)
	c.block(c.verify(types.SignedTransaction{
		Transaction: tx, Witness: byPolicy(policy, heir, tx.Hash()), PayerWitness: keyWitness(bob, types.PayerHash(tx.Hash())),
	}))
}

// TestEveryOrder has a change of the payer's policy, a sponsored transaction of an account whose recovery has come into
// force, a contract that makes an account, and that account's first transaction in one block, in every order. Only
// transactions that the order makes invalid are left out.
func TestEveryOrder(t *testing.T) {
	owner, heir := testKey("owner"), testKey("heir")
	first, next := keyPolicy(owner, heir, 2_000), keyPolicy(heir, owner, 0)
	sponsor := keyPolicy(testKey("sponsor"), heir, 0)
	newcomer := keyPolicy(testKey("newcomer"), heir, 0)
	permutations(4, func(order []int) {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			c, e := withMachine(t)
			c.t = t
			child := newcomer.Hash()
			id := c.deploy(e, "payer", 1_000, map[string]script{
				"pays": func(g *guest) { g.call(vm.Transfer, g.put(0x80, child[:]), 5) },
			})
			c.pending(alice, first, owner, heir, &next)
			c.blockAt(c.state.account(t, account(alice)).Pending.From)
			payer := account(producer)

			spends := c.plain(account(alice))
			spends.Payer = &payer
			begins := c.plain(child)
			pay(child, 0).in(&begins)
			begins.Payer, begins.GasLimit = &payer, 60_000 // too little gas to create an entry
			sponsored := func(tx types.Transaction, p types.Policy, key crypto.PrivateKey) *types.VerifiedTx {
				return c.verify(types.SignedTransaction{
					Transaction: tx, Witness: byPolicy(p, key, tx.Hash()),
					PayerWitness: keyWitness(producer, types.PayerHash(tx.Hash())),
				})
			}
			txs := []*types.VerifiedTx{
				c.transfer(producer, with(types.SetPolicy{Policy: &sponsor}).in),
				sponsored(spends, next, heir),
				c.action(bob, 10_000_000, calling(id, "pays", 0)),
				sponsored(begins, newcomer, testKey("newcomer")),
			}
			at := make([]int, len(order)) // positions by transaction
			for i, tx := range order {
				at[tx] = i
			}
			want := []error{nil, nil, nil, nil}
			if at[1] > at[0] {
				want[1] = ErrWrongPolicy
			}
			switch {
			case at[3] < at[2]:
				want[3] = ErrIntrinsicGas
			case at[3] > at[0]:
				want[3] = ErrWrongPolicy
			}
			supply := c.supply()
			run := c.begin()
			var taken []*types.VerifiedTx
			for _, i := range order {
				_, err := run.Apply(txs[i])
				if !errors.Is(err, want[i]) || (err != nil) != (want[i] != nil) {
					t.Fatalf("transaction %d: %v, want %v", i, err, want[i])
				}
				if err == nil {
					taken = append(taken, txs[i])
				}
			}
			result, err := run.Finish()
			if err != nil {
				t.Fatal(err)
			}
			again, err := execute(c.params, c.head, c.state, result.Header, taken, c.machine)
			if err != nil || again.Header != result.Header {
				t.Errorf("an importer has %+v, want %+v, error %v", again.Header, result.Header, err)
			}
			c.state.commit(result.Accesses)
			if c.supply() != supply {
				t.Error("the supply changed")
			}
			if got := c.state.account(t, payer); *got.Authority != sponsor.Hash() {
				t.Errorf("the payer has %+v", got)
			}
			if got := c.state.account(t, account(alice)); (got.Pending == nil) != (want[1] == nil) {
				t.Errorf("the sender has %+v", got)
			}
			if got := c.state.account(t, child); got.Balance != 5 || (got.Nonce == 1) != (want[3] == nil) {
				t.Errorf("the newcomer has %+v", got)
			}
		})
	})
}

// permutations calls f with each order of the numbers below n.
func permutations(n int, f func([]int)) {
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
	next:
		for i := range n {
			for _, taken := range order {
				if taken == i {
					continue next
				}
			}
			extend(append(order[:len(order):len(order)], i))
		}
	}
	extend(nil)
}

// person is an account in a model of authorities: its present signer, and the signer from a time on.
type person struct {
	self      types.Account
	authority string // name of the authority: "" is the account's own key
	next      string
	from      uint64 // 0: nothing is pending
}

// settle applies all effects that are due.
func (p *person) settle(now uint64) {
	if p.from > 0 && now >= p.from {
		p.authority, p.next, p.from = p.next, "", 0
	}
}

// TestAuthorityAgainstModel has random histories of policies, recoveries, spending and paying, with every witness that
// anybody could make. The chain accepts exactly the transactions that the model accepts, and the records are the
// model's.
func TestAuthorityAgainstModel(t *testing.T) {
	histories := 60
	if testing.Short() {
		histories = 10
	}
	names := []string{"", "x", "y", "z"}
	took := map[string]int{}
	for seed := range uint64(histories) {
		r := rand.New(rand.NewPCG(seed, 41))
		c := newTestChain(t)
		policies := map[string]types.Policy{
			"x": keyPolicy(testKey("x"), testKey("heir x"), 1_500),
			"y": keyPolicy(testKey("y"), testKey("heir y"), 4_000),
			"z": keyPolicy(testKey("z"), testKey("heir z"), 0),
		}
		keys := []crypto.PrivateKey{alice, bob, producer}
		people := []*person{{self: account(alice)}, {self: account(bob)}, {self: account(producer)}}
		witness := func(i int, name string, recovery bool, message [32]byte) types.Witness {
			if name == "" {
				return keyWitness(keys[i], message)
			}
			signer := testKey(name)
			if recovery {
				signer = testKey("heir " + name)
			}
			return byPolicy(policies[name], signer, message)
		}
		for range 25 {
			now := c.head.Timestamp + uint64(r.IntN(2_500))
			run := c.beginAt(now)
			for range 1 + r.IntN(4) {
				i, j := r.IntN(3), r.IntN(3)
				sender, payer := people[i], people[j]
				account, err := run.state.Account(sender.self)
				if err != nil {
					t.Fatal(err)
				}
				tx := c.plain(sender.self)
				tx.Nonce = account.Nonce
				name, payerName, to := names[r.IntN(4)], names[r.IntN(4)], names[r.IntN(4)]
				recovery := false
				if r.IntN(2) == 0 { // usually the right authority
					name = sender.authority
				}
				if r.IntN(2) == 0 {
					payerName = payer.authority
				}
				if r.IntN(2) == 0 {
					recovery = r.IntN(2) == 0
					set := types.SetPolicy{Recovery: recovery}
					if p, ok := policies[to]; ok {
						set.Policy = &p
					}
					with(set).in(&tx)
				}
				if i != j && (recovery || r.IntN(3) == 0) {
					tx.Payer = &payer.self
				}
				signed := types.SignedTransaction{Transaction: tx, Witness: witness(i, name, recovery, tx.Hash())}
				if tx.Payer != nil {
					signed.PayerWitness = witness(j, payerName, false, types.PayerHash(tx.Hash()))
				}
				verified := types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0]
				holds := verified != nil
				// The model.
				senderNow, payerNow := *sender, *payer
				senderNow.settle(now)
				payerNow.settle(now)
				valid := name == senderNow.authority && (tx.Payer == nil || payerName == payerNow.authority)
				if recovery {
					valid = valid && tx.Payer != nil && name != "" && policies[name].Recovery != nil
				}
				if !holds {
					if valid {
						t.Fatalf("a witness that should hold does not")
					}
					continue
				}
				_, err = run.Apply(verified)
				if (err == nil) != valid {
					t.Fatalf("history %d: %q for %+v, payer %q: %v, the model says %v", seed, name, *sender, payerName, err, valid)
				}
				if !valid {
					took["refused"]++
					continue
				}
				*sender = senderNow
				if _, is := tx.Payload.(types.SetPolicy); !is {
					took["spent"]++
					continue
				}
				if recovery {
					sender.next, sender.from = to, now+policies[name].Recovery.Delay
					took["recoveries"]++
				} else {
					sender.authority, sender.next, sender.from = to, "", 0
					took["policies"]++
				}
			}
			result, err := run.Finish()
			if err != nil {
				t.Fatal(err)
			}
			c.head = result.Header
			c.state.commit(result.Accesses)
			for _, p := range people {
				c.checkPerson(p, policies)
				if p.from > 0 && now >= p.from {
					took["due"]++
				}
			}
		}
	}
	for _, what := range []string{"refused", "spent", "recoveries", "policies", "due"} {
		if took[what] < histories/2 {
			t.Errorf("%s came %d times only: got %v", what, took[what], took)
		}
	}
}

// checkPerson compares an account's record with the model's.
func (c *testChain) checkPerson(p *person, policies map[string]types.Policy) {
	c.t.Helper()
	hash := func(name string) types.Account {
		if name == "" {
			return p.self
		}
		return policies[name].Hash()
	}
	encoded := c.state[string(state.AccountKey(p.self))]
	got := c.state.account(c.t, p.self)
	want := append(le64(uint64(got.Balance)), le64(got.Nonce)...)
	if authority := hash(p.authority); authority != p.self || p.from > 0 {
		want = append(want, authority[:]...)
	}
	if p.from > 0 {
		next := hash(p.next)
		want = append(append(want, next[:]...), le64(p.from)...)
	}
	if !bytes.Equal(encoded, want) {
		c.t.Fatalf("%+v has %x, want %x", *p, encoded, want)
	}
}
