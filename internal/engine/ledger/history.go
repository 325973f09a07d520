package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// pastTree is the state tree of a store, which it moves back and forward block by block. Nothing may be appended to the
// store meanwhile.
type pastTree struct {
	store *chain.Store
	state *chain.State // after the head
	tree  *tree.Tree   // after the block at height
	// height, and the value hashes by path of the leaves written since; all other leaves are as at the head
	height  types.Height
	written map[poseidon.Digest]poseidon.Digest
}

// PastWitnesses visits the blocks from … to in ascending order, each with a function that rebuilds the block's witness.
// A rebuilt witness equals the one stored with the block, if any. PastWitnesses uses the blocks' access lists to take
// the state tree back from the head to before the first block, and then forward again. Its time therefore grows with
// all that was written since, and its memory with the number of keys. It calls progress with the steps done and the
// total. Nothing may be appended meanwhile. It returns errors of visit and of the context, [ErrRoot], and errors of the
// store: chain.ErrPruned for a block at or below the oldest height, and chain.ErrAboveHead.
func PastWitnesses(ctx context.Context, store *chain.Store, from, to types.Height, progress func(done, total uint64),
	visit func(h types.Height, witness func() (tree.Witness, error)) error) (err error) {
	p, err := openPast(store, from, to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.state.Close()) }()
	done, total := uint64(0), uint64(p.height-from+1)+uint64(to-from+1)
	step := func() error {
		done++
		progress(done, total)
		return ctx.Err()
	}
	for p.height >= from {
		_, err := p.undoBlock()
		if err := errors.Join(err, step()); err != nil {
			return err
		}
	}
	for h := from; h <= to; h++ {
		if err := p.applyBlock(visit); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// openPast loads the tree of the head. The store must hold the states before the blocks from … to.
func openPast(store *chain.Store, from, to types.Height) (*pastTree, error) {
	head := store.Head().Header.Height
	switch oldest := store.OldestHeight(); {
	case from <= oldest:
		return nil, fmt.Errorf(
			"block %d: %w: the state before a block is kept from block %d on", from, chain.ErrPruned, oldest+1,
		)
	case to > head:
		return nil, fmt.Errorf("block %d: %w, %d", to, chain.ErrAboveHead, head)
	}
	state, err := store.StateAt(head)
	if err != nil {
		return nil, err
	}
	p := &pastTree{store: store, state: state, height: head, written: make(map[poseidon.Digest]poseidon.Digest)}
	if p.tree, err = LoadTree(store); err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return p, nil
}

// RangeWitness collects the input for one proof of the blocks from … to: the range without its proof, and the witness
// of its access list in the state before the range. Time, memory, conditions and errors are as for [PastWitnesses]; it
// also returns blockproof.ErrAccesses and blockproof.ErrStatement.
func RangeWitness(
	ctx context.Context, store *chain.Store, from, to types.Height, progress func(done, total uint64),
) (r blockproof.Range, w tree.Witness, err error) {
	p, err := openPast(store, from, to)
	if err != nil {
		return r, w, err
	}
	defer func() { err = errors.Join(err, p.state.Close()) }()
	for h := from - 1; h <= to; h++ {
		header, err := store.Header(h)
		if err != nil {
			return r, w, err
		}
		r.Headers = append(r.Headers, header)
	}
	if !blockproof.FitsRange(r.Headers[1:]) {
		return r, w, fmt.Errorf("%w: blocks %d to %d used more than %d gas together",
			blockproof.ErrStatement, from, to, blockproof.MaxRangeGas)
	}
	lists := make([][]types.Access, to-from+1)
	for total := uint64(p.height - from + 1); p.height >= from; {
		h := p.height
		list, err := p.undoBlock()
		if err := errors.Join(err, ctx.Err()); err != nil {
			return r, w, err
		}
		if h <= to {
			lists[h-from] = list
		}
		progress(total-uint64(h-from), total)
	}
	if r.Accesses, err = blockproof.UnionAccesses(lists); err != nil {
		return r, w, err
	}
	change, err := p.prepare(r.Accesses, to)
	if err != nil {
		return r, w, err
	}
	w, err = change.Witness(p.valueHash)
	return r, w, err
}

// undoBlock undoes the block at height, and returns its accesses.
func (p *pastTree) undoBlock() ([]types.Access, error) {
	accesses, err := p.store.Accesses(p.height)
	if err != nil {
		return nil, err
	}
	undo := types.Writes(accesses)
	for i := range undo {
		undo[i].Old, undo[i].New = undo[i].New, undo[i].Old
	}
	change, err := p.prepare(undo, p.height-1)
	if err != nil {
		return nil, err
	}
	p.commit(change, p.height-1)
	return accesses, nil
}

// applyBlock visits the block after height and applies it to the tree.
func (p *pastTree) applyBlock(visit func(h types.Height, witness func() (tree.Witness, error)) error) error {
	h := p.height + 1
	accesses, err := p.store.Accesses(h)
	if err != nil {
		return err
	}
	change, err := p.prepare(accesses, h)
	if err != nil {
		return err
	}
	if err := visit(h, func() (tree.Witness, error) { return change.Witness(p.valueHash) }); err != nil {
		return err
	}
	p.commit(change, h)
	return nil
}

// prepare prepares the change that leads to the state after block h, and checks its root against that block's.
func (p *pastTree) prepare(accesses []types.Access, h types.Height) (*tree.Change, error) {
	header, err := p.store.Header(h)
	if err != nil {
		return nil, err
	}
	change, err := p.tree.Prepare(accesses, parallel.Run)
	if err != nil {
		return nil, fmt.Errorf("the state after block %d: %w", h, err)
	}
	if change.Root() != header.Header.StateRoot {
		return nil, fmt.Errorf("%w: %s after block %d, which has %s", ErrRoot, change.Root(), h, header.Header.StateRoot)
	}
	return change, nil
}

func (p *pastTree) commit(change *tree.Change, h types.Height) {
	for _, leaf := range change.Leaves() {
		p.written[leaf.Path] = leaf.ValueHash // zero for a deleted leaf
	}
	p.tree.Commit(change, parallel.Run)
	p.height = h
}

// valueHash returns the value hash of the leaf at a path of the tree.
func (p *pastTree) valueHash(path poseidon.Digest) (poseidon.Digest, error) {
	if hash, found := p.written[path]; found {
		return hash, nil
	}
	return p.state.ValueHashAt(path)
}
