package blockproof

import (
	"fmt"

	"github.com/cairn-chain/cairn/codec"
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

// Encode is bincode(Bundle).
func (b Bundle) Encode() []byte {
	parent, header, accesses := b.Parent.Encode(), b.Header.Encode(), types.EncodeAccesses(b.Accesses)
	e := codec.NewEncoder(len(parent) + len(header) + len(accesses) + 8 + len(b.Proof))
	e.Fixed(parent)
	e.Fixed(header)
	e.Fixed(accesses)
	e.Bytes(b.Proof)
	return e.Data()
}

// DecodeBundle decodes what [Bundle.Encode] gives. Byte fields alias b.
func DecodeBundle(b []byte) (Bundle, error) {
	var bundle Bundle
	if len(b) > MaxBundleBytes {
		return bundle, fmt.Errorf("blockproof: bundle of %d bytes", len(b))
	}
	d := codec.NewDecoder(b)
	var headers [2][types.SignedHeaderBytes]byte
	d.Fixed(headers[0][:])
	d.Fixed(headers[1][:])
	bundle.Accesses = types.ReadAccesses(d)
	bundle.Proof = d.Bytes(MaxBundleBytes)
	if err := d.Finish(); err != nil {
		return Bundle{}, fmt.Errorf("blockproof: bundle: %w", err)
	}
	for i, to := range []*types.SignedHeader{&bundle.Parent, &bundle.Header} {
		var err error
		if *to, err = types.DecodeSignedHeader(headers[i][:]); err != nil {
			return Bundle{}, fmt.Errorf("blockproof: bundle: %w", err)
		}
	}
	return bundle, nil
}

// Verify checks the bundle, with a proof of at least so many bits: that the headers are signed by their producers and
// follow each other, that the accesses' writes are the header's, and the proof. It returns the bits proven, and errors
// as [VerifyProof] does. That the header is the chain's is for the caller to know.
func (b *Bundle) Verify(bits int, parallel Parallel) (int, error) {
	genesis := b.Parent.Header.Height == 0 && b.Parent.Signature == types.Signature{}
	if !genesis && !b.Parent.VerifySignature() || !b.Header.VerifySignature() {
		return 0, fmt.Errorf("%w: a header is not signed by its producer", ErrStatement)
	}
	s, err := NewStatement(&b.Parent.Header, &b.Header.Header, b.Accesses)
	if err != nil {
		return 0, err
	}
	return VerifyProof(s, b.Accesses, b.Proof, bits, parallel)
}
