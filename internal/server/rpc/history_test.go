package rpc

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// stateModel is a naive model of the state after a block.
type stateModel struct {
	balances, nonces, tokens map[types.Account]uint64
	gasLimit                 types.Gas
	stateRoot                types.StateRoot
	events                   int // Transfer events of the token since genesis
}

func (m stateModel) clone() stateModel {
	m.balances, m.nonces, m.tokens = maps.Clone(m.balances), maps.Clone(m.nonces), maps.Clone(m.tokens)
	return m
}

// historyScenario is a chain of random blocks with a model that keeps every state.
type historyScenario struct {
	*tokenScenario
	random *rand.Rand
	states []stateModel // by height, from the token's two blocks on; the earlier ones are empty
	people []crypto.PrivateKey
}

func newHistory(t testing.TB, options chain.Options, blocks int) *historyScenario {
	s := &historyScenario{
		tokenScenario: startTokenScenario(t, options), random: rand.New(rand.NewPCG(7, 7)),
		people: []crypto.PrivateKey{alice, bob, producer},
	}
	m := stateModel{
		balances: map[types.Account]uint64{}, nonces: map[types.Account]uint64{}, tokens: map[types.Account]uint64{},
	}
	for _, key := range s.people {
		m.balances[account(key)] = uint64(call[api.Quantity](s.testChain, "svc_getBalance", account(key)))
		m.nonces[account(key)] = uint64(call[api.Quantity](s.testChain, "svc_getTransactionCount", account(key)))
	}
	m.tokens[account(alice)], m.tokens[account(bob)] = tokenSupply-1_500_000, 1_500_000
	m.gasLimit, m.stateRoot, m.events = s.ledger.Tip().Parameters.GasLimit, s.store.Head().Header.StateRoot, 2
	s.states = []stateModel{2: m}
	for range blocks {
		s.states = append(s.states, s.block(m))
		m = s.states[len(s.states)-1]
	}
	return s
}

// block makes a block of random transactions on top of a state, and the model's state after it.
func (s *historyScenario) block(m stateModel) stateModel {
	m = m.clone()
	var txs []types.SignedTransaction
	var apply []func()
	for range s.random.IntN(5) {
		from, to := s.people[s.random.IntN(2)], account(s.people[s.random.IntN(3)])
		sender, amount := account(from), s.random.Uint64N(1000)+1
		if s.random.IntN(4) == 0 {
			to = types.Account{31: byte(s.random.IntN(40))}
		}
		nonce := m.nonces[sender]
		m.nonces[sender]++
		if s.random.IntN(2) == 0 {
			txs = append(txs, s.sign(from, nonce, transfer(to, types.Amount(amount))))
			apply = append(apply, func() { m.balances[sender] -= amount; m.balances[to] += amount })
			continue
		}
		args := fmt.Appendf(nil, `{"to":%q,"amount":%d}`, to, amount)
		txs = append(txs, s.costly(from, nonce, 2_000_000, calling(s.token, 0, types.Call{Function: "transfer", Args: args})))
		apply = append(apply, func() { m.tokens[sender] -= amount; m.tokens[to] += amount; m.events++ })
	}
	if s.random.IntN(4) == 0 {
		p := s.ledger.Tip().Parameters
		p.GasLimit = 1_000_000_000 + types.Gas(s.random.IntN(1000))
		txs = append(txs, s.sign(admin, m.nonces[account(admin)], types.Configure{Parameters: p}))
		m.nonces[account(admin)]++
		apply = append(apply, func() { m.gasLimit = p.GasLimit })
	}
	header := s.include(txs...).Header
	for i, tx := range txs {
		receipt := must(s.store.Receipts(header.Height))(s.t)[i]
		if receipt.Status != types.StatusSuccess {
			s.t.Fatalf("transaction %d of block %d failed", i, header.Height)
		}
		apply[i]()
		m.balances[tx.Sender] -= uint64(receipt.GasUsed) * uint64(effectivePrice(&tx, header))
		m.balances[account(producer)] += uint64(receipt.GasUsed) * (uint64(effectivePrice(
			&tx, header,
		)) - uint64(header.BaseFee))
	}
	m.stateRoot = header.StateRoot
	return m
}

// requireState asks every method with a height parameter for the state after a block, and compares it with the model's.
func (s *historyScenario) requireState(h types.Height) {
	s.t.Helper()
	m := s.states[h]
	equal := func(what string, got, want any) {
		s.t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			s.t.Errorf("%s after block %d: got %v, the model has %v", what, h, got, want)
		}
	}
	someone := types.Account{31: byte(s.random.IntN(40))}
	for _, a := range []types.Account{account(alice), account(bob), account(producer), someone} {
		equal("balance", call[api.Quantity](s.testChain, "svc_getBalance", a, h), api.Quantity(m.balances[a]))
		equal("nonce", call[api.Quantity](s.testChain, "svc_getTransactionCount", a, h), api.Quantity(m.nonces[a]))
		token := call[api.TokenBalance](s.testChain, "svc_getTokenBalance", s.token, a, h)
		equal("token balance", token.Balance, api.Quantity(m.tokens[a]))
		view := call[api.Data](s.testChain, "svc_viewCall", s.token, "balanceOf", api.Data(balanceOf(nep20Holder, a)), h)
		equal("view call", string(view), fmt.Sprint(m.tokens[a]))
		views := call[[]api.ViewResult](s.testChain, "svc_batchViewCall", []any{map[string]any{
			"contract_id": s.token, "function": "balanceOf", "args": api.Data(balanceOf(nep20Holder, a))}}, h)
		equal("view calls", string(views[0].Result), fmt.Sprint(m.tokens[a]))

		proof := call[api.AccountProof](s.testChain, "svc_getAccountProof", a, h)
		verifyProof(s.t, proof)
		equal("proof's height and root", []any{proof.Height, proof.StateRoot}, []any{h, m.stateRoot})
		key := api.Data(append([]byte("\x07balance"), a[:]...))
		proof = call[api.AccountProof](s.testChain, "svc_getStorageProof", s.token, key, h)
		verifyProof(s.t, proof)
		equal("storage proof's height and root", []any{proof.Height, proof.StateRoot}, []any{h, m.stateRoot})
		stored := call[api.Data](s.testChain, "svc_getStorageAt", s.token, key, h)
		var proved api.Data
		if proof.Value != nil {
			proved = *proof.Value
		}
		equal("storage", stored, proved)
		equal("storage that is there", len(stored) > 0, m.tokens[a] > 0)
	}
	parameters := call[api.ParametersInfo](s.testChain, "svc_getParameters", h)
	equal("parameters", []any{parameters.Height, parameters.GasLimit}, []any{h, m.gasLimit})
	verifyProof(s.t, *parameters.Proof)
	equal("parameters' root", parameters.Proof.StateRoot, m.stateRoot)
	equal("block's root", call[api.Block](s.testChain, "svc_getBlockByNumber", h).StateRoot, m.stateRoot)
	events := call[[]api.Event](s.testChain, "svc_getEvents", map[string]any{
		"contract_id": s.token, "event_name": "Transfer", "from_block": s.store.OldestHeight(), "to_block": h})
	if s.store.OldestHeight() == 0 {
		equal("events", len(events), m.events)
	}
}

// TestHistory compares answers at random heights of a random chain with a model that keeps every state.
func TestHistory(t *testing.T) {
	s := newHistory(t, chain.Options{}, 60)
	head := s.store.Head().Header.Height
	s.requireState(2)
	s.requireState(head - 1)
	s.requireState(head)
	for range 10 {
		s.requireState(2 + types.Height(s.random.Uint64N(uint64(head-1))))
	}
}

// TestHistoryOfPruned: the remaining blocks of a pruned chain are unchanged.
func TestHistoryOfPruned(t *testing.T) {
	s := newHistory(t, chain.Options{Retention: 20}, 60)
	check(t, s.store.Prune(t.Context()))
	oldest, head := s.store.OldestHeight(), s.store.Head().Header.Height
	if oldest != head-20 {
		t.Fatalf("the oldest is %d of %d", oldest, head)
	}
	for _, h := range []types.Height{oldest, oldest + 7, head} {
		s.requireState(h)
	}
}

// TestMethodsWithAHeight calls every method that takes a height for blocks at, above and below the stored ones.
func TestMethodsWithAHeight(t *testing.T) {
	for name, retention := range map[string]uint64{"whole": 0, "pruned": 10} {
		s := newHistory(t, chain.Options{Retention: retention}, 20)
		check(t, s.store.Prune(t.Context()))
		oldest, head := s.store.OldestHeight(), s.store.Head().Header.Height
		storage := []any{s.token, "0x07"}
		view := map[string]any{"contract_id": s.token, "function": "symbol"}
		token := types.Height(1) // at genesis there is no token
		for _, m := range []struct {
			method string
			params []any
			since  types.Height // from which on there is something to answer
			above  string       // the answer above the head, if it is not an error
		}{
			{method: "svc_getBalance", params: []any{account(alice)}},
			{method: "svc_getTransactionCount", params: []any{account(alice)}},
			{method: "svc_getAccountProof", params: []any{account(alice)}},
			{method: "svc_getStorageProof", params: storage},
			{method: "svc_getStateProof", params: []any{"0x0001"}},
			{method: "svc_getParameters"},
			{method: "svc_getStorageAt", params: storage, since: token},
			{method: "svc_getTokenBalance", params: []any{s.token, account(alice)}, since: token},
			{method: "svc_viewCall", params: []any{s.token, "symbol", "0x"}, since: token},
			{method: "svc_batchViewCall", params: []any{[]any{view}}},
			{method: "svc_getBlockByNumber", above: "null"},
		} {
			for _, h := range []types.Height{0, 1, oldest - min(oldest, 1), oldest, (oldest + head) / 2, head, head + 1} {
				result, failure := s.post(m.method, append(m.params[:len(m.params):len(m.params)], h)...)
				var code int
				if failure != nil {
					code = failure.Code
				}
				at := fmt.Sprintf("%s, %s of %d, %d to %d", name, m.method, h, oldest, head)
				switch {
				case h > head && m.above != "":
					if string(result) != m.above {
						t.Errorf("%s: got %s %v", at, result, failure)
					}
				case h > head:
					if code != invalid.Code || failure.Data["max"] != float64(head) {
						t.Errorf("%s: got %s %v", at, result, failure)
					}
				case h < oldest:
					if code != api.CodePruned || failure.Data["oldestHeight"] != float64(oldest) {
						t.Errorf("%s: got %s %v", at, result, failure)
					}
				case h < m.since:
					if code != api.ErrNoContract.Code {
						t.Errorf("%s: got %s %v", at, result, failure)
					}
				case failure != nil:
					t.Errorf("%s: got %v %v", at, failure, failure.Data)
				}
			}
		}
		for _, ranged := range [][]any{
			{"svc_getBlocks", map[string]any{"from_height": 0, "to_height": head}},
			{"svc_getEvents", map[string]any{"from_block": 0, "to_block": head}},
		} {
			result, failure := s.post(ranged[0].(string), ranged[1:]...)
			if retention == 0 && failure != nil ||
				retention > 0 && (failure == nil || failure.Data["oldestHeight"] != float64(oldest)) {
				t.Errorf("%s, %v: got %s %v", name, ranged[0], result, failure)
			}
		}
	}
}
