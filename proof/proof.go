// Package proof verifies what a chain's producer sealed, without a node or state: consecutive headers ([Follower]), the
// inclusion and the result of a transaction ([VerifyInclusion]), values in the state ([VerifyValue]), and the STARK
// proofs of blocks. A program that imports it links nothing of the node.
//
// A STARK proof is of statement S1 (docs/proofs.md): the block's state root follows from its parent's by exactly the
// bundle's access list. A range's proof is of R1, the same for its blocks together. Neither shows that the list results
// from the transactions: execute them on the list, or trust the producer's execution. Nor do they show that the header
// is the chain's: compare Verdict.BlockHash with a source that you trust.
package proof

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// ErrRefused is returned for input that is not a bundle, and for a bundle that does not hold.
var ErrRefused = errors.New("the proof is refused")

// MaxBundleBytes is the maximum size of a bundle.
const MaxBundleBytes = blockproof.MaxBundleBytes

// The statements of proofs: S1 for one block, R1 for several blocks as one change of the state.
const (
	Statement      = "S1"
	RangeStatement = "R1"
)

// StateHashBits bounds the work, in bits, to find two states with one root. It is independent of a proof's bits.
const StateHashBits = 124

// Verdict holds the facts that a valid bundle proves.
type Verdict struct {
	ChainID       uint64          `json:"chainId"`
	Height        types.Height    `json:"height"`
	BlockHash     types.BlockHash `json:"blockHash"`
	ParentHash    types.BlockHash `json:"parentHash"`
	Producer      types.PublicKey `json:"producer"` // who sealed the header
	PreRoot       types.StateRoot `json:"preRoot"`
	PostRoot      types.StateRoot `json:"postRoot"`
	Statement     string          `json:"statement"`
	SecurityBits  int             `json:"securityBits"` // proven
	StateHashBits int             `json:"stateHashBits"`
	Accesses      int             `json:"accesses"` // keys read or written
	Writes        int             `json:"writes"`
	Circuit       types.Digest    `json:"circuit"`
}

// RangeVerdict holds the facts that a valid range proves. PreRoot, ParentHash, Accesses and Writes describe all blocks
// from FromHeight on together. The other fields describe the last block.
type RangeVerdict struct {
	FromHeight types.Height `json:"fromHeight"`
	Verdict
}

// Verify checks a bundle, as GET /proof/HEIGHT of a node returns it. Its proof must have at least atLeastBits bits of
// security: 100 or 128. Verify returns an error that wraps ErrRefused if the bundle does not hold or is a range's.
func Verify(bundle []byte, atLeastBits int) (Verdict, error) {
	_, v, err := verifyBundle(bundle, atLeastBits)
	return v, err
}

func verifyBundle(bundle []byte, atLeastBits int) (blockproof.Bundle, Verdict, error) {
	b, err := blockproof.DecodeBundle(bundle)
	if err != nil {
		return b, Verdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err := known(&b.Parent, &b.Header); err != nil {
		return b, Verdict{}, err
	}
	bits, err := b.Verify(atLeastBits, blockproof.InOrder)
	if err != nil {
		return b, Verdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return b, verdict(Statement, &b.Parent.Header, b.Header.Header.Parent, &b.Header.Header, b.Accesses, bits), nil
}

// IsRange reports whether an encoded proof is of a range of blocks, for [VerifyRange].
func IsRange(b []byte) bool { return blockproof.IsRange(b) }

// VerifyRange checks the proof of a range of blocks, as `cairn db prove --range` writes it, with bits and errors as in
// [Verify].
func VerifyRange(b []byte, atLeastBits int) (RangeVerdict, error) {
	_, v, err := verifyRange(b, atLeastBits)
	return v, err
}

func verifyRange(b []byte, atLeastBits int) (blockproof.Range, RangeVerdict, error) {
	r, err := blockproof.DecodeRange(b)
	if err != nil {
		return r, RangeVerdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	for i := range r.Headers {
		if err := known(&r.Headers[i]); err != nil {
			return r, RangeVerdict{}, err
		}
	}
	bits, err := r.Verify(atLeastBits, blockproof.InOrder)
	if err != nil {
		return r, RangeVerdict{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	before, last := &r.Headers[0].Header, &r.Headers[len(r.Headers)-1].Header
	v := verdict(RangeStatement, before, r.Headers[1].Header.Parent, last, r.Accesses, bits)
	return r, RangeVerdict{before.Height + 1, v}, nil
}

// known returns an error unless all headers have known versions. A header's layout depends on its version.
func known(headers ...*types.SignedHeader) error {
	for _, h := range headers {
		if !params.Known(h.Header.Version) {
			return fmt.Errorf("%w: block %d: %w: it is of version %d",
				ErrRefused, h.Header.Height, ErrUnknownVersion, h.Header.Version)
		}
	}
	return nil
}

// verdict returns the verdict on the blocks after before, up to last.
func verdict(
	statement string, before *types.Header, parent types.BlockHash, last *types.Header, accesses []types.Access,
	bits int,
) Verdict {
	return Verdict{
		ChainID:       last.ChainID,
		Height:        last.Height,
		BlockHash:     last.Hash(),
		ParentHash:    parent,
		Producer:      last.Producer,
		PreRoot:       before.StateRoot,
		PostRoot:      last.StateRoot,
		Statement:     statement,
		SecurityBits:  bits,
		StateHashBits: StateHashBits,
		Accesses:      len(accesses),
		Writes:        len(types.Writes(accesses)),
		Circuit:       blockproof.Circuit().Digest(),
	}
}
