package proof

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/types"
)

// TestChain verifies a chain from genesis and from a block in the middle, block by block and as a range. Blocks that do
// not follow the last one are refused, and leave the chain unchanged.
func TestChain(t *testing.T) {
	blocks, r := provenchain.Make(t, 100), provenchain.Range(t, 100)
	genesis := blocks[0].Bundle.Parent.Header.Hash()
	last := types.Height(len(blocks))
	for from := types.Height(0); from < last; from += 3 {
		c := NewChain(from, blocks[from].Bundle.Parent.Header.Hash(), 100)
		for h := from + 1; h <= last; h++ {
			for _, other := range []types.Height{h - 1, h + 1} {
				if other < 1 || other > last {
					continue
				}
				if _, err := c.Next(blocks[other-1].Bundle.Encode()); !errors.Is(err, ErrRefused) || c.Height() != h-1 {
					t.Errorf("block %d after block %d: %v, height %d", other, h-1, err, c.Height())
				}
			}
			v, err := c.Next(blocks[h-1].Bundle.Encode())
			if err != nil || v.FromHeight != h || v.Height != h || c.Height() != h || c.Hash() != v.BlockHash || !c.Signed() {
				t.Fatalf("from block %d, block %d: got %+v, error %v", from, h, v, err)
			}
		}
	}
	c := NewChain(0, genesis, 100)
	if v, err := c.Next(r.Encode()); err != nil || v.FromHeight != 1 || c.Height() != last || !c.Signed() {
		t.Errorf("the range: got %+v, error %v", v, err)
	}
	if _, err := c.Next(r.Encode()); !errors.Is(err, ErrRefused) {
		t.Errorf("the range once more: error %v, want %v", err, ErrRefused)
	}
	if _, err := NewChain(0, types.BlockHash{1}, 100).Next(r.Encode()); !errors.Is(err, ErrRefused) {
		t.Errorf("after another block: error %v, want %v", err, ErrRefused)
	}
	if _, err := NewChain(0, genesis, 128).Next(r.Encode()); !errors.Is(err, ErrRefused) {
		t.Errorf("with more bits than it has: error %v, want %v", err, ErrRefused)
	}
}

// TestChainIsSignedByTheProducer compares headers with the producer in the lists.
func TestChainIsSignedByTheProducer(t *testing.T) {
	a, b := types.PublicKey{1}, types.PublicKey{2}
	list := func(before, after types.PublicKey) []types.Access {
		return []types.Access{{
			Key: state.ParametersKey(), Old: params.Default(before).Encode(), New: params.Default(after).Encode(),
		}}
	}
	type step struct {
		signers []types.PublicKey
		list    []types.Access
		good    bool
	}
	of := func(keys ...types.PublicKey) []types.PublicKey { return keys }
	for name, steps := range map[string][]step{
		"one producer":                    {{of(a), list(a, a), true}, {of(a, a), list(a, a), true}, {of(a), nil, true}},
		"another signs":                   {{of(b), list(a, a), false}},
		"another signs in a range":        {{of(a, b, a), list(a, a), false}},
		"another signs an empty block":    {{of(a), list(a, a), true}, {of(b), nil, false}},
		"another signed the empty blocks": {{of(b), nil, true}, {of(a), list(a, a), false}},
		"several signed empty blocks":     {{of(a, b), nil, false}},
		"handed over":                     {{of(a), list(a, b), true}, {of(b), list(b, b), true}, {of(a), list(b, b), false}},
		"handed over, and the old signs":  {{of(a), list(a, b), true}, {of(a), nil, false}},
		"handed over within":              {{of(a, b), list(a, b), false}},
		"told otherwise":                  {{of(a), list(a, a), true}, {of(b), list(b, b), false}},
		"without parameters":              {{of(a), []types.Access{{Key: []byte{1}}}, false}},
		"parameters that are none": {
			{of(a), []types.Access{{Key: state.ParametersKey(), Old: []byte{1}, New: []byte{1}}}, false},
		},
	} {
		c := NewChain(0, types.BlockHash{}, 100)
		for i, s := range steps {
			headers := make([]types.SignedHeader, len(s.signers))
			for k := range headers {
				headers[k].Header = types.Header{Version: 2, Height: types.Height(k + 1), Producer: s.signers[k]}
			}
			if err := c.follow(headers, s.list); (err == nil) != s.good {
				t.Errorf("%s, step %d: error %v", name, i, err)
			}
		}
	}
	c := NewChain(0, types.BlockHash{}, 100)
	if err := c.follow(make([]types.SignedHeader, 2), list(a, b)); !errors.Is(err, ErrHandedOver) {
		t.Errorf("handed over within a range: error %v", err)
	}
	back := make([]types.SignedHeader, 3)
	for i := range back {
		back[i].Header.Version = 2
	}
	back[0].Header.Producer, back[1].Header.Producer, back[2].Header.Producer = a, b, a
	if err := c.follow(back, list(a, a)); !errors.Is(err, ErrHandedOver) {
		t.Errorf("handed over within a range, and back: error %v", err)
	}
	empty := types.SignedHeader{Header: types.Header{Version: 2}}
	if c.follow([]types.SignedHeader{empty}, nil) != nil || c.Signed() {
		t.Error("who produces is known without a list")
	}
}

// A block has the version that the parameters specify for its time.
func TestChainHasTheVersionInForce(t *testing.T) {
	producer := types.PublicKey{1}
	listed := func(p types.Parameters) []types.Access {
		return []types.Access{{Key: state.ParametersKey(), Old: p.Encode(), New: p.Encode()}}
	}
	headers := func(versions ...uint32) []types.SignedHeader {
		all := make([]types.SignedHeader, len(versions))
		for i, version := range versions {
			all[i].Header = types.Header{
				Version: version, Height: types.Height(i + 1), Timestamp: uint64(1000 + i), Producer: producer,
			}
		}
		return all
	}
	plain := params.Default(producer)
	announced, newer := plain, plain
	announced.Upgrade = &types.Upgrade{Version: 3, From: 1001}
	newer.Version = 3
	for _, c := range []struct {
		name    string
		headers []types.SignedHeader
		list    []types.Access
		want    error // nil is not among them
	}{
		{"the version in force", headers(2), listed(plain), nil},
		{"the version in force, in a range", headers(2, 2), listed(plain), nil},
		{"before an upgrade", headers(2), listed(announced), nil},
		{"another", headers(3), listed(plain), errAny},
		{"another in a range", headers(2, 3), listed(plain), ErrHandedOver},
		{"an upgrade in a range", headers(2, 2), listed(announced), ErrHandedOver},
		{"parameters of an unknown version", headers(2), listed(newer), ErrUnknownVersion},
		{"an unknown version without a list", headers(3), nil, ErrUnknownVersion},
	} {
		err := NewChain(0, types.BlockHash{}, 100).follow(c.headers, c.list)
		if c.want == errAny && err != nil {
			continue
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

var errAny = errors.New("any error")

func TestChainOverride(t *testing.T) {
	lost, found := types.PublicKey{1}, types.PublicKey{2}
	before, after := params.Default(lost), params.Default(found)
	write := []types.Access{{Key: state.ParametersKey(), Old: before.Encode(), New: after.Encode()}}
	read := []types.Access{{Key: state.ParametersKey(), Old: before.Encode(), New: before.Encode()}}
	header := func(height types.Height, key types.PublicKey) []types.SignedHeader {
		return []types.SignedHeader{{Header: types.Header{Version: 2, Height: height, Producer: key}}}
	}
	start := func() *Chain {
		c := NewChain(6, types.BlockHash{}, 100)
		c.Override(Override{Height: 8, Parameters: after})
		if err := c.follow(header(7, lost), read); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := start()
	if err := c.follow(header(8, found), write); err != nil {
		t.Errorf("the override: error %v", err)
	}
	if err := c.follow(header(9, found), nil); err != nil {
		t.Errorf("after the override: error %v", err)
	}
	for name, wrong := range map[string]struct {
		headers []types.SignedHeader
		list    []types.Access
	}{
		"by the lost key":  {header(8, lost), write},
		"without a list":   {header(8, found), nil},
		"at another block": {header(7, found), write},
		"upon other parameters": {header(8, found), []types.Access{{
			Key: state.ParametersKey(), Old: after.Encode(), New: after.Encode(),
		}}},
	} {
		if err := start().follow(wrong.headers, wrong.list); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	both := append(header(8, found), header(9, found)...)
	if err := start().follow(both, write); !errors.Is(err, ErrHandedOver) {
		t.Errorf("an override in a range: error %v, want %v", err, ErrHandedOver)
	}
}

// Proofs of blocks with a version that this program does not know are refused before the rest of them is read.
func TestUnknownVersions(t *testing.T) {
	blocks, r := provenchain.Make(t, 100), provenchain.Range(t, 100)
	for _, change := range []func(b *types.SignedHeader, c *types.SignedHeader){
		func(parent, _ *types.SignedHeader) { parent.Header.Version = 3 },
		func(_, header *types.SignedHeader) { header.Header.Version = 1 },
	} {
		b := blocks[1].Bundle
		change(&b.Parent, &b.Header)
		if _, err := Verify(b.Encode(), 100); !errors.Is(err, ErrUnknownVersion) || !errors.Is(err, ErrRefused) {
			t.Errorf("a block: error %v", err)
		}
		changed := r
		changed.Headers = slices.Clone(r.Headers)
		change(&changed.Headers[0], &changed.Headers[4])
		if _, err := VerifyRange(changed.Encode(), 100); !errors.Is(err, ErrUnknownVersion) || !errors.Is(err, ErrRefused) {
			t.Errorf("a range: error %v", err)
		}
	}
}
