package blockproof

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// Bundle is a block's proof with what it is about: whoever trusts the header's block hash needs nothing else.
type Bundle struct {
	Parent   types.SignedHeader // of height 0 with a signature of zeros: genesis
	Header   types.SignedHeader
	Accesses []types.Access
	Proof    []byte
}

// MaxBundleBytes bounds an encoded bundle.
const MaxBundleBytes = 1 << 30

// MostBundleBytes bounds the bundle of a block that used so much gas. An entry bounds 2·248 + 1 rows and has two other
// leaves at most, and all segments but the last have 2^17 rows at least.
func MostBundleBytes(gasUsed types.Gas) int64 {
	entries := int64(params.MostAccesses(gasUsed))
	segments := 1 + entries*(2*pathBits+1)>>stark.MaxQuickLogRows
	proof := 1 + 8 + segments*(minSegmentBytes+8+4*pathBits+int64(maxArgument)) +
		entries*(1+othersPerEntry*bytesPerOther)
	return min(MaxBundleBytes, 2*types.SignedHeaderBytes+int64(params.MostListBytes(gasUsed))+8+proof)
}

// Encode is bincode(Bundle).
func (b Bundle) Encode() []byte {
	e := codec.NewEncoder(2*types.SignedHeaderBytes + types.AccessesBytes(b.Accesses) + 8 + len(b.Proof))
	e.Fixed(b.Parent.Encode())
	e.Fixed(b.Header.Encode())
	types.WriteAccesses(e, b.Accesses)
	e.Bytes(b.Proof)
	return e.Data()
}

// DecodeBundle decodes what [Bundle.Encode] gives. The list is bounded by the gas that the bundle's header says was
// used. Byte fields alias b.
func DecodeBundle(b []byte) (Bundle, error) {
	d, err := newBundleDecoder(b)
	if err != nil {
		return Bundle{}, err
	}
	return d.finish(d.bundle.Header.Header.GasUsed)
}

// DecodeBundleOf is [DecodeBundle] for a block that is known: its gas bounds the list, and the bundle's headers count
// for nothing.
func DecodeBundleOf(b []byte, parent, header types.SignedHeader) (Bundle, error) {
	d, err := newBundleDecoder(b)
	if err != nil {
		return Bundle{}, err
	}
	d.bundle.Parent, d.bundle.Header = parent, header
	return d.finish(header.Header.GasUsed)
}

// ProofIn is the proof in an encoded bundle, which it aliases. Headers are decoded, of the list the lengths are judged.
func ProofIn(b []byte) ([]byte, error) {
	d, err := newBundleDecoder(b)
	if err != nil {
		return nil, err
	}
	types.SkipAccesses(d.Decoder)
	proof := d.Bytes(MaxBundleBytes)
	return proof, d.end()
}

// bundleDecoder has decoded a bundle's headers.
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

// finish decodes the rest of the bundle of a block that used so much gas.
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

// Verify checks the bundle, with a proof of at least so many bits. The headers must be signed by their producers and
// follow each other, the accesses' writes must be the header's, and the proof must hold. It returns the bits proven,
// and errors as [VerifyProof] does. That the header is the chain's is for the caller to know.
func (b *Bundle) Verify(bits int, parallel Parallel) (int, error) {
	genesis := b.Parent.Header.Height == 0 && b.Parent.Signature == types.Signature{}
	if !genesis && !b.Parent.VerifySignature() || !b.Header.VerifySignature() {
		return 0, fmt.Errorf("%w: a header is not signed by its producer", ErrStatement)
	}
	s, err := NewStatement(&b.Parent.Header, &b.Header.Header, b.Accesses)
	if err != nil {
		return 0, err
	}
	return s.verify(b.Accesses, b.Proof, bits, parallel)
}
