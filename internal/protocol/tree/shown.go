package tree

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// endKinds are the kinds of ends in the form that is shown.
var endKinds = [...]types.EndKind{
	EndEmpty: types.EndEmpty, EndLeaf: types.EndLeaf, EndOther: types.EndOther,
}

// Of returns the proof in the form that is shown to others, with the key and the value that it proves; an empty value
// is absence.
func (p MerkleProof) Of(key, value []byte) types.MerkleProof {
	shown := types.MerkleProof{
		Key: key, Value: value,
		Siblings: make([][32]byte, len(p.Siblings)),
		End:      types.ProofEnd{Kind: endKinds[p.End.Kind]},
	}
	for i := range p.Siblings {
		shown.Siblings[i] = p.Siblings[i].Bytes()
	}
	if p.End.Kind == EndOther {
		shown.End.Path, shown.End.ValueHash = p.End.Path.Bytes(), p.End.ValueHash.Bytes()
	}
	return shown
}

// VerifyShown checks that a proof in the form of [MerkleProof.Of] holds under root. Otherwise it returns an error that
// wraps ErrMerkleProof.
func VerifyShown(root types.StateRoot, shown *types.MerkleProof) error {
	p := MerkleProof{Siblings: make([]poseidon.Digest, len(shown.Siblings))}
	for i, sibling := range shown.Siblings {
		var err error
		if p.Siblings[i], err = poseidon.ParseDigest(sibling); err != nil {
			return fmt.Errorf("%w: sibling %d: %w", ErrMerkleProof, i, err)
		}
	}
	kind := slices.Index(endKinds[:], shown.End.Kind)
	if kind < 0 {
		return fmt.Errorf("%w: end of unknown kind %d", ErrMerkleProof, shown.End.Kind)
	}
	p.End.Kind = EndKind(kind)
	for _, digest := range []struct {
		to   *poseidon.Digest
		from [32]byte
	}{{&p.End.Path, shown.End.Path}, {&p.End.ValueHash, shown.End.ValueHash}} {
		var err error
		if *digest.to, err = poseidon.ParseDigest(digest.from); err != nil {
			return fmt.Errorf("%w: end: %w", ErrMerkleProof, err)
		}
	}
	return p.Verify(root, shown.Key, shown.Value)
}
