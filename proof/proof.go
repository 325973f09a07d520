// Package proof verifies the STARK proofs of blocks, with no node and no state. It is small: a program that verifies
// takes nothing of the node in.
//
// A proof is of statement S1 (docs/proofs.md): the block's state root follows from its parent's by exactly the bundle's
// access list. That the list is what the block's transactions do is shown by executing them on it; who skips that trusts
// the producer's execution. That the header is the chain's is for the caller to know: compare Verdict.BlockHash with a
// source that you trust.
package proof

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/types"
)

// ErrRefused is returned for what is no bundle, or one that does not hold.
var ErrRefused = errors.New("the proof is refused")

// MaxBundleBytes bounds a bundle.
const MaxBundleBytes = blockproof.MaxBundleBytes

// Statement is what the proofs of this version say.
const Statement = "S1"

// StateHashBits is what finding two states with one root takes at most, in bits: a bound of its own beside a proof's.
const StateHashBits = 124

// Verdict is what a bundle that holds says.
type Verdict struct {
	ChainID       uint64          `json:"chainId"`
	Height        types.Height    `json:"height"`
	BlockHash     types.BlockHash `json:"blockHash"`
	ParentHash    types.BlockHash `json:"parentHash"`
	Producer      types.PublicKey `json:"producer"` // whose signature the header carries
	PreRoot       types.StateRoot `json:"preRoot"`
	PostRoot      types.StateRoot `json:"postRoot"`
	Statement     string          `json:"statement"`
	SecurityBits  int             `json:"securityBits"` // proven
	StateHashBits int             `json:"stateHashBits"`
	Accesses      int             `json:"accesses"` // keys read or written
	Writes        int             `json:"writes"`
	Circuit       types.Digest    `json:"circuit"`
}

// Verify checks a bundle, as GET /proof/HEIGHT of a node gives it, whose proof must have at least so many bits: 100 or
// 128. It returns an error that wraps ErrRefused and says why for one that does not hold.
func Verify(bundle []byte, atLeastBits int) (Verdict, error) {
	b, err := blockproof.DecodeBundle(bundle)
	if err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	bits, err := b.Verify(atLeastBits, blockproof.InOrder)
	if err != nil {
		return Verdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	header := &b.Header.Header
	return Verdict{
		ChainID: header.ChainID, Height: header.Height, BlockHash: header.Hash(), ParentHash: header.Parent, Producer: header.Producer,
		PreRoot: b.Parent.Header.StateRoot, PostRoot: header.StateRoot, Statement: Statement, SecurityBits: bits,
		StateHashBits: StateHashBits, Accesses: len(b.Accesses), Writes: len(types.Writes(b.Accesses)), Circuit: blockproof.Circuit().Digest(),
	}, nil
}
