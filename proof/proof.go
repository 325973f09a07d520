// Package proof verifies what a chain's producer sealed, with no node and no state: headers that follow each other
// ([Follower]), that a transaction is in a block and what came of it ([VerifyInclusion]), values in the state
// ([VerifyValue]), and the STARK proofs of blocks. It is small: a program that verifies takes nothing of the node in.
//
// A STARK proof is of statement S1 (docs/proofs.md): the block's state root follows from its parent's by exactly the bundle's
// access list. A range's proof is of R1, which says the same of its blocks. That the list is what the transactions do
// is shown by executing them on it; who skips that trusts the producer's execution. That the header is the chain's is
// for the caller to know: compare Verdict.BlockHash with a source that you trust.
package proof

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// ErrRefused is returned for what is no bundle, or one that does not hold.
var ErrRefused = errors.New("the proof is refused")

// MaxBundleBytes bounds a bundle.
const MaxBundleBytes = blockproof.MaxBundleBytes

// What a proof says: S1 of one block, R1 of several as one change of the state.
const (
	Statement      = "S1"
	RangeStatement = "R1"
)

// StateHashBits is what finding two states with one root takes at most, in bits: a bound of its own beside a proof's.
const StateHashBits = 124

// Verdict is what a bundle that holds says.
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

// RangeVerdict is what a range that holds says. Its verdict's state before, parent and accesses are those of all blocks
// from FromHeight on as one. The rest is of the last block.
type RangeVerdict struct {
	FromHeight types.Height `json:"fromHeight"`
	Verdict
}

// Verify checks a bundle, as GET /proof/HEIGHT of a node gives it, whose proof must have at least so many bits: 100 or
// 128. It returns an error that wraps ErrRefused and says why for one that does not hold, also if it is a range's.
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

// IsRange tells that an encoded proof is of a range of blocks, for [VerifyRange].
func IsRange(b []byte) bool { return blockproof.IsRange(b) }

// VerifyRange checks the proof of a range of blocks, as `cairn db prove --range` writes it. Bits and errors are those
// of [Verify].
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

// known returns an error unless all headers are of known versions: a header's layout is that of its own version.
func known(headers ...*types.SignedHeader) error {
	for _, h := range headers {
		if !params.Known(h.Header.Version) {
			return fmt.Errorf("%w: block %d: %w: it is of version %d",
				ErrRefused, h.Header.Height, ErrUnknownVersion, h.Header.Version)
		}
	}
	return nil
}

// verdict is of the blocks after before up to last.
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
