package tree

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// KeyValue is a key and its value in a state; an empty value means that there is none.
type KeyValue struct{ Key, Value []byte }

// reading is a key to look up in a witness.
type reading struct {
	path  poseidon.Digest
	leaf  poseidon.Digest // leaf digest of its value; zero if it has none
	proof *MerkleProof
}

// sortReadings sorts readings by path. It returns ErrPathCollision if two have the same path, also if a key occurs
// twice.
func sortReadings(readings []reading) error {
	slices.SortFunc(readings, func(a, b reading) int { return comparePaths(&a.path, &b.path) })
	for i := 1; i < len(readings); i++ {
		if readings[i].path == readings[i-1].path {
			return fmt.Errorf("%w: %x", ErrPathCollision, readings[i].path.Bytes())
		}
	}
	return nil
}

// halveReadings splits readings by the bit at depth pos.
func halveReadings(readings []reading, pos int) [2][]reading {
	i := 0
	for i < len(readings) && bit(&readings[i].path, pos) == 0 {
		i++
	}
	return [2][]reading{readings[:i], readings[i:]}
}

// JoinMerkleProofs returns the witness of accesses that read the given keys, at least one, and write nothing. proofs
// are the complete proofs of the keys under one root. It returns ErrPathCollision, or ErrWitness if the proofs do not
// fit each other.
func JoinMerkleProofs(keys [][]byte, proofs []MerkleProof) (Witness, error) {
	readings := make([]reading, len(keys))
	for i, path := range Paths(keys) {
		readings[i] = reading{path: path, proof: &proofs[i]}
	}
	var w Witness
	if err := sortReadings(readings); err != nil {
		return w, err
	}
	return w, w.join(readings, 0)
}

// join adds the content of the position at depth pos that has all the readings below it.
func (w *Witness) join(readings []reading, pos int) error {
	if end := readings[0].proof; len(end.Siblings) == pos {
		own := slices.ContainsFunc(readings, func(r reading) bool { return r.proof.End.Kind == EndLeaf })
		switch {
		case own:
			w.Shapes = append(w.Shapes, ShapeOwn)
		case end.End.Kind == EndEmpty:
			w.Shapes = append(w.Shapes, ShapeEmpty)
		default:
			w.Shapes = append(w.Shapes, ShapeOther)
			w.Digests = append(w.Digests, end.End.Path, end.End.ValueHash)
		}
		return nil
	}
	if len(readings[0].proof.Siblings) < pos {
		return fmt.Errorf("%w: one proof ends where another one continues", ErrWitness)
	}
	w.Shapes = append(w.Shapes, ShapeBranch)
	halves := halveReadings(readings, pos)
	beside := readings[0].proof.Siblings[pos] // sibling, if one half has no readings
	for _, half := range halves {
		if len(half) > 0 {
			if err := w.join(half, pos+1); err != nil {
				return err
			}
		}
	}
	if len(halves[0]) > 0 && len(halves[1]) > 0 {
		return nil
	}
	if beside.IsZero() {
		w.Shapes = append(w.Shapes, ShapeEmpty)
		return nil
	}
	w.Shapes, w.Digests = append(w.Shapes, ShapeDigest), append(w.Digests, beside)
	return nil
}

// VerifyReads checks that exactly these values are under the keys in the state root, and that the witness contains
// nothing else. There must be at least one key; keys may be in any order. Errors wrap ErrWitness or ErrPathCollision.
func (w Witness) VerifyReads(root types.StateRoot, values []KeyValue) error {
	if len(values) == 0 {
		return fmt.Errorf("%w: no keys", ErrWitness)
	}
	for i := range w.Digests {
		if !w.Digests[i].IsCanonical() {
			return fmt.Errorf("%w: digest %d: %w", ErrWitness, i, poseidon.ErrNotCanonical)
		}
	}
	readings := newReadings(values)
	if err := sortReadings(readings); err != nil {
		return err
	}
	r := witnessReader{w}
	digest, err := r.touched(readings, 0)
	switch {
	case err != nil:
		return err
	case len(r.rest.Shapes) > 0 || len(r.rest.Digests) > 0:
		return fmt.Errorf("%w: %d shapes and %d digests are left over", ErrWitness, len(r.rest.Shapes), len(r.rest.Digests))
	case digest.Bytes() != root:
		return fmt.Errorf("%w: it leads to a different root, or proves different values", ErrWitness)
	}
	return nil
}

// newReadings hashes keys and values.
func newReadings(values []KeyValue) []reading {
	keys, contents := make([][]byte, len(values)), make([][]byte, len(values))
	for i, v := range values {
		keys[i], contents[i] = v.Key, v.Value
	}
	hashes := make([]poseidon.Digest, len(values))
	poseidon.HashMany(poseidon.TagValue, hashes, contents)
	readings := make([]reading, len(values))
	for i, path := range Paths(keys) {
		readings[i].path = path
		if len(contents[i]) > 0 {
			readings[i].leaf = leafDigest(path, hashes[i])
		}
	}
	return readings
}

// witnessReader consumes a witness of reads from its root on.
type witnessReader struct{ rest Witness }

func (r *witnessReader) shape() (Shape, error) {
	if len(r.rest.Shapes) == 0 {
		return 0, fmt.Errorf("%w: a shape is missing", ErrWitness)
	}
	shape := r.rest.Shapes[0]
	r.rest.Shapes = r.rest.Shapes[1:]
	return shape, nil
}

func (r *witnessReader) digest() (d poseidon.Digest, err error) {
	if len(r.rest.Digests) == 0 {
		return d, fmt.Errorf("%w: a digest is missing", ErrWitness)
	}
	d, r.rest.Digests = r.rest.Digests[0], r.rest.Digests[1:]
	return d, nil
}

// touched returns the digest at depth pos of the subtree that has all the readings below it.
func (r *witnessReader) touched(readings []reading, pos int) (d poseidon.Digest, err error) {
	shape, err := r.shape()
	if err != nil {
		return d, err
	}
	if shape == ShapeBranch {
		return r.branch(readings, pos)
	}
	present := 0
	for i := range readings {
		if !readings[i].leaf.IsZero() {
			d, present = readings[i].leaf, present+1
		}
	}
	switch {
	case shape == ShapeEmpty && present == 0, shape == ShapeOwn && present == 1:
		return d, nil
	case shape == ShapeOther && present == 0:
		return r.other(readings, pos)
	default:
		return d, fmt.Errorf("%w: shape %d where %d keys have values", ErrWitness, shape, present)
	}
}

// other returns the digest of a leaf whose path no reading has.
func (r *witnessReader) other(readings []reading, pos int) (poseidon.Digest, error) {
	path, err := r.digest()
	if err != nil {
		return path, err
	}
	valueHash, err := r.digest()
	if err != nil {
		return path, err
	}
	for i := range readings {
		if common := commonBits(&path, &readings[i].path); common < pos || common == pathBits {
			return path, fmt.Errorf("%w: a leaf is misplaced, so it does not show a key's absence", ErrWitness)
		}
	}
	return leafDigest(path, valueHash), nil
}

func (r *witnessReader) branch(readings []reading, pos int) (d poseidon.Digest, err error) {
	if pos == pathBits {
		return d, fmt.Errorf("%w: a node is deeper than a path is long", ErrWitness)
	}
	var children [2]poseidon.Digest
	halves := halveReadings(readings, pos)
	for side, half := range halves {
		if len(half) > 0 {
			if children[side], err = r.touched(half, pos+1); err != nil {
				return d, err
			}
		}
	}
	for side, half := range halves {
		if len(half) == 0 {
			if children[side], err = r.untouched(); err != nil {
				return d, err
			}
		}
	}
	return nodeDigest(children[0], children[1]), nil
}

// untouched returns the digest of a half without readings.
func (r *witnessReader) untouched() (d poseidon.Digest, err error) {
	shape, err := r.shape()
	if err != nil || shape == ShapeEmpty {
		return d, err
	}
	if d, err = r.digest(); err == nil && (shape != ShapeDigest || d.IsZero()) {
		err = fmt.Errorf("%w: shape %d with the digest %x next to the read keys", ErrWitness, shape, d.Bytes())
	}
	return d, err
}
