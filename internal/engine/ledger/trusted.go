package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Start is what a stateless chain needs to begin at a block whose hash is trusted. That is the block itself, and what
// shows that it is valid on the state of its parent. The hash commits to that state, too.
type Start struct {
	Trusted types.BlockHash // of the block
	Fetch   Fetch           // gets the codes of contracts that the block calls, and values before it

	Parent types.SignedHeader
	Block  *Received
	Bundle []byte // of the block's proof, encoded

	// What follows is asked for if the block's access list has no parameters, as that of an empty block, and no state is
	// kept.

	// Headers of blocks up to a height, ascending and at least the one of that height.
	Headers func(to types.Height) ([]types.SignedHeader, error)
	// Earlier is the bundle of the newest block up to the parent that changed the state: it shows what the block wrote.
	Earlier func(types.SignedHeader) ([]byte, error)
}

// ErrUntrusted is the error of a start that is not of the trusted block, or of another chain.
var ErrUntrusted = errors.New("this is not the trusted block")

// StartStateless begins a chain in an empty store, which was opened as a stateless one, at a block that is trusted by
// its hash. That block is verified as any later one is: what it takes for granted is its parent's state root. The codes
// of contracts that the block calls are fetched. Errors leave the store empty. They are [ErrUntrusted], [ErrEvidence],
// an [*InvalidBlock], an [*EngineFailure], those of [core.CheckNext] if the trusted block is not its producer's, and
// those of fetch and of s. Any other is a fault of this node.
func StartStateless(store *chain.Store, genesis types.Genesis, override *Override, opinions Opinions, bits int,
	s Start) error {
	l := &Stateless{core: core{store: store, override: override, Opinions: opinions}, bits: bits}
	zero, err := GenesisBlock(genesis)
	if err != nil {
		return err
	}
	if err := s.check(genesis.ChainID, zero.Header.Hash()); err != nil {
		return err
	}
	before, err := s.parameters(genesis, zero.Header.StateRoot, bits)
	if err != nil {
		return err
	}
	p, err := types.DecodeParameters(before)
	if err == nil {
		err = params.Check(p) // they may be anything yet
	}
	if err != nil {
		return fmt.Errorf("%w: the parameters before block %d: %w", ErrEvidence, s.Block.header.Header.Height, err)
	}
	l.tip.Store(l.newTip(s.Parent, p))
	proven, err := l.Verify(s.Block, s.Bundle)
	if err != nil {
		return err
	}
	e, err := l.derive(proven, s.Fetch)
	if err != nil {
		return err
	}
	after := before
	if a := parametersIn(e.Accesses); a != nil {
		after = a.New
	}
	restore, err := store.Restore()
	if err != nil {
		return err
	}
	if err := restore.PutParameters(after); err != nil {
		return errors.Join(err, restore.Discard())
	}
	return restore.Finish(genesis, zero, e)
}

// check holds the block to the hash that is trusted, and its parent to the block.
func (s *Start) check(chainID uint64, genesis types.BlockHash) error {
	h, parent := s.Block.header.Header, s.Parent.Header
	switch {
	case s.Block.hash != s.Trusted:
		return fmt.Errorf("%w: block %d has the hash %s, not %s", ErrUntrusted, h.Height, s.Block.hash, s.Trusted)
	case h.ChainID != chainID:
		return fmt.Errorf("%w: block %d is of chain %d, the genesis of %d", ErrUntrusted, h.Height, h.ChainID, chainID)
	case parent.Hash() != h.Parent || parent.Height+1 != h.Height:
		return fmt.Errorf("%w: what is given as the parent of block %d is another block", ErrEvidence, h.Height)
	case parent.Height == 0 && h.Parent != genesis:
		return fmt.Errorf("%w: block 1 follows the genesis %s, not %s", ErrUntrusted, h.Parent, genesis)
	}
	return nil
}

// parameters are those in the parent's state. Those of the block's list are shown by its proof, which is yet to be
// verified.
func (s *Start) parameters(genesis types.Genesis, first types.StateRoot, bits int) ([]byte, error) {
	b, err := blockproof.DecodeBundleOf(s.Bundle, s.Parent, s.Block.header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	if a := parametersIn(b.Accesses); a != nil {
		return a.Old, nil
	}
	root := s.Parent.Header.StateRoot
	if root == first { // nothing has changed the state yet
		return genesis.Parameters.Encode(), nil
	}
	encoded, proof, err := s.Fetch.Value(state.ParametersKey())
	if errors.Is(err, chain.ErrNoState) || errors.Is(err, chain.ErrPruned) {
		if encoded, err = s.written(bits); err != nil {
			err = fmt.Errorf("the upstream has no state that shows the parameters before block %d, which is empty, and "+
				"what else shows them is gone or false: name another upstream, or trust a block that is newer or has "+
				"transactions: %w", s.Block.header.Header.Height, err)
		}
		return encoded, err
	}
	if err != nil {
		return nil, err
	}
	if err := proof.Verify(root, state.ParametersKey(), encoded); err != nil {
		return nil, fmt.Errorf("%w: the parameters before block %d: %w", ErrEvidence, s.Block.header.Header.Height, err)
	}
	return encoded, nil
}

// mostWalked is how many headers a start walks down at most: blocks of a day at one a second, 27 MB.
const mostWalked = 86_400

// errFarWalk is the error of a block before which too many are empty.
var errFarWalk = fmt.Errorf("the %d blocks before it are empty, too", mostWalked)

// written are the parameters after the newest block up to the parent that changed the state: then they are the
// parent's, too. Each header is vouched for by the hash in the one after it, and so is the state before that block.
func (s *Start) written(bits int) ([]byte, error) {
	for block := s.Parent; block.Header.Height > 0; {
		headers, err := s.Headers(block.Header.Height - 1)
		if err != nil {
			return nil, err
		}
		if len(headers) == 0 {
			return nil, fmt.Errorf("%w: there is no header before block %d", ErrEvidence, block.Header.Height)
		}
		for _, before := range slices.Backward(headers) {
			switch {
			case before.Header.Hash() != block.Header.Parent || before.Header.Height+1 != block.Header.Height:
				return nil, fmt.Errorf("%w: what is given as the parent of block %d is another block",
					ErrEvidence, block.Header.Height)
			case s.Parent.Header.Height-before.Header.Height > mostWalked:
				return nil, errFarWalk
			case before.Header.StateRoot != block.Header.StateRoot:
				return s.writtenBy(before, block, bits)
			}
			block = before
		}
	}
	return nil, fmt.Errorf("%w: it follows another genesis", ErrUntrusted)
}

// writtenBy are the parameters after a block, as its proof shows them.
func (s *Start) writtenBy(parent, block types.SignedHeader, bits int) ([]byte, error) {
	bundle, err := s.Earlier(block)
	if err != nil {
		return nil, err
	}
	b, err := verifyBundle(bundle, parent, block, bits)
	if err != nil {
		return nil, err
	}
	a := parametersIn(b.Accesses)
	if a == nil {
		return nil, fmt.Errorf("%w: block %d changed the state without a look at the parameters",
			ErrEvidence, block.Header.Height)
	}
	return a.New, nil
}

// parametersIn is the access of the parameters in a list, nil where it has none.
func parametersIn(list []types.Access) *types.Access {
	key := state.ParametersKey()
	for i := range list {
		if bytes.Equal(list[i].Key, key) {
			return &list[i]
		}
	}
	return nil
}
