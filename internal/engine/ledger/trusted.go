package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Start is the input that a stateless chain needs to begin at a trusted block: the block, and the evidence that it is
// valid on its parent's state. The block's hash also commits to that state.
type Start struct {
	Trusted types.BlockHash // hash of the block
	Fetch   Fetch           // gets codes of contracts that the block calls, and values in the state before it

	Parent types.SignedHeader
	Block  *Received
	Bundle []byte // encoded bundle of the block's proof

	// The functions below are used if the upstream keeps no state and the block's access list lacks the parameters, as
	// an empty block's does.

	// Headers returns headers up to a height in ascending order, at least the one at that height.
	Headers func(to types.Height) ([]types.SignedHeader, error)
	// Earlier returns the bundle of the given block, the newest one up to the parent that changed the state. Its proof
	// shows the block's writes.
	Earlier func(types.SignedHeader) ([]byte, error)
}

// ErrUntrusted is returned for a start from a block other than the trusted one, or from another chain.
var ErrUntrusted = errors.New("this is not the trusted block")

// StartStateless begins a chain in an empty stateless store at a block that is trusted by its hash. It verifies that
// block like any later one; only its parent's state root is taken on trust. It fetches the codes of contracts that the
// block calls. An error leaves the store empty. It is [ErrUntrusted], [ErrEvidence], an [*InvalidBlock], an
// [*EngineFailure], an error of [core.CheckNext] if the trusted block is not by the current producer, or an error of
// the functions in s. Any other error is a fault of this node.
func StartStateless(store *chain.Store, genesis types.Genesis, override *Override, fallback Fallback, bits int,
	s Start) error {
	l := &Stateless{core: core{store: store, override: override, Fallback: fallback}, bits: bits}
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
		err = checkParameters(p) // not verified yet
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

// check checks that the block has the trusted hash, and that the parent is the block's.
func (s *Start) check(chainID uint64, genesis types.BlockHash) error {
	h, parent := s.Block.header.Header, s.Parent.Header
	switch {
	case s.Block.unknown:
		return fmt.Errorf("%w: block %d has protocol version %d", exec.ErrUnknownVersion, h.Height, h.Version)
	case s.Block.hash != s.Trusted:
		return fmt.Errorf("%w: block %d has the hash %s, not %s", ErrUntrusted, h.Height, s.Block.hash, s.Trusted)
	case h.ChainID != chainID:
		return fmt.Errorf("%w: block %d has chain id %d, but the genesis has %d", ErrUntrusted, h.Height, h.ChainID, chainID)
	case parent.Hash() != h.Parent || parent.Height+1 != h.Height:
		return fmt.Errorf("%w: the received parent of block %d is a different block", ErrEvidence, h.Height)
	case parent.Height == 0 && h.Parent != genesis:
		return fmt.Errorf("%w: block 1 follows the genesis %s, not %s", ErrUntrusted, h.Parent, genesis)
	}
	return nil
}

// parameters returns the parameters in the parent's state. If they come from the block's list, they are unverified
// until the block's proof is.
func (s *Start) parameters(genesis types.Genesis, first types.StateRoot, bits int) ([]byte, error) {
	b, err := blockproof.DecodeBundleOf(s.Bundle, s.Parent, s.Block.header)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	if a := parametersIn(b.Accesses); a != nil {
		return a.Old, nil
	}
	root := s.Parent.Header.StateRoot
	if root == first { // no block has changed the state yet
		return genesis.Parameters.Encode(), nil
	}
	encoded, proof, err := s.Fetch.Value(state.ParametersKey())
	if errors.Is(err, chain.ErrNoState) || errors.Is(err, chain.ErrPruned) {
		if encoded, err = s.written(bits); err != nil {
			err = fmt.Errorf("cannot verify the parameters before block %d, which is empty: the upstream has no "+
				"proof of them, and the alternatives are pruned or invalid; use another upstream, or trust a block "+
				"that is newer or has transactions: %w", s.Block.header.Header.Height, err)
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

// mostWalked bounds the headers that a start walks back over: a day of blocks at one per second, 27 MB.
const mostWalked = 86_400

// errFarWalk is returned if too many blocks before a block are empty.
var errFarWalk = fmt.Errorf("the %d blocks before it are empty, too", mostWalked)

// written returns the parameters after the newest block up to the parent that changed the state; they are also the
// parent's. The hash in each header vouches for the header before it, and so for the state before that block.
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
				return nil, fmt.Errorf("%w: the received parent of block %d is a different block",
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

// writtenBy returns the parameters after a block, as its proof shows them.
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
		return nil, fmt.Errorf("%w: block %d changed the state without reading the parameters",
			ErrEvidence, block.Header.Height)
	}
	return a.New, nil
}

// parametersIn returns the list's access of the parameters, or nil if it has none.
func parametersIn(list []types.Access) *types.Access {
	key := state.ParametersKey()
	for i := range list {
		if bytes.Equal(list[i].Key, key) {
			return &list[i]
		}
	}
	return nil
}
