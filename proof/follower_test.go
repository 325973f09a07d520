package proof

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

func testKey(t *testing.T, n byte) crypto.PrivateKey {
	t.Helper()
	key, err := crypto.NewPrivateKey([32]byte{31: n})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sealed returns a header sealed by key.
func sealed(t *testing.T, h types.Header, key crypto.PrivateKey) types.SignedHeader {
	t.Helper()
	h.Producer = key.PublicKey()
	hash := h.Hash()
	signature, err := key.Sign(hash[:], [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return types.SignedHeader{Header: h, Seal: types.Seal{Signature: signature}}
}

// after returns the header after the given one, on a state with the parameters p, and the proof of p.
func after(t *testing.T, last types.SignedHeader, p types.Parameters, key crypto.PrivateKey) types.SignedHeader {
	t.Helper()
	root, _ := stateOf(t, p)
	return sealed(t, types.Header{
		Version: 2, ChainID: last.Header.ChainID, Height: last.Header.Height + 1, Parent: last.Header.Hash(),
		Timestamp: last.Header.Timestamp + 1, StateRoot: root,
	}, key)
}

// stateOf returns the root of a state with the parameters p alone, and the proof of p.
func stateOf(t *testing.T, p types.Parameters) (types.StateRoot, *types.MerkleProof) {
	t.Helper()
	return stateOfValue(t, p.Encode())
}

func stateOfValue(t *testing.T, value []byte) (types.StateRoot, *types.MerkleProof) {
	t.Helper()
	var whole tree.Tree
	access := types.Access{Key: state.ParametersKey(), New: value}
	change, err := whole.Prepare([]types.Access{access}, lists.InOrder)
	if err != nil {
		t.Fatal(err)
	}
	whole.Commit(change, lists.InOrder)
	p, err := whole.Prove(access.Key, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := p.Of(access.Key, access.New)
	return whole.Root(), &shown
}

// follower returns a follower at block 5, which key 1 sealed.
func follower(t *testing.T, p types.Parameters, options FollowerOptions) *Follower {
	t.Helper()
	root, _ := stateOf(t, p)
	head := sealed(t, types.Header{Version: 2, ChainID: 7, Height: 5, Timestamp: 1000, StateRoot: root}, testKey(t, 1))
	f, err := NewFollower(head, head.Header.Hash(), options)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNewFollower(t *testing.T) {
	head := sealed(t, types.Header{Version: 2, ChainID: 7, Height: 5}, testKey(t, 1))
	genesis := types.SignedHeader{Header: types.Header{Version: 2, ChainID: 7}}
	newer := sealed(t, types.Header{Version: 3, ChainID: 7, Height: 5}, testKey(t, 1))
	unsealed := head
	unsealed.Seal.Signature[9] ^= 1
	for _, c := range []struct {
		name  string
		head  types.SignedHeader
		trust types.BlockHash
		want  error
	}{
		{"a header", head, head.Header.Hash(), nil},
		{"header 0, without a seal", genesis, genesis.Header.Hash(), nil},
		{"another hash", head, types.BlockHash{1}, ErrRefused},
		{"a seal that does not hold", unsealed, head.Header.Hash(), ErrRefused},
		{"an unknown version", newer, newer.Header.Hash(), ErrUnknownVersion},
	} {
		if _, err := NewFollower(c.head, c.trust, FollowerOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestFollowerRefuses(t *testing.T) {
	p := params.Default(testKey(t, 1).PublicKey())
	change := func(f func(h *types.Header)) func(types.SignedHeader) types.SignedHeader {
		return func(next types.SignedHeader) types.SignedHeader {
			h := next.Header
			f(&h)
			return sealed(t, h, testKey(t, 1))
		}
	}
	for name, c := range map[string]struct {
		next func(types.SignedHeader) types.SignedHeader
		want error
	}{
		"another chain":       {change(func(h *types.Header) { h.ChainID++ }), ErrRefused},
		"a block later":       {change(func(h *types.Header) { h.Height++ }), ErrRefused},
		"a block earlier":     {change(func(h *types.Header) { h.Height -= 2 }), ErrRefused},
		"another parent":      {change(func(h *types.Header) { h.Parent[0] ^= 1 }), ErrFork},
		"before its parent":   {change(func(h *types.Header) { h.Timestamp = 999 }), ErrRefused},
		"after the year 9999": {change(func(h *types.Header) { h.Timestamp = types.MaxTime + 1 }), ErrRefused},
		"another version":     {change(func(h *types.Header) { h.Version = 3 }), ErrParametersNeeded},
		"another producer": {func(next types.SignedHeader) types.SignedHeader {
			return sealed(t, next.Header, testKey(t, 2))
		}, ErrParametersNeeded},
		"another producer upon another parent": {func(next types.SignedHeader) types.SignedHeader {
			next.Header.Parent[0] ^= 1
			return sealed(t, next.Header, testKey(t, 2))
		}, ErrRefused},
		"a seal that does not hold": {func(next types.SignedHeader) types.SignedHeader {
			next.Seal.Signature[40] ^= 1
			return next
		}, ErrRefused},
		"a seal of another header": {func(next types.SignedHeader) types.SignedHeader {
			next.Header.StateRoot[31] ^= 1
			return next
		}, ErrRefused},
		"no seal": {func(next types.SignedHeader) types.SignedHeader {
			next.Seal = types.Seal{}
			return next
		}, ErrRefused},
	} {
		f := follower(t, p, FollowerOptions{})
		head := f.Head()
		next := after(t, head, p, testKey(t, 1))
		err := f.Next(c.next(next), nil)
		if !errors.Is(err, c.want) || !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err := f.Next(head, nil); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: the last header again: error %v, want %v", name, err, ErrRefused)
		}
		if f.Head() != head {
			t.Errorf("%s: the follower went on", name)
		}
		if err := f.Next(next, nil); err != nil {
			t.Errorf("after %s: error %v", name, err)
		}
	}
}

// The proof of the parameters decides, whichever key sealed the header.
func TestFollowerProofs(t *testing.T) {
	one, two := testKey(t, 1), testKey(t, 2)
	mine, others := params.Default(one.PublicKey()), params.Default(two.PublicKey())
	upgrade := func(p types.Parameters, version uint32, from uint64) types.Parameters {
		p.Upgrade = &types.Upgrade{Version: version, From: from}
		return p
	}
	newer := mine
	newer.Version = 3
	for _, c := range []struct {
		name string
		p    types.Parameters // in force
		by   crypto.PrivateKey
		want error // nil: taken
	}{
		{"the same producer", mine, one, nil},
		{"the producer handed over", others, two, nil},
		{"the old producer after it handed over", others, one, ErrRefused},
		{"another producer", mine, two, ErrRefused},
		{"an upgrade later", upgrade(mine, 3, 1002), one, nil},
		{"an upgrade now", upgrade(mine, 3, 1001), one, ErrUnknownVersion},
		{"parameters of a newer version", newer, one, ErrUnknownVersion},
	} {
		f := follower(t, c.p, FollowerOptions{EachProof: true})
		next := after(t, f.Head(), mine, c.by)
		if err := f.Next(next, nil); !errors.Is(err, ErrParametersNeeded) {
			t.Errorf("%s: without a proof: error %v, want %v", c.name, err, ErrParametersNeeded)
		}
		_, proof := stateOf(t, c.p)
		if err := f.Next(next, proof); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestFollowerRefusesProofs(t *testing.T) {
	two := testKey(t, 2)
	p := params.Default(two.PublicKey())
	otherRoot, otherProof := stateOf(t, params.Default(testKey(t, 3).PublicKey()))
	for name, change := range map[string]func(p *types.MerkleProof){
		"another key":         func(p *types.MerkleProof) { p.Key = state.SupplyKey() },
		"another value":       func(p *types.MerkleProof) { p.Value = otherProof.Value },
		"absence":             func(p *types.MerkleProof) { p.Value, p.End.Kind = nil, types.EndEmpty },
		"an end of no kind":   func(p *types.MerkleProof) { p.End.Kind = 3 },
		"a sibling more":      func(p *types.MerkleProof) { p.Siblings = append(p.Siblings, [32]byte{31: 1}) },
		"a sibling above p":   func(p *types.MerkleProof) { p.Siblings = append(p.Siblings, [32]byte{0: 0xff}) },
		"under another state": func(p *types.MerkleProof) { *p = *otherProof },
	} {
		f := follower(t, p, FollowerOptions{})
		next := after(t, f.Head(), p, two)
		_, proof := stateOf(t, p)
		broken := *proof
		change(&broken)
		if err := f.Next(next, &broken); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: error %v, want %v", name, err, ErrRefused)
		}
		if err := f.Next(next, proof); err != nil {
			t.Errorf("after %s: error %v", name, err)
		}
	}
	// A state without parameters.
	root, proof := stateOfValue(t, p.Encode()[:40])
	head := sealed(t, types.Header{Version: 2, Height: 1, StateRoot: root}, two)
	f, err := NewFollower(head, head.Header.Hash(), FollowerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Next(after(t, head, p, two), proof); !errors.Is(err, ErrRefused) {
		t.Errorf("parameters that do not decode: error %v, want %v", err, ErrRefused)
	}
	if otherRoot == root {
		t.Error("two states have one root")
	}
}

func TestFollowerOverride(t *testing.T) {
	one, two := testKey(t, 1), testKey(t, 2)
	p := params.Default(one.PublicKey())
	override := &Override{Height: 7, Parameters: params.Default(two.PublicKey())}
	f := follower(t, p, FollowerOptions{Override: override})
	if err := f.Next(after(t, f.Head(), p, two), nil); !errors.Is(err, ErrParametersNeeded) {
		t.Errorf("before the override: error %v, want %v", err, ErrParametersNeeded)
	}
	if err := f.Next(after(t, f.Head(), p, one), nil); err != nil {
		t.Fatal(err)
	}
	if err := f.Next(after(t, f.Head(), p, one), nil); !errors.Is(err, ErrRefused) || errors.Is(err, ErrParametersNeeded) {
		t.Errorf("by the lost key: error %v", err)
	}
	_, proof := stateOf(t, p)
	if err := f.Next(after(t, f.Head(), override.Parameters, two), proof); err != nil {
		t.Errorf("by the new key, with a proof of what is overridden: error %v", err)
	}
	if err := f.Next(after(t, f.Head(), p, two), nil); err != nil {
		t.Errorf("after the override: error %v", err)
	}
}

// Two headers of one height by one producer end the following. Others at that height do not.
func TestEquivocation(t *testing.T) {
	one := testKey(t, 1)
	p := params.Default(one.PublicKey())
	f := follower(t, p, FollowerOptions{})
	first := after(t, f.Head(), p, one)
	if err := f.Next(first, nil); err != nil {
		t.Fatal(err)
	}
	other := first.Header
	other.Timestamp++
	second := sealed(t, other, one)
	unsealed := second
	unsealed.Seal = first.Seal
	elsewhere := other
	elsewhere.Parent[0] ^= 1
	for name, c := range map[string]struct {
		header types.SignedHeader
		want   error
	}{
		"without its seal":     {unsealed, ErrRefused},
		"by another key":       {sealed(t, other, testKey(t, 2)), ErrRefused},
		"upon another parent":  {sealed(t, elsewhere, one), ErrFork},
		"the same header":      {first, ErrRefused},
		"with another version": {types.SignedHeader{Header: func() types.Header { h := other; h.Version = 3; return h }()}, ErrRefused},
	} {
		var fault *Equivocation
		if err := f.Next(c.header, nil); !errors.Is(err, c.want) || errors.As(err, &fault) {
			t.Errorf("another header of the last block, %s: error %v", name, err)
		}
	}
	err := f.Next(second, nil)
	var fault *Equivocation
	if !errors.As(err, &fault) || fault.First != first || fault.Second != second {
		t.Fatalf("two headers: error %v", err)
	}
	if err := f.Next(after(t, first, p, one), nil); !errors.As(err, &fault) {
		t.Errorf("after it: error %v", err)
	}
	if f.Head() != first {
		t.Error("the follower went on")
	}
}

func TestFindEquivocation(t *testing.T) {
	one := testKey(t, 1)
	a := types.Header{Version: 2, ChainID: 7, Height: 5}
	b := a
	b.GasUsed = 1
	first, second := sealed(t, a, one), sealed(t, b, one)
	if FindEquivocation(first, second) == nil || FindEquivocation(second, first) == nil {
		t.Error("two headers prove nothing")
	}
	change := func(f func(h *types.Header)) types.SignedHeader {
		h := b
		f(&h)
		return sealed(t, h, one)
	}
	unsealed := second
	unsealed.Seal.Signature[0] ^= 1
	for name, other := range map[string]types.SignedHeader{
		"the same":         first,
		"another chain":    change(func(h *types.Header) { h.ChainID++ }),
		"another height":   change(func(h *types.Header) { h.Height++ }),
		"another producer": sealed(t, b, testKey(t, 2)),
		"an invalid seal":  unsealed,
	} {
		if FindEquivocation(first, other) != nil || FindEquivocation(other, first) != nil {
			t.Errorf("%s proves a fault", name)
		}
	}
	genesis, otherGenesis := sealed(t, types.Header{Version: 2}, one), sealed(t, types.Header{Version: 2, GasUsed: 1}, one)
	if FindEquivocation(genesis, otherGenesis) != nil {
		t.Error("two headers 0 prove a fault")
	}
}
