package ledger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// union is the list of the primary's blocks in a range as one block.
func (c *provenChain) union(first, last types.Height) []types.Access {
	c.t.Helper()
	var lists [][]types.Access
	for h := first; h <= last; h++ {
		lists = append(lists, must(c.primary.Store().Accesses(h))(c.t))
	}
	return must(blockproof.UnionAccesses(lists))(c.t)
}

// proveRange returns the encoded range of blocks after the state before, with a list.
func (c *provenChain) proveRange(blocks []types.Block, list []types.Access) []byte {
	c.t.Helper()
	r := blockproof.Range{Headers: []types.SignedHeader{c.before.Tip().Header}, Accesses: list}
	for _, b := range blocks {
		r.Headers = append(r.Headers, b.Signed())
	}
	view := must(c.before.Store().StateAt(c.before.Tip().Header.Header.Height))(c.t)
	defer view.Close()
	change := must(c.before.tree.Prepare(list, parallel.Run))(c.t)
	if err := c.prover.ProveRange(&r, must(change.Witness(view.ValueHashAt))(c.t)); err != nil {
		c.t.Fatal(err)
	}
	return r.Encode()
}

// importRange has the follower import blocks with their range.
func (c *provenChain) importRange(blocks []types.Block, encoded []byte) error {
	c.t.Helper()
	var received []*Received
	for _, b := range blocks {
		received = append(received, must(Receive(types.Regtest, b.Encode()))(c.t))
	}
	proven, err := c.VerifyRange(received, encoded)
	if err != nil {
		return err
	}
	imported, err := c.ImportRange(proven, c.fetch())
	if err == nil && len(imported) != len(blocks) {
		c.t.Errorf("%d of %d blocks are imported", len(imported), len(blocks))
	}
	return err
}

// blocksUpTo returns the primary's blocks in a range.
func (c *provenChain) blocksUpTo(first, last types.Height) (blocks []types.Block) {
	for h := first; h <= last; h++ {
		blocks = append(blocks, encodedBlock(c.t, c.primary, h))
	}
	return blocks
}

// TestStatelessImportsRanges follows a chain with deployments, calls and new parameters by a range, and then block by
// block. It ends with the same chain as the primary.
func TestStatelessImportsRanges(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	head := c.primary.Tip().Header.Header.Height
	last := types.Height(1)
	for 2*last <= head {
		last *= 2
	}
	blocks := c.blocksUpTo(1, last)
	if err := c.importRange(blocks, c.proveRange(blocks, c.union(1, last))); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		must(c.before.Import(must(Receive(types.Regtest, b.Encode()))(t)))(t)
	}
	for h := types.Height(1); h <= last; h++ {
		want := must(c.primary.Store().Accesses(h))(t)
		got := must(c.store.Accesses(h))(t)
		if !bytes.Equal(types.EncodeAccesses(got), types.EncodeAccesses(want)) ||
			must(c.store.Header(h))(t) != must(c.primary.Store().Header(h))(t) {
			t.Errorf("block %d is another", h)
		}
		if _, err := c.store.Proof(h); !errors.Is(err, chain.ErrNotFound) {
			t.Errorf("block %d has a proof of its own: error %v, want %v", h, err, chain.ErrNotFound)
		}
	}
	for c.Tip().Header.Header.Height < head {
		c.follow()
	}
	if ranges := must(c.store.Ranges())(t); len(ranges) != 1 || ranges[0].Newest != last {
		t.Errorf("the ranges %v are kept", ranges)
	}
	report := must(chain.Check(context.Background(), c.store, nil))(t)
	if !report.OK() {
		t.Errorf("%q", report.Problems)
	}
	if got, want := c.Tip(), c.primary.Tip(); got.Hash != want.Hash || !got.Parameters.Equal(want.Parameters) {
		t.Errorf("the tip is %+v, want %+v", got, want)
	}
}

// resigned returns blocks of which one was changed, and the later ones adjusted to it; the producer signed all.
func (c *provenChain) resigned(blocks []types.Block, i int, change func(*types.Header)) []types.Block {
	c.t.Helper()
	blocks = slices.Clone(blocks)
	change(&blocks[i].Header)
	for k := i; k < len(blocks); k++ {
		if k > i {
			blocks[k].Header.Parent = blocks[k-1].Header.Hash()
		}
		blocks[k] = must(types.DecodeBlock(signed(c.t, "producer", blocks[k])))(c.t)
	}
	return blocks
}

// TestStatelessIsNotFooledByRanges gives the follower false ranges. Each proof is valid unless the case says otherwise:
// the blocks' effects show who is to blame, the upstream or the producer.
func TestStatelessIsNotFooledByRanges(t *testing.T) {
	c := newProvenChain(t)
	build(t, c.primary, transfer(t, "alice", 0, types.Account{9}, 7))
	build(t, c.primary, transfer(t, "alice", 1, types.Account{8}, 7))
	build(t, c.primary, transfer(t, "alice", 2, types.Account{9}, 7))
	blocks, list := c.blocksUpTo(1, 2), c.union(1, 2)
	read := slices.IndexFunc(list, func(a types.Access) bool { return !a.Changed() })
	written := slices.IndexFunc(list, func(a types.Access) bool { return a.Changed() && len(a.Old) == 0 })
	other := slices.Clone(list)
	other[written].New = append(bytes.Clone(other[written].New[:len(other[written].New)-1]), 77)
	lessWritten := slices.Delete(slices.Clone(list), written, written+1)
	rootOf := func(list []types.Access) types.StateRoot {
		return must(c.before.tree.Prepare(list, parallel.Run))(t).Root()
	}
	withRoot := func(list []types.Access) []types.Block {
		return c.resigned(blocks, 1, func(h *types.Header) { h.StateRoot = rootOf(list) })
	}
	more := with(list, types.Access{Key: append(bytes.Clone(list[written].Key[:1]), bytes.Repeat([]byte{3}, 32)...)})
	honest := c.proveRange(blocks, list)
	ofBlock := c.prove(blocks[0].Signed(), must(c.primary.Store().Accesses(1))(t))
	changed := bytes.Clone(honest)
	changed[len(changed)/2] ^= 1
	gas := c.resigned(blocks, 0, func(h *types.Header) { h.ReceiptsRoot[3] ^= 1 })
	elsewhere := c.resigned(blocks, 1, func(h *types.Header) { h.Parent[0] ^= 1 })
	var invalid *InvalidBlock
	for name, tc := range map[string]struct {
		blocks   []types.Block
		encoded  []byte
		want     error // nil: the producer is at fault
		accusing types.Height
	}{
		"a changed byte":            {blocks, changed, ErrEvidence, 0},
		"a block's bundle":          {blocks, ofBlock, ErrEvidence, 0},
		"nothing":                   {blocks, nil, ErrEvidence, 0},
		"a key that is not touched": {blocks, c.proveRange(blocks, more), ErrEvidence, 0},
		"without a key that is read": {
			blocks, c.proveRange(blocks, slices.Delete(slices.Clone(list), read, read+1)), ErrEvidence, 0,
		},
		"one block":                   {blocks[:1], honest, ErrNotTogether, 0},
		"three blocks":                {c.blocksUpTo(1, 3), honest, ErrNotTogether, 0},
		"the second alone":            {blocks[1:], honest, ErrOtherHeight, 0},
		"blocks that do not meet":     {elsewhere, honest, ErrNotTogether, 0},
		"another value":               {withRoot(other), c.proveRange(withRoot(other), other), nil, 2},
		"without a written key":       {withRoot(lessWritten), c.proveRange(withRoot(lessWritten), lessWritten), nil, 2},
		"other receipts in the first": {gas, c.proveRange(gas, list), nil, 1},
	} {
		err := c.importRange(tc.blocks, tc.encoded)
		switch {
		case tc.want != nil && !errors.Is(err, tc.want):
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		case tc.want == nil && (!errors.As(err, &invalid) || invalid.Claimed.Header.Height != tc.accusing):
			t.Errorf("%s: %v, want block %d to be invalid", name, err, tc.accusing)
		}
		if c.Tip().Header.Header.Height != 0 || c.store.Head().Header.Height != 0 {
			t.Fatalf("%s: it is imported", name)
		}
	}
	if err := c.importRange(blocks, honest); err != nil {
		t.Errorf("the honest range: error %v", err)
	}
}

// TestFitTogether bounds the blocks that wait in memory until they are imported together.
func TestFitTogether(t *testing.T) {
	following := func(n, size int, gas types.Gas) (blocks []*Received) {
		for i := range n {
			b := &Received{encoded: make([]byte, size)}
			b.header.Header = types.Header{Height: types.Height(i + 1), GasUsed: gas}
			if i > 0 {
				b.header.Header.Parent = blocks[i-1].hash
			}
			b.hash = b.header.Header.Hash()
			blocks = append(blocks, b)
		}
		return blocks
	}
	foreign, apart := following(3, 1, 1), following(3, 1, 1)
	foreign[2].header.Header.Producer[0] ^= 1
	apart[1].header.Header.Parent[0] ^= 1
	for name, c := range map[string]struct {
		blocks []*Received
		fit    bool
	}{
		"as large as may be":       {following(2, mostTogether/2, 0), true},
		"larger":                   {following(2, mostTogether/2+1, 0), false},
		"as much gas as may be":    {following(2, 1, blockproof.MaxRangeGas/2), true},
		"more gas":                 {following(2, 1, blockproof.MaxRangeGas/2+1), false},
		"of another producer":      {foreign, false},
		"one that does not follow": {apart, false},
	} {
		if FitTogether(c.blocks) != c.fit {
			t.Errorf("%s: got %t", name, !c.fit)
		}
	}
}
