package blockproof

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// Bundle is a block's proof with its statement. A verifier who trusts the header's block hash needs nothing else.
type Bundle struct {
	Parent   types.SignedHeader // genesis if its height is 0 and its seal is zero
	Header   types.SignedHeader
	Accesses []types.Access
	Proof    []byte
}

// MaxBundleBytes bounds the size of an encoded bundle.
const MaxBundleBytes = 1 << 30

// MostBundleBytes bounds the size of the bundle of a block that used gasUsed. An entry takes at most 2·248 + 1 rows and
// has at most two other leaves, and every segment except the last has at least 2^17 rows.
func MostBundleBytes(gasUsed types.Gas) int64 {
	entries := int64(params.MostAccesses(gasUsed))
	segments := 1 + entries*(2*pathBits+1)>>stark.MaxQuickLogRows
	proof := 1 + 8 + segments*(minSegmentBytes+8+4*pathBits+int64(maxArgument)) +
		entries*(1+othersPerEntry*bytesPerOther)
	return min(MaxBundleBytes, 2*types.SignedHeaderBytes+int64(params.MostListBytes(gasUsed))+8+proof)
}

// Encode returns bincode(Bundle).
func (b Bundle) Encode() []byte {
	e := codec.NewEncoder(2*types.SignedHeaderBytes + types.AccessesBytes(b.Accesses) + 8 + len(b.Proof))
	e.Fixed(b.Parent.Encode())
	e.Fixed(b.Header.Encode())
	types.WriteAccesses(e, b.Accesses)
	e.Bytes(b.Proof)
	return e.Data()
}

// DecodeBundle decodes the output of [Bundle.Encode]. The gas used in the bundle's header bounds the access list. Byte
// fields alias b.
func DecodeBundle(b []byte) (Bundle, error) {
	d, err := newBundleDecoder(b)
	if err != nil {
		return Bundle{}, err
	}
	return d.finish(d.bundle.Header.Header.GasUsed)
}

// DecodeBundleOf is [DecodeBundle] for a known block. The gas used in header bounds the access list; the headers in the
// bundle are ignored.
func DecodeBundleOf(b []byte, parent, header types.SignedHeader) (Bundle, error) {
	d, err := newBundleDecoder(b)
	if err != nil {
		return Bundle{}, err
	}
	d.bundle.Parent, d.bundle.Header = parent, header
	return d.finish(header.Header.GasUsed)
}

// ProofIn returns the proof in an encoded bundle; it aliases b. The headers are decoded, but only the lengths in the
// access list are checked.
func ProofIn(b []byte) ([]byte, error) {
	d, err := newBundleDecoder(b)
	if err != nil {
		return nil, err
	}
	types.SkipAccesses(d.Decoder)
	proof := d.Bytes(MaxBundleBytes)
	return proof, d.end()
}

// bundleDecoder is a decoder that has decoded a bundle's headers.
type bundleDecoder struct {
	*codec.Decoder
	bundle Bundle
}

func newBundleDecoder(b []byte) (d *bundleDecoder, err error) {
	if len(b) > MaxBundleBytes {
		return nil, fmt.Errorf("blockproof: bundle of %d bytes", len(b))
	}
	d = &bundleDecoder{Decoder: codec.NewDecoder(b)}
	for _, to := range []*types.SignedHeader{&d.bundle.Parent, &d.bundle.Header} {
		var encoded [types.SignedHeaderBytes]byte
		d.Fixed(encoded[:])
		if d.Err() != nil {
			return nil, d.end()
		}
		if *to, err = types.DecodeSignedHeader(encoded[:]); err != nil {
			return nil, fmt.Errorf("blockproof: bundle: %w", err)
		}
	}
	return d, nil
}

// finish decodes the rest of the bundle of a block that used gasUsed.
func (d *bundleDecoder) finish(gasUsed types.Gas) (Bundle, error) {
	d.bundle.Accesses = types.ReadAccesses(d.Decoder, params.MostAccesses(gasUsed), params.MostListBytes(gasUsed))
	d.bundle.Proof = d.Bytes(MaxBundleBytes)
	if err := d.end(); err != nil {
		return Bundle{}, err
	}
	return d.bundle, nil
}

func (d *bundleDecoder) end() error {
	if err := d.Finish(); err != nil {
		return fmt.Errorf("blockproof: bundle: %w", err)
	}
	return nil
}

// Verify checks the bundle, with a proof of at least the given number of bits. The headers' seals must hold, the
// headers must follow each other, and the proof must hold. Verify returns the number of bits proven, and errors as
// [VerifyProof] does. The caller must check that the header belongs to the chain. The writes among the accesses are
// then the block's: no other list leads from one state root to the other.
func (b *Bundle) Verify(bits int, parallel Parallel) (int, error) {
	if !isGenesis(&b.Parent) && !b.Parent.VerifySeal() || !b.Header.VerifySeal() {
		return 0, errSeal
	}
	s, err := NewStatement(&b.Parent.Header, &b.Header.Header, b.Accesses)
	if err != nil {
		return 0, err
	}
	return s.verify(b.Accesses, b.Proof, bits, parallel)
}

var errSeal = fmt.Errorf("%w: a header's seal is invalid", ErrStatement)

// isGenesis reports whether a header has the form of genesis, whose seal is zero and never checked.
func isGenesis(h *types.SignedHeader) bool { return h.Header.Height == 0 && h.Seal == types.Seal{} }
