package tree

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// MerkleProof proves the value of a key, or its absence, under a state root.
type MerkleProof struct {
	Siblings []poseidon.Digest // on the way from the root to End, root first; at most 248
	End      End
}

// End is the content of the position at which the way to a key ends.
type End struct {
	Kind      EndKind
	Path      poseidon.Digest // set only for EndOther
	ValueHash poseidon.Digest // set only for EndOther
}

// EndKind is a kind of End.
type EndKind uint8

// Kinds of ends.
const (
	EndEmpty EndKind = iota // nothing: the key has no value
	EndLeaf                 // the key's leaf
	EndOther                // a leaf with another path, alone below the position: the key has no value
)

// ErrMerkleProof is returned by [MerkleProof.Verify] for an invalid proof.
var ErrMerkleProof = errors.New("tree: the proof is invalid")

// Prove returns the proof of key's value, or of its absence, in the current version. It calls valueHashes for at most
// one leaf, which belongs to another key, and returns its error.
func (t *Tree) Prove(key []byte, valueHashes ValueHashes) (MerkleProof, error) {
	return t.prove(Path(key)).withValueHash(valueHashes)
}

// withValueHash completes a proof that ends in another key's leaf.
func (p MerkleProof) withValueHash(valueHashes ValueHashes) (MerkleProof, error) {
	if p.End.Kind != EndOther {
		return p, nil
	}
	hash, err := valueHashes(p.End.Path)
	if err != nil {
		return MerkleProof{}, fmt.Errorf("tree: value hash of the leaf at the end of a proof: %w", err)
	}
	p.End.ValueHash = hash
	return p, nil
}

// prove returns the proof for path without the value hash of another leaf.
func (t *Tree) prove(path poseidon.Digest) MerkleProof {
	return t.nodes.prove(t.current.root, nil, &path)
}

// prove continues a proof for path in the subtree r, which is below the given siblings. It leaves out the value hash of
// another leaf.
func (n *nodes) prove(r ref, siblings []poseidon.Digest, path *poseidon.Digest) MerkleProof {
	p := MerkleProof{Siblings: siblings}
	if r == none {
		return p
	}
	found := n.find(r, path) // every chain on the way to found agrees with it
	for !r.isLeaf() {
		in := n.inner(r)
		depth := int(in.depth)
		if common := commonBits(found, path); common < depth { // path leaves the chain above r
			p.Siblings = append(withEmpty(p.Siblings, common), climbAlone(in, found, common+1))
			return p
		}
		side := bit(path, depth)
		p.Siblings = append(withEmpty(p.Siblings, depth), in.digest[1-side])
		r = in.child[side]
	}
	p.End = endOf(found, path)
	return p
}

// endOf returns the end of a proof for path at the leaf found.
func endOf(found, path *poseidon.Digest) End {
	if *found == *path {
		return End{Kind: EndLeaf}
	}
	return End{Kind: EndOther, Path: *found}
}

// withEmpty appends empty siblings down to the given depth.
func withEmpty(siblings []poseidon.Digest, depth int) []poseidon.Digest {
	return append(siblings, make([]poseidon.Digest, depth-len(siblings))...)
}

// climbAlone returns the digest at depth top of the subtree of in, which contains path.
func climbAlone(in *inner, path *poseidon.Digest, top int) poseidon.Digest {
	d := nodeDigest(in.digest[0], in.digest[1])
	for depth := int(in.depth) - 1; depth >= top; depth-- {
		pair := pairWithEmpty(d, path, depth)
		d = nodeDigest(pair[0], pair[1])
	}
	return d
}

// Verify checks that key has the given value under root, or no value if value is empty. Otherwise it returns an error
// that wraps ErrMerkleProof.
func (p MerkleProof) Verify(root types.StateRoot, key, value []byte) error {
	path := Path(key)
	d, err := p.endDigest(&path, value)
	if err != nil {
		return err
	}
	for i := range p.Siblings {
		if !p.Siblings[i].IsCanonical() {
			return fmt.Errorf("%w: sibling %d: %w", ErrMerkleProof, i, poseidon.ErrNotCanonical)
		}
	}
	if p.fold(&path, d).Bytes() != root {
		return fmt.Errorf("%w: it leads to a different root, or proves a different value", ErrMerkleProof)
	}
	return nil
}

// fold returns the root computed from d and the siblings on path's way to d.
func (p MerkleProof) fold(path *poseidon.Digest, d poseidon.Digest) poseidon.Digest {
	for depth := len(p.Siblings) - 1; depth >= 0; depth-- {
		side := bit(path, depth)
		var pair [2]poseidon.Digest
		pair[side], pair[1-side] = d, p.Siblings[depth]
		d = nodeDigest(pair[0], pair[1])
	}
	return d
}

// endDigest checks the end of p against path and value and returns its digest.
func (p MerkleProof) endDigest(path *poseidon.Digest, value []byte) (d poseidon.Digest, err error) {
	end := &p.End
	if len(p.Siblings) > pathBits {
		return d, fmt.Errorf("%w: %d siblings, at most %d", ErrMerkleProof, len(p.Siblings), pathBits)
	}
	if end.Kind != EndOther && (!end.Path.IsZero() || !end.ValueHash.IsZero()) {
		return d, fmt.Errorf("%w: a path or value hash where the end has none", ErrMerkleProof)
	}
	if (end.Kind == EndLeaf) != (len(value) > 0) {
		return d, fmt.Errorf("%w: it proves presence instead of absence, or the reverse", ErrMerkleProof)
	}
	switch end.Kind {
	case EndEmpty:
		return d, nil
	case EndLeaf:
		return leafDigest(*path, poseidon.Hash(poseidon.TagValue, value)), nil
	case EndOther:
		if !end.Path.IsCanonical() || !end.ValueHash.IsCanonical() {
			return d, fmt.Errorf("%w: end: %w", ErrMerkleProof, poseidon.ErrNotCanonical)
		}
		if end.Path == *path || commonBits(&end.Path, path) < len(p.Siblings) {
			return d, fmt.Errorf("%w: the leaf at its end does not show absence", ErrMerkleProof)
		}
		return leafDigest(end.Path, end.ValueHash), nil
	default:
		return d, fmt.Errorf("%w: end of unknown kind %d", ErrMerkleProof, end.Kind)
	}
}
