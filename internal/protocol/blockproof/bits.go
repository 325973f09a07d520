package blockproof

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Bits returns the number of bits that a proof claims, the minimum over its segments, without verifying the proof. It
// returns an error that wraps ErrProof if proof cannot be decoded.
func Bits(proof []byte) (int, error) {
	segments, err := decodeProof(proof)
	if err != nil {
		return 0, err
	}
	least := stark.MaxBits
	for i := range segments {
		header, err := stark.ReadHeader(transcript.NewReader(segments[i].argument))
		if err != nil {
			return 0, fmt.Errorf("%w: segment %d: %w", ErrProof, i, err)
		}
		least = min(least, stark.Levels[header.Level].Bits)
	}
	return least, nil
}
