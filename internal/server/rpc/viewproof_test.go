package rpc

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/proof/view"
	"github.com/cairn-chain/cairn/types"
)

func newVerifier(t testing.TB) *view.Verifier {
	v := must(view.New())(t)
	t.Cleanup(func() { check(t, v.Close()) })
	return v
}

// asked is the question of a view call on a test chain.
func (c *testChain) asked(contract types.ContractID, function string, args []byte) view.Question {
	return view.Question{
		Contract: contract,
		Function: function,
		Args:     args,
		ChainID:  c.store.Genesis().ChainID,
		Network:  c.store.Genesis().Network,
		Producer: producer.PublicKey(),
	}
}

// proof returns the node's proof for a call.
func (c *testChain) proof(q view.Question, more ...any) api.ViewProof {
	c.t.Helper()
	return call[api.ViewProof](c, "svc_getViewProof", append([]any{q.Contract, q.Function, api.Data(q.Args)}, more...)...)
}

// TestViewProof compares answers that are computed on proofs with the node's, on latest and past blocks.
func TestViewProof(t *testing.T) {
	s := newHistory(t, chain.Options{}, 12)
	v := newVerifier(t)
	head := s.store.Head().Header.Height
	for height := types.Height(2); height <= head; height++ {
		for _, key := range []types.Account{account(alice), account(bob), {31: 7}, {9}} {
			q := s.asked(s.token, "balanceOf", balanceOf(nep20Holder, key))
			q.Height = &height
			proof := s.proof(q, api.Quantity(height))
			answer, err := v.Verify(t.Context(), q, proof)
			check(t, err)
			want := call[api.Data](s.testChain, "svc_viewCall", q.Contract, q.Function, api.Data(q.Args), api.Quantity(height))
			if !answer.Success || !bytes.Equal(answer.Output, want) || answer.Header.Header.Height != height {
				t.Fatalf("%+v, the node says %s", answer, want)
			}
		}
	}
	q := s.asked(s.token, "decimals", nil)
	code := s.deploy.Payload.(types.Deploy).Code
	known := s.proof(q, "latest", []types.CodeHash{must(codeOf(s))(t)})
	if len(known.Codes) != 0 {
		t.Error("a code is sent that is known")
	}
	_, err := v.Verify(t.Context(), q, known)
	refusedBy(t, "without the code", err, view.StepCode)
	q.Codes = [][]byte{code}
	if answer, err := v.Verify(t.Context(), q, known); err != nil || string(answer.Output) != "6" {
		t.Errorf("got %s, want 6, error %v", answer.Output, err)
	}
}

// codeOf returns the hash of the token's code in the state.
func codeOf(s *historyScenario) (types.CodeHash, error) {
	st, err := s.store.StateAt(s.store.Head().Header.Height)
	if err != nil {
		return types.CodeHash{}, err
	}
	defer st.Close()
	record, err := contractRecord(st, s.token)
	return record.CodeHash, err
}

// TestViewProofOfFailures proves failing calls, and calls that run several contracts.
func TestViewProofOfFailures(t *testing.T) {
	s := newTokenScenario(t)
	s.include(s.costly(alice, 2, 20_000_000, types.Deploy{Name: "chained", Code: chained()}))
	chained := types.NewContractID(account(alice), 2)
	v := newVerifier(t)
	for name, test := range map[string]struct {
		question view.Question
		reason   string
		codes    int
	}{
		"no contract":   {s.asked(types.ContractID{9}, "next", nil), "no_such_contract", 0},
		"no function":   {s.asked(s.token, "nothing", nil), "no_such_function", 1},
		"a revert":      {s.asked(s.token, "balanceOf", []byte(`{}`)), "reverted", 1},
		"a write":       {s.asked(chained, "next", nil), "view_wrote_state", 1},
		"nested":        {s.asked(chained, "next", append(chained[:], chained[:]...)), "reverted", 1},
		"several codes": {s.asked(chained, "next", s.token[:]), "reverted", 2},
	} {
		proof := s.proof(test.question)
		answer, err := v.Verify(t.Context(), test.question, proof)
		if err != nil || answer.Success || answer.Reason != test.reason || len(proof.Codes) != test.codes {
			t.Errorf("%s: %+v with %d codes, error %v", name, answer, len(proof.Codes), err)
		}
	}
	q := s.asked(s.token, "symbol", nil)
	q.Gas = 1000
	if _, err := v.Verify(t.Context(), q, s.proof(q)); !errors.Is(err, view.ErrGas) {
		t.Error("a call with little gas:", err)
	}
	q.Gas = 0
	proof := s.proof(q)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := v.Verify(stopped, q, proof); !errors.Is(err, context.Canceled) {
		t.Error("a call that nobody waits for:", err)
	}
	q.Function = string(make([]byte, types.MaxFunctionBytes+1))
	_, err := v.Verify(t.Context(), q, proof)
	if err == nil || errors.As(err, new(*view.RefusedError)) {
		t.Error("a function that no call can have:", err)
	}
}

func refusedBy(t *testing.T, name string, err error, step view.Step) {
	t.Helper()
	var refused *view.RefusedError
	if !errors.As(err, &refused) || refused.Step != step {
		t.Errorf("%s: %v, want it to be refused by %s", name, err, step)
	}
}

// cloneProof copies a proof for a lie.
func cloneProof(p api.ViewProof) api.ViewProof {
	p.Header, p.Witness, p.Values = slices.Clone(p.Header), slices.Clone(p.Witness), slices.Clone(p.Values)
	p.Codes = slices.Clone(p.Codes)
	for i, v := range p.Values {
		p.Values[i].Key = slices.Clone(v.Key)
		if v.Value != nil {
			p.Values[i].Value = new(slices.Clone(*v.Value))
		}
	}
	return p
}

// TestHostileViewProofs changes an honest answer in every way; a step refuses each.
func TestHostileViewProofs(t *testing.T) {
	s := newTokenScenario(t)
	v := newVerifier(t)
	q := s.asked(s.token, "balanceOf", balanceOf(nep20Holder, account(bob)))
	before := s.proof(q, api.Quantity(1)) // bob had nothing
	height := s.store.Head().Header.Height
	q.Height, q.AtLeast = &height, height
	honest := s.proof(q)
	answer, err := v.Verify(t.Context(), q, honest)
	if err != nil || string(answer.Output) != "1500000" {
		t.Fatalf("got %s, want 1500000, error %v", answer.Output, err)
	}
	other := s.proof(s.asked(s.token, "balanceOf", balanceOf(nep20Holder, account(alice))))
	alices := account(alice)
	record := slices.IndexFunc(honest.Values, func(v api.ViewValue) bool {
		return bytes.Equal(v.Key, state.ContractKey(s.token))
	})
	stored := slices.IndexFunc(honest.Values, func(v api.ViewValue) bool { return v.Key[0] == byte(state.DomainStorage) })
	if record < 0 || stored < 0 {
		t.Fatal("the proof lacks what the call reads")
	}
	for _, lie := range []struct {
		name string
		step view.Step
		tell func(p *api.ViewProof, q *view.Question)
	}{
		{"a key missing", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Values = slices.Delete(p.Values, stored, stored+1)
		}},
		{"a key too many", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Values = append(p.Values, api.ViewValue{Key: append(slices.Clone(p.Values[len(p.Values)-1].Key), 3)})
		}},
		{"a key that is not read, with its witness", view.StepExecute, func(p *api.ViewProof, _ *view.Question) {
			s.show(p, height, append(keysOf(p), state.AccountKey(alices)))
		}},
		{"a key missing, with a witness without it", view.StepExecute, func(p *api.ViewProof, _ *view.Question) {
			s.show(p, height, slices.Delete(keysOf(p), stored, stored+1))
		}},
		{"another key", view.StepWitness, func(p *api.ViewProof, _ *view.Question) { p.Values[stored].Key[40] ^= 1 }},
		{"a key twice", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Values = slices.Insert(p.Values, stored, p.Values[stored])
		}},
		{"keys in another order", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Values[0], p.Values[1] = p.Values[1], p.Values[0]
		}},
		{"a value changed", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			(*p.Values[stored].Value)[0] ^= 1
		}},
		{"a value absent", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Values[stored].Value = nil
		}},
		{"an empty value", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Values[stored].Value = new(api.Data{})
		}},
		{"another code in the record", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			(*p.Values[record].Value)[0] ^= 1
		}},
		{"another header", view.StepHeader, func(p *api.ViewProof, _ *view.Question) { p.Header[200] ^= 1 }},
		{"another seal", view.StepHeader, func(p *api.ViewProof, _ *view.Question) { p.Header[270] ^= 1 }},
		{"another producer", view.StepHeader, func(_ *api.ViewProof, q *view.Question) {
			q.Producer = bob.PublicKey()
		}},
		{"another chain", view.StepHeader, func(_ *api.ViewProof, q *view.Question) { q.ChainID++ }},
		{"genesis, which nobody seals", view.StepHeader, func(p *api.ViewProof, _ *view.Question) {
			genesis := must(s.store.Header(0))(t)
			p.Header = genesis.Encode()
		}},
		{"another block's header", view.StepHeight, func(p *api.ViewProof, _ *view.Question) {
			p.Header = before.Header
		}},
		{"another height", view.StepHeight, func(p *api.ViewProof, _ *view.Question) { *p = cloneProof(before) }},
		{"an old height", view.StepHeight, func(p *api.ViewProof, q *view.Question) {
			*p, q.Height = cloneProof(before), nil
		}},
		{"another header that is sealed", view.StepWitness, func(p *api.ViewProof, q *view.Question) {
			p.Header, q.Height, q.AtLeast = before.Header, nil, 0
		}},
		{"a long header", view.StepSize, func(p *api.ViewProof, _ *view.Question) { p.Header = append(p.Header, 0) }},
		{"another call", view.StepExecute, func(p *api.ViewProof, _ *view.Question) { *p = cloneProof(other) }},
		{"another contract", view.StepExecute, func(_ *api.ViewProof, q *view.Question) { q.Contract[3] ^= 1 }},
		{"a witness cut short", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Witness = p.Witness[:len(p.Witness)-1]
		}},
		{"a witness without its last digest", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Witness = p.Witness[:len(p.Witness)-32]
		}},
		{"a longer witness", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Witness = append(p.Witness, 0)
		}},
		{"a witness that is too long", view.StepSize, func(p *api.ViewProof, _ *view.Question) {
			p.Witness = make([]byte, api.MaxViewWitnessBytes+1)
		}},
		{"another witness", view.StepWitness, func(p *api.ViewProof, _ *view.Question) {
			p.Witness = before.Witness
		}},
		{"no witness", view.StepWitness, func(p *api.ViewProof, _ *view.Question) { p.Witness = nil }},
		{"no key", view.StepWitness, func(p *api.ViewProof, _ *view.Question) { p.Values = nil }},
		{"another code", view.StepCode, func(p *api.ViewProof, _ *view.Question) { p.Codes[0][100] ^= 1 }},
		{"no code", view.StepCode, func(p *api.ViewProof, _ *view.Question) { p.Codes = nil }},
		{"a code too many", view.StepCode, func(p *api.ViewProof, _ *view.Question) {
			p.Codes = append(p.Codes, chained())
		}},
		{"a code twice", view.StepCode, func(p *api.ViewProof, _ *view.Question) {
			p.Codes = append(p.Codes, p.Codes[0])
		}},
		{"a code that is too long", view.StepSize, func(p *api.ViewProof, _ *view.Question) {
			p.Codes[0] = make([]byte, types.MaxCodeBytes+1)
		}},
		{"too many codes", view.StepSize, func(p *api.ViewProof, _ *view.Question) {
			p.Codes = make([]api.Data, api.MaxViewCodes+1)
		}},
		{"too many keys", view.StepSize, func(p *api.ViewProof, _ *view.Question) {
			p.Values = make([]api.ViewValue, api.MaxViewKeys+1)
		}},
		{"too long a value", view.StepSize, func(p *api.ViewProof, _ *view.Question) {
			p.Values[0].Value = new(make(api.Data, api.MaxViewValueBytes+1))
		}},
		{"too long a key", view.StepSize, func(p *api.ViewProof, _ *view.Question) {
			p.Values[0].Key = make(api.Data, 290)
		}},
	} {
		p, asked := cloneProof(honest), q
		p.Codes[0] = slices.Clone(p.Codes[0])
		lie.tell(&p, &asked)
		_, err := v.Verify(t.Context(), asked, p)
		refusedBy(t, lie.name, err, lie.step)
	}
	refuseMutations(t, v, q, honest)
}

// refuseMutations changes random bytes of a proof. A code that is not in the state is refused by its hash, so none is
// compiled.
func refuseMutations(t *testing.T, v *view.Verifier, q view.Question, honest api.ViewProof) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := cloneProof(honest)
		p.Codes[0] = slices.Clone(p.Codes[0])
		parts := []api.Data{p.Header, p.Witness, p.Codes[0]}
		for _, value := range p.Values {
			if parts = append(parts, value.Key); value.Value != nil {
				parts = append(parts, *value.Value)
			}
		}
		part := parts[random.IntN(len(parts))]
		part[random.IntN(len(part))] ^= 1 << random.IntN(8)
		if _, err := v.Verify(t.Context(), q, p); !errors.As(err, new(*view.RefusedError)) {
			t.Fatalf("a changed proof: error %v", err)
		}
	}
}

// show makes a proof one of these keys.
func (c *testChain) show(p *api.ViewProof, height types.Height, keys [][]byte) {
	slices.SortFunc(keys, bytes.Compare)
	reads := must(c.ledger.ProveAll(c.t.Context(), height, keys))(c.t)
	p.Witness, p.Values = reads.Witness.Encode(), newViewValues(reads.Values)
}

func keysOf(p *api.ViewProof) (keys [][]byte) {
	for _, v := range p.Values {
		keys = append(keys, v.Key)
	}
	return keys
}

// TestViewProofsAreBounded asks for more than a proof may contain.
func TestViewProofsAreBounded(t *testing.T) {
	s := newTokenScenario(t)
	s.refused(invalid, "svc_getViewProof", s.token, "symbol", "0x", "latest", make([]types.CodeHash, api.MaxKnownCodes+1))
	s.refused(api.ErrAboveHead, "svc_getViewProof", s.token, "symbol", "0x", api.Quantity(1000))
	reads := &recorder{state: values{}, keys: make(map[string]struct{})}
	for i := range api.MaxViewKeys {
		if _, err := reads.Get([]byte{byte(i), byte(i >> 8)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := reads.Get([]byte{0, 0}); err != nil {
		t.Error("a key is counted twice:", err)
	}
	if _, err := reads.Get([]byte{1, 1, 1}); !errors.Is(err, api.ErrViewSize) {
		t.Error("a key too many:", err)
	}
	reads = &recorder{state: values{"k": make([]byte, api.MaxViewValueBytes+1)}, keys: make(map[string]struct{})}
	if _, err := reads.Get([]byte("k")); !errors.Is(err, api.ErrViewSize) {
		t.Error("values that are too long:", err)
	}
	var refused *jsonrpc.Error
	if !errors.As(reads.err, &refused) {
		t.Error("the recorder does not keep its error:", reads.err)
	}
}

// values are a state.
type values map[string][]byte

func (v values) Get(key []byte) ([]byte, error) { return v[string(key)], nil }
