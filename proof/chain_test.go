package proof

import (
	"errors"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/types"
)

// TestChain verifies a chain from genesis, and from a block in the middle, block by block and as a range. What does not
// begin at the last block is refused, and leaves the chain as it is.
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
				t.Fatalf("from block %d, block %d: %+v, %v", from, h, v, err)
			}
		}
	}
	c := NewChain(0, genesis, 100)
	if v, err := c.Next(r.Encode()); err != nil || v.FromHeight != 1 || c.Height() != last || !c.Signed() {
		t.Errorf("the range: %+v, %v", v, err)
	}
	if _, err := c.Next(r.Encode()); !errors.Is(err, ErrRefused) {
		t.Errorf("the range once more: %v", err)
	}
	if _, err := NewChain(0, types.BlockHash{1}, 100).Next(r.Encode()); !errors.Is(err, ErrRefused) {
		t.Errorf("after another block: %v", err)
	}
	if _, err := NewChain(0, genesis, 128).Next(r.Encode()); !errors.Is(err, ErrRefused) {
		t.Errorf("with more bits than it has: %v", err)
	}
}

// TestChainIsSignedByTheProducer holds headers to the producer that the lists tell of.
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
				headers[k].Header = types.Header{Height: types.Height(k + 1), Producer: s.signers[k]}
			}
			if err := c.follow(headers, s.list); (err == nil) != s.good {
				t.Errorf("%s, step %d: %v", name, i, err)
			}
		}
	}
	c := NewChain(0, types.BlockHash{}, 100)
	if err := c.follow(make([]types.SignedHeader, 2), list(a, b)); !errors.Is(err, ErrHandedOver) {
		t.Errorf("handed over within a range: %v", err)
	}
	back := make([]types.SignedHeader, 3)
	back[0].Header.Producer, back[1].Header.Producer, back[2].Header.Producer = a, b, a
	if err := c.follow(back, list(a, a)); !errors.Is(err, ErrHandedOver) {
		t.Errorf("handed over within a range, and back: %v", err)
	}
	if c.follow(make([]types.SignedHeader, 1), nil) != nil || c.Signed() {
		t.Error("who produces is known without a list")
	}
}
