package proof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Errors of [Follower.Next]. ErrParametersNeeded and ErrFork are also an [ErrRefused].
var (
	// ErrParametersNeeded is returned for a header whose producer or version differs from the last one's, or for any
	// without a proof if [FollowerOptions.EachProof] is set. Get a Merkle proof of the parameters after the last block,
	// and try again with it.
	ErrParametersNeeded = errors.New("a proof of the parameters after the previous block is needed")
	// ErrFork is returned for a header that the producer sealed but that builds on another block than the follower's.
	// Its chain forked earlier, or is another one with the same chain ID. Compare the headers before it: the first two
	// that differ are an [*Equivocation].
	ErrFork = errors.New("the producer sealed it on top of a different block than the previous one")
	// ErrUnknownVersion is returned if the parameters name a protocol version that this program does not know. Use a
	// newer program.
	ErrUnknownVersion = errors.New("the protocol has a newer version than this program knows")
)

// Equivocation is the error of two different headers that one producer sealed for one height of one chain (double
// signing). They prove that this producer is at fault. Show both to others.
type Equivocation struct{ First, Second types.SignedHeader }

// Error implements error.
func (e *Equivocation) Error() string {
	h := &e.First.Header
	return fmt.Sprintf("the producer %s sealed two headers of block %d: %s and %s",
		h.Producer, h.Height, h.Hash(), e.Second.Header.Hash())
}

// FindEquivocation returns the equivocation that two headers prove, or nil if they prove none. The caller must know
// that both belong to one chain, with one header 0; two headers with the same parent do.
func FindEquivocation(first, second types.SignedHeader) *Equivocation {
	a, b := &first.Header, &second.Header
	if a.Height == 0 || a.Height != b.Height || a.ChainID != b.ChainID || a.Producer != b.Producer || *a == *b ||
		!first.VerifySeal() || !second.VerifySeal() {
		return nil
	}
	return &Equivocation{first, second}
}

// Override is an emergency override of the chain's parameters, agreed on outside the chain. No state before it shows
// it.
type Override struct {
	Height     types.Height // of the first block that the parameters apply to
	Parameters types.Parameters
}

// FollowerOptions are options of a [Follower].
type FollowerOptions struct {
	// EachProof demands a proof of the parameters with each header. Without it, the follower trusts the producer of the
	// last proof until a header differs: the holder of a replaced key can mislead it from that block on.
	EachProof bool
	Override  *Override // nil: none
}

// Follower follows a chain by its headers alone, starting at a trusted one (light client). It verifies that the
// producer in force sealed them, but not that the producer executed correctly or that the last header is the newest. A
// Follower is not safe for concurrent use.
type Follower struct {
	options FollowerOptions
	head    types.SignedHeader
	hash    types.BlockHash
	fault   *Equivocation // once set, the follower accepts no more headers
}

// NewFollower starts at a header whose hash you have from a source that you trust. It may be header 0, whose seal is
// not checked. It returns an error that wraps [ErrRefused], or [ErrUnknownVersion].
func NewFollower(head types.SignedHeader, trusted types.BlockHash, options FollowerOptions) (*Follower, error) {
	f := &Follower{options: options, head: head, hash: head.Header.Hash()}
	switch {
	case f.hash != trusted:
		return nil, fmt.Errorf("%w: the header has the hash %s, not %s", ErrRefused, f.hash, trusted)
	case !params.Known(head.Header.Version):
		return nil, fmt.Errorf("block %d: %w: version %d",
			head.Header.Height, ErrUnknownVersion, head.Header.Version)
	case head.Header.Height > 0 && !head.VerifySeal():
		return nil, fmt.Errorf("%w: the signature of block %d is invalid", ErrRefused, head.Header.Height)
	}
	return f, nil
}

// Head returns the last header.
func (f *Follower) Head() types.SignedHeader { return f.head }

// Hash returns the hash of the last header.
func (f *Follower) Hash() types.BlockHash { return f.hash }

// Next checks the header of the next block and advances to it. parameters, which may be nil, is a Merkle proof of the
// parameters (state key 00 01) in the state after the last block, as svc_getParameters returns it for that block.
//
// It returns [ErrParametersNeeded], [ErrFork], [ErrUnknownVersion], an [*Equivocation] if next is another header at the
// last block's height, or another error that wraps [ErrRefused]; all leave the follower unchanged. After an
// equivocation it accepts no more headers.
func (f *Follower) Next(next types.SignedHeader, parameters *types.MerkleProof) error {
	if f.fault != nil {
		return f.fault
	}
	h, last := &next.Header, &f.head.Header
	switch {
	case h.ChainID != last.ChainID:
		return f.refuse(h, "it belongs to chain %d", h.ChainID)
	case h.Height == last.Height && *h != *last:
		return f.other(next)
	case h.Height != last.Height+1:
		return f.refuse(h, "it does not follow block %d", last.Height)
	case h.Parent != f.hash:
		if h.Producer == last.Producer && next.VerifySeal() {
			return fmt.Errorf("%w: block %d: %w", ErrRefused, h.Height, ErrFork)
		}
		return f.refuse(h, "its parent is %s, not %s", h.Parent, f.hash)
	case h.Timestamp < last.Timestamp || h.Timestamp > types.MaxTime:
		return f.refuse(h, "its time is %d, but the previous block's is %d", h.Timestamp, last.Timestamp)
	}
	if err := f.inForce(h, parameters); err != nil {
		return err
	}
	if !next.VerifySeal() {
		return f.refuse(h, "its seal is invalid")
	}
	f.head, f.hash = next, h.Hash()
	return nil
}

// VerifyInclusion calls [VerifyInclusion] for the last block.
func (f *Follower) VerifyInclusion(
	tx types.SignedTransaction, receipt types.Receipt, proof Inclusion,
) (Included, error) {
	return VerifyInclusion(&f.head.Header, tx, receipt, proof)
}

func (f *Follower) refuse(h *types.Header, format string, args ...any) error {
	return fmt.Errorf("%w: block %d: %w", ErrRefused, h.Height, fmt.Errorf(format, args...))
}

// other returns the error for another header at the last block's height.
func (f *Follower) other(next types.SignedHeader) error {
	fault := FindEquivocation(f.head, next)
	switch {
	case fault == nil:
		return f.refuse(&next.Header, "the producer has sealed a second header, %s", f.hash)
	case next.Header.Parent != f.head.Header.Parent:
		return fmt.Errorf("%w: block %d: %w", ErrRefused, next.Header.Height, ErrFork)
	}
	f.fault = fault
	return fault
}

// inForce checks that the next header has the producer and version in force.
func (f *Follower) inForce(h *types.Header, proof *types.MerkleProof) error {
	last := &f.head.Header
	if o := f.options.Override; o != nil && h.Height == o.Height {
		return f.held(h, &o.Parameters)
	}
	if proof == nil {
		if f.options.EachProof || h.Producer != last.Producer || h.Version != last.Version {
			return fmt.Errorf("%w: block %d: %w", ErrRefused, h.Height, ErrParametersNeeded)
		}
		return nil
	}
	if !bytes.Equal(proof.Key, state.ParametersKey()) {
		return f.refuse(h, "the proof is for the key %x, not for the parameters", proof.Key)
	}
	if err := VerifyValue(last, proof); err != nil {
		return f.refuse(h, "the parameters: %w", err)
	}
	parameters, err := decodeParameters(proof.Value)
	switch {
	case errors.Is(err, ErrUnknownVersion):
		return fmt.Errorf("block %d: %w", h.Height, err)
	case err != nil:
		return f.refuse(h, "the parameters: %w", err)
	}
	return f.held(h, &parameters)
}

// held checks a header against the parameters in force for it.
func (f *Follower) held(h *types.Header, p *types.Parameters) error {
	err := judge(h, p)
	if err == nil || errors.Is(err, ErrUnknownVersion) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// decodeParameters decodes the value of the parameters' key. Its layout depends on its version.
func decodeParameters(value []byte) (types.Parameters, error) {
	if len(value) >= 4 {
		if version := binary.LittleEndian.Uint32(value); !params.Known(version) {
			return types.Parameters{}, fmt.Errorf("%w: the parameters have version %d", ErrUnknownVersion, version)
		}
	}
	return types.DecodeParameters(value)
}
