package ledger

import (
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// startOf returns the data that begins a chain at a block, with its parent.
func (c *provenChain) startOf(block types.Block, bundle []byte) Start {
	c.t.Helper()
	return Start{
		Parent: c.before.Tip().Header, Block: must(Receive(types.Regtest, block.Encode()))(c.t), Bundle: bundle,
		Fetch: c.fetch(),
	}
}

// only returns the chain's single engine.
func (c *provenChain) only() Fallback {
	return Fallback{Engines: []NamedEngine{named("the engine", c.engine, new(int))}}
}

// start begins another chain in an empty store, and closes the store with the test.
func (c *provenChain) start(trusted types.BlockHash, s Start) (*chain.Store, error) {
	c.t.Helper()
	db := must(kv.Open("db", kv.Options{FS: kv.NewCrashDisk().FS()}))(c.t)
	store := must(chain.Open(db, chain.Options{Schedule: params.Prices.Digest(), Stateless: true}))(c.t)
	c.t.Cleanup(func() { closeStore(c.t, store, db) })
	s.Trusted = trusted
	return store, StartStateless(store, testGenesis(c.t), nil, c.only(), testBits, s)
}

// TestStartStateless begins a chain at each block of a chain with all kinds of blocks, and follows it from there.
func TestStartStateless(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	g := testGenesis(t)
	var followers []*Stateless
	for h := types.Height(1); h <= c.primary.Tip().Header.Header.Height; h++ {
		block, accesses := c.next()
		bundle := c.prove(block.Signed(), accesses)
		for i, f := range followers {
			proven := must(f.Verify(must(Receive(types.Regtest, block.Encode()))(t), bundle))(t)
			if _, err := f.Import(proven, c.fetch()); err != nil {
				t.Fatalf("begun at %d, block %d: error %v", i+1, h, err)
			}
		}
		store, err := c.start(block.Header.Hash(), c.startOf(block, bundle))
		if err != nil {
			t.Fatalf("begin at block %d: error %v", h, err)
		}
		followers = append(followers, must(OpenStateless(store, &g, nil, c.engine, testBits))(t))
		must(c.before.Import(must(Receive(types.Regtest, block.Encode()))(t)))(t)
	}
	for i, f := range followers {
		if got, want := f.Tip(), c.primary.Tip(); got.Hash != want.Hash || !got.Parameters.Equal(want.Parameters) ||
			!sameEnv(got.Env, want.Env) {
			t.Errorf("begun at %d: %+v, want %+v", i+1, got, want)
		}
		if oldest := f.Store().OldestHeight(); oldest != types.Height(i+1) {
			t.Errorf("begun at %d, the oldest block is %d", i+1, oldest)
		}
		first := types.Height(1) // the block whose parent is genesis
		if i > 0 {
			first = types.Height(i + 2)
			if _, err := f.Store().Proof(first - 1); !errors.Is(err, chain.ErrPruned) {
				t.Errorf("begun at %d, the proof of the block without its parent: error %v, want %v",
					i+1, err, chain.ErrPruned)
			}
		}
		for h := first; h <= f.Tip().Header.Header.Height; h++ {
			if proof := must(f.Store().Proof(h))(t); len(proof) == 0 {
				t.Errorf("begun at %d: block %d has no proof", i+1, h)
			}
		}
		if report := must(chain.Check(t.Context(), f.Store(), nil))(t); !report.OK() || report.StateKeys != 1 {
			t.Errorf("begun at %d: got %+v", i+1, report)
		}
	}
}

// TestStartStatelessRefuses begins chains with a block other than the trusted one, or with evidence that does not show
// that it is valid.
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
		{
			"another parent", block, honest, func(s *Start) { s.Parent = must(c.primary.Store().Header(0))(t) }, is(ErrEvidence),
		},
		{"no bundle", block, nil, nil, is(ErrEvidence)},
		{"no proof", block, changedBundle(t, honest, func(b *blockproof.Bundle) { b.Proof = nil }), nil, is(ErrEvidence)},
		{"other parameters, with which the producer is another", block, changedBundle(t, honest, func(b *blockproof.Bundle) {
			b.Accesses = withParameters(other.Encode())
		}), nil, is(ErrOtherSigner)},
		{"parameters that cannot be", block, changedBundle(t, honest, func(b *blockproof.Bundle) {
			b.Accesses = withParameters(types.Parameters{}.Encode())
		}), nil, is(ErrEvidence)},
		{
			"no parameters", block, changedBundle(t, honest, func(b *blockproof.Bundle) { b.Accesses = withParameters(nil) }),
			nil, is(ErrEvidence),
		},
		{"a block of another key than the producer's", byOther, c.prove(byOther.Signed(), list), nil, is(ErrOtherSigner)},
		{
			"a block that is not what its transactions do", poor, c.prove(poor.Signed(), unchanged(list)), nil,
			func(err error) bool { return errors.As(err, &invalid) },
		},
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
		parameters func(value []byte, proof tree.MerkleProof) ([]byte, tree.MerkleProof, error)
		want       func(error) bool
	}{
		{
			"other parameters",
			func(_ []byte, p tree.MerkleProof) ([]byte, tree.MerkleProof, error) { return other.Encode(), p, nil },
			is(ErrEvidence),
		},
		{"no proof of them", func(v []byte, _ tree.MerkleProof) ([]byte, tree.MerkleProof, error) {
			return v, tree.MerkleProof{}, nil
		}, is(ErrEvidence)},
		{"none", func([]byte, tree.MerkleProof) ([]byte, tree.MerkleProof, error) {
			return nil, tree.MerkleProof{}, wrong
		}, is(wrong)},
	} {
		t.Run("before an empty block: "+test.name, func(t *testing.T) {
			s := c.startOf(empty, bundle)
			honest := s.Fetch.Value
			s.Fetch.Value = func(key []byte) ([]byte, tree.MerkleProof, error) {
				value, proof, err := honest(key)
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
	s := c.startOf(empty, bundle)
	s.Trusted = empty.Header.Hash()
	err := StartStateless(c.store, foreign, nil, c.only(), testBits, s)
	if !errors.Is(err, ErrUntrusted) {
		t.Errorf("a block of another chain: error %v, want %v", err, ErrUntrusted)
	}
	if _, err := c.store.Restore(); !errors.Is(err, chain.ErrBadEntry) {
		t.Errorf("a store that has a chain is begun anew: error %v, want %v", err, chain.ErrBadEntry)
	}
}

// withoutState makes a start one from a node without state, which has some headers and bundles.
func (c *provenChain) withoutState(s Start, bundles map[types.Height][]byte) Start {
	s.Fetch.Value = func([]byte) ([]byte, tree.MerkleProof, error) { return nil, tree.MerkleProof{}, chain.ErrNoState }
	s.Headers = func(to types.Height) (headers []types.SignedHeader, err error) {
		for h := to - min(to, 1); h <= to; h++ { // ranges of two blocks
			headers = append(headers, must(c.primary.Store().Header(h))(c.t))
		}
		return headers, nil
	}
	s.Earlier = func(block types.SignedHeader) ([]byte, error) {
		h := block.Header.Height
		if bundles[h] == nil {
			return nil, chain.ErrPruned
		}
		return bundles[h], nil
	}
	return s
}

// TestStartStatelessFromItsKind begins at empty blocks with the data of a node without state: the newest block that
// changed the state shows the parameters, whether it changed them or not. False and missing data are detected.
func TestStartStatelessFromItsKind(t *testing.T) {
	c := newProvenChain(t)
	p := c.primary.Tip().Parameters
	p.GasLimit += 1_000_000
	build(t, c.primary)
	build(t, c.primary, transfer(t, "alice", 0, types.Account(testKey(t, "producer").PublicKey()), 500*types.CoinUnits))
	build(t, c.primary, signedBy(t, "producer", 0, types.ContractID{}, types.Configure{Parameters: p}))
	build(t, c.primary)
	build(t, c.primary, transfer(t, "bob", 0, types.Account{9}, 7))
	for range 3 {
		build(t, c.primary)
	}
	// the blocks that changed the parameters, those that changed anything, and the last one
	const changed, newest, last = 3, 5, 8
	bundles := make(map[types.Height][]byte)
	var first, second, final Start
	// bundle of the newest block that changed anything, whose list lacks the parameters, as it only read them
	var short []byte
	for h := types.Height(1); h <= last; h++ {
		block, list := c.next()
		bundles[h] = c.prove(block.Signed(), list)
		s := c.withoutState(c.startOf(block, bundles[h]), bundles)
		switch h {
		case 1:
			first = s
		case newest:
			short = c.prove(block.Signed(), without(list, state.ParametersKey()))
		case changed + 1:
			second = s
		case last:
			final = s
		}
		c.follow()
	}
	for _, s := range []Start{first, second, final} {
		h := s.Block.Header().Header.Height
		for _, gone := range []error{chain.ErrNoState, chain.ErrPruned} {
			s.Fetch.Value = func([]byte) ([]byte, tree.MerkleProof, error) { return nil, tree.MerkleProof{}, gone }
			store, err := c.start(s.Block.hash, s)
			if err != nil {
				t.Errorf("begin at block %d: %v: error %v", h, gone, err)
				continue
			}
			g := testGenesis(t)
			begun := must(OpenStateless(store, &g, nil, c.engine, testBits))(t)
			if got := begun.Tip(); got.Header.Header.Height != h || got.Parameters.Equal(p) != (h > changed) ||
				h == last && !sameTip(got, c.primary.Tip()) {
				t.Errorf("begun at block %d: got %+v", h, got)
			}
		}
	}
	headers := func(change func([]types.SignedHeader) []types.SignedHeader) func(*Start) {
		return func(s *Start) {
			honest := s.Headers
			s.Headers = func(to types.Height) ([]types.SignedHeader, error) {
				list, err := honest(to)
				return change(list), err
			}
		}
	}
	earlier := func(bundle []byte) func(*Start) {
		return func(s *Start) {
			s.Earlier = func(types.SignedHeader) ([]byte, error) { return bundle, nil }
		}
	}
	lost := errors.New("the test")
	other := p
	other.Producer = testKey(t, "alice").PublicKey()
	for _, test := range []struct {
		name   string
		change func(*Start)
		want   error
	}{
		{"no headers", headers(func([]types.SignedHeader) []types.SignedHeader { return nil }), ErrEvidence},
		{
			"headers of other heights", headers(func(list []types.SignedHeader) []types.SignedHeader { return list[:1] }),
			ErrEvidence,
		},
		{"a header of another root", headers(func(list []types.SignedHeader) []types.SignedHeader {
			list[0].Header.StateRoot[0] ^= 1
			return list
		}), ErrEvidence},
		{"a header that nobody signed", headers(func(list []types.SignedHeader) []types.SignedHeader {
			list[0].Seal.Signature[0] ^= 1
			return list
		}), ErrEvidence},
		{"headers that are gone", func(s *Start) {
			s.Headers = func(types.Height) ([]types.SignedHeader, error) { return nil, lost }
		}, lost},
		{"a bundle that is gone", func(s *Start) {
			s.Earlier = func(types.SignedHeader) ([]byte, error) { return nil, lost }
		}, lost},
		{"no bundle", earlier(nil), ErrEvidence},
		{"another block's bundle", earlier(bundles[changed]), ErrEvidence},
		{"other parameters", earlier(changedBundle(t, bundles[newest], func(b *blockproof.Bundle) {
			b.Accesses = withChanged(b.Accesses, state.ParametersKey(), other.Encode())
			parametersIn(b.Accesses).Old = other.Encode()
		})), ErrEvidence},
		{"a true list without the parameters", earlier(short), ErrEvidence},
		{"false parameters of a node with state", func(s *Start) {
			s.Fetch.Value = func([]byte) ([]byte, tree.MerkleProof, error) { return other.Encode(), tree.MerkleProof{}, nil }
		}, ErrEvidence},
	} {
		s := final
		test.change(&s)
		store, err := c.start(s.Block.hash, s)
		if !errors.Is(err, test.want) || !store.Empty() {
			t.Errorf("%s: error %v, the store is empty: %v", test.name, err, store.Empty())
		}
		if gone := test.want == lost; gone &&
			!strings.Contains(err.Error(), "use another upstream, or trust a block that is newer or has transactions") {
			t.Errorf("%s: nothing says what to do: error %v", test.name, err)
		}
	}
	// A chain with only empty blocks, whose genesis is a different one.
	if _, err := first.parameters(testGenesis(t), types.StateRoot{}, testBits); !errors.Is(err, ErrUntrusted) {
		t.Errorf("of another genesis: error %v, want %v", err, ErrUntrusted)
	}
}

// is reports whether an error is another.
func is(want error) func(error) bool {
	return func(err error) bool { return errors.Is(err, want) }
}

// A start goes back a limited number of empty blocks, however many an answer has.
func TestWalkIsBounded(t *testing.T) {
	changed := errors.New("the block that changed the state is asked for")
	for _, test := range []struct {
		empty int // number of blocks up to the parent, beginning with the one that changed the state
		want  error
	}{{mostWalked, changed}, {mostWalked + 1, errFarWalk}} {
		headers := make([]types.SignedHeader, test.empty+10)
		lowest := len(headers) - test.empty
		for h := range headers {
			headers[h].Header.Height = types.Height(h)
			if h < lowest {
				headers[h].Header.StateRoot[0] = 1
			}
			if h > 0 {
				headers[h].Header.Parent = headers[h-1].Header.Hash()
			}
		}
		s := Start{
			Parent:  headers[len(headers)-1],
			Headers: func(to types.Height) ([]types.SignedHeader, error) { return headers[max(0, int(to)-999) : to+1], nil },
			Earlier: func(block types.SignedHeader) ([]byte, error) {
				if h := block.Header.Height; h != types.Height(lowest) {
					t.Errorf("the bundle of block %d is asked for, the state was changed by %d", h, lowest)
				}
				return nil, changed
			},
		}
		if _, err := s.written(testBits); !errors.Is(err, test.want) {
			t.Errorf("%d empty blocks: error %v, want %v", test.empty, err, test.want)
		}
	}
}
