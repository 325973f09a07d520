package ledger

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// startOf is what begins a chain at a block that follows the one of before.
func (c *provenChain) startOf(block types.Block, bundle []byte) Start {
	c.t.Helper()
	return Start{
		Parent: c.before.Tip().Header, Block: must(Receive(block.Encode()))(c.t), Bundle: bundle,
		Parameters: func() ([]byte, tree.Proof, error) {
			p, err := c.before.Prove(state.ParametersKey())
			return p.Value, p.Merkle, err
		},
	}
}

// start begins another chain in an empty store; the store is closed with the test.
func (c *provenChain) start(trusted types.BlockHash, s Start) (*chain.Store, error) {
	c.t.Helper()
	db := must(kv.Open("db", kv.Options{FS: kv.NewCrashDisk().FS()}))(c.t)
	store := must(chain.Open(db, chain.Options{Schedule: params.Schedule1.Digest(), Stateless: true}))(c.t)
	c.t.Cleanup(func() { closeStore(c.t, store, db) })
	return store, StartStateless(store, testGenesis(c.t), nil, c.engine, testBits, trusted, s, c.primary.Store().Code)
}

// TestStartStateless begins a chain at each block of one that has all kinds, and follows it from there.
func TestStartStateless(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	g := testGenesis(t)
	var followers []*Stateless
	for h := types.Height(1); h <= c.primary.Tip().Header.Header.Height; h++ {
		block, accesses := c.next()
		bundle := c.prove(block.Signed(), accesses)
		for i, f := range followers {
			proven := must(f.Verify(must(Receive(block.Encode()))(t), bundle))(t)
			if _, err := f.Import(proven, c.primary.Store().Code); err != nil {
				t.Fatalf("begun at %d, block %d: %v", i+1, h, err)
			}
		}
		store, err := c.start(block.Header.Hash(), c.startOf(block, bundle))
		if err != nil {
			t.Fatalf("begin at block %d: %v", h, err)
		}
		followers = append(followers, must(OpenStateless(store, &g, nil, c.engine, testBits))(t))
		must(c.before.Import(must(Receive(block.Encode()))(t)))(t)
	}
	for i, f := range followers {
		if got, want := f.Tip(), c.primary.Tip(); got.Hash != want.Hash || got.Parameters != want.Parameters || got.Env != want.Env {
			t.Errorf("begun at %d: %+v, want %+v", i+1, got, want)
		}
		if oldest := f.Store().OldestHeight(); oldest != types.Height(i+1) {
			t.Errorf("begun at %d, the oldest block is %d", i+1, oldest)
		}
		first := types.Height(1) // whose parent is genesis
		if i > 0 {
			first = types.Height(i + 2)
			if _, err := f.Store().Proof(first - 1); !errors.Is(err, chain.ErrPruned) {
				t.Errorf("begun at %d, the proof of the block without its parent: %v", i+1, err)
			}
		}
		for h := first; h <= f.Tip().Header.Header.Height; h++ {
			if proof := must(f.Store().Proof(h))(t); len(proof) == 0 {
				t.Errorf("begun at %d: block %d has no proof", i+1, h)
			}
		}
		if report := must(chain.Check(t.Context(), f.Store(), nil))(t); !report.OK() || report.StateKeys != 1 {
			t.Errorf("begun at %d: %+v", i+1, report)
		}
	}
}

// TestStartStatelessRefuses begins chains with what is not the trusted block, or does not show that it is valid.
func TestStartStatelessRefuses(t *testing.T) {
	c := newProvenChain(t)
	build(t, c.primary, transfer(t, "alice", 0, types.Account{9}, 7))
	build(t, c.primary, transfer(t, "alice", 1, types.Account{9}, 7))
	build(t, c.primary)
	c.follow()
	block, list := c.next()
	honest := c.prove(block.Signed(), list)
	key := state.ParametersKey()
	other := must(types.DecodeParameters(parametersIn(list).Old))(t)
	other.Producer = testKey(t, "alice").PublicKey()
	byOther := block
	byOther.Header.Producer = other.Producer
	byOther = must(types.DecodeBlock(signed(t, "alice", byOther)))(t)
	poor := c.forged(block, unchanged(list))
	withParameters := func(encoded []byte) []types.Access {
		changed := withChanged(list, key, encoded)
		parametersIn(changed).Old = encoded
		return changed
	}
	var invalid *InvalidBlock
	for _, test := range []struct {
		name   string
		block  types.Block
		bundle []byte
		change func(*Start)
		want   func(error) bool
	}{
		{"another block", encodedBlock(t, c.primary, 1), honest, nil, is(ErrUntrusted)},
		{"another parent", block, honest, func(s *Start) { s.Parent = must(c.primary.Store().Header(0))(t) }, is(ErrEvidence)},
		{"no bundle", block, nil, nil, is(ErrEvidence)},
		{"no proof", block, changedBundle(t, honest, func(b *blockproof.Bundle) { b.Proof = nil }), nil, is(ErrEvidence)},
		{"other parameters, with which the producer is another", block, changedBundle(t, honest, func(b *blockproof.Bundle) {
			b.Accesses = withParameters(other.Encode())
		}), nil, is(ErrOtherSigner)},
		{"parameters that cannot be", block, changedBundle(t, honest, func(b *blockproof.Bundle) {
			b.Accesses = withParameters(types.Parameters{}.Encode())
		}), nil, is(ErrEvidence)},
		{"no parameters", block, changedBundle(t, honest, func(b *blockproof.Bundle) { b.Accesses = withParameters(nil) }), nil, is(ErrEvidence)},
		{"a block of another key than the producer's", byOther, c.prove(byOther.Signed(), list), nil, is(ErrOtherSigner)},
		{"a block that is not what its transactions do", poor, c.prove(poor.Signed(), unchanged(list)), nil, func(err error) bool { return errors.As(err, &invalid) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			trusted := test.block.Header.Hash()
			if test.block.Header.Height != block.Header.Height {
				trusted = block.Header.Hash()
			}
			s := c.startOf(test.block, test.bundle)
			if test.change != nil {
				test.change(&s)
			}
			if store, err := c.start(trusted, s); !test.want(err) || !store.Empty() {
				t.Errorf("error %v, the store is empty: %v", err, store.Empty())
			}
		})
	}
	c.follow()
	empty, list := c.next()
	bundle, wrong := c.prove(empty.Signed(), list), errors.New("the test")
	for _, test := range []struct {
		name       string
		parameters func(value []byte, proof tree.Proof) ([]byte, tree.Proof, error)
		want       func(error) bool
	}{
		{"other parameters", func(_ []byte, p tree.Proof) ([]byte, tree.Proof, error) { return other.Encode(), p, nil }, is(ErrEvidence)},
		{"no proof of them", func(v []byte, _ tree.Proof) ([]byte, tree.Proof, error) { return v, tree.Proof{}, nil }, is(ErrEvidence)},
		{"none", func([]byte, tree.Proof) ([]byte, tree.Proof, error) { return nil, tree.Proof{}, wrong }, is(wrong)},
	} {
		t.Run("before an empty block: "+test.name, func(t *testing.T) {
			s := c.startOf(empty, bundle)
			honest := s.Parameters
			s.Parameters = func() ([]byte, tree.Proof, error) {
				value, proof, err := honest()
				if err != nil {
					return nil, proof, err
				}
				return test.parameters(value, proof)
			}
			if store, err := c.start(empty.Header.Hash(), s); !test.want(err) || !store.Empty() {
				t.Errorf("error %v, the store is empty: %v", err, store.Empty())
			}
		})
	}
	foreign := testGenesis(t)
	foreign.ChainID++
	err := StartStateless(c.store, foreign, nil, c.engine, testBits, empty.Header.Hash(), c.startOf(empty, bundle), nil)
	if !errors.Is(err, ErrUntrusted) {
		t.Errorf("a block of another chain: %v", err)
	}
	if _, err := c.store.Restore(); !errors.Is(err, chain.ErrBadEntry) {
		t.Errorf("a store that has a chain is begun anew: %v", err)
	}
}

// is tells whether an error is another.
func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}
