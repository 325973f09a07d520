package blockproof

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
)

// Bits is how many bits a proof says that it has, without a look at whether it holds: the least of its segments. It
// returns an error that wraps ErrProof for what is no proof.
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
