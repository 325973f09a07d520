package tree

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// Witness is the data, in addition to a block's access list, from which the state roots before and after the block can
// be computed.
//
// It describes the parts of the tree before the block that contain accesses, position by position from the root. A
// position is touched if there are accesses below it. The shapes of a touched position are
//
//	ShapeEmpty   nothing
//	ShapeOwn     one leaf, whose path an access has
//	ShapeOther   one leaf, whose path no access has; digests: path, value hash
//	ShapeBranch  more leaves; the positions of the two halves follow: first the touched ones, left before right, then
//	             the untouched one if any
//
// and the shapes of an untouched position are
//
//	ShapeEmpty   nothing
//	ShapeDigest  a subtree; digests: its root
//	ShapeOther   a leaf; digests: path, value hash
//	ShapeNode    more leaves; digests: the roots of the two halves
//
// The last two are used if the other half has leaves before the block and none after some prefix of the accesses in the
// order of paths; otherwise ShapeDigest is used. So the witness of a tree and an access list is unique. It suffices for
// the accesses in that order, however they are cut into runs. Without any access the root is an untouched position.
type Witness struct {
	Shapes  []Shape
	Digests []poseidon.Digest // digests of the shapes, in the same order
}

// Shape is the kind of content at a position of the tree.
type Shape uint8

// Shapes; see [Witness].
const (
	ShapeEmpty Shape = iota
	ShapeOwn
	ShapeOther
	ShapeBranch
	ShapeDigest
	ShapeNode
)

// ValueHashes returns the value hash S(2, value) of the leaf at path in the current state.
type ValueHashes = func(path poseidon.Digest) (poseidon.Digest, error)

// recorder collects a witness without the value hashes. Its digests keep their addresses, as they may be computed after
// they are placed.
type recorder struct {
	shapes  []Shape
	chunks  [][]poseidon.Digest
	digests int // number in all chunks
	missing []missing
}

// missing is a value hash that the tree does not hold.
type missing struct {
	index int             // index in the witness' digests, after the path
	leaf  poseidon.Digest // leaf digest that it must give together with the path
}

// digestsPerChunk is the capacity of each chunk of a recorder.
const digestsPerChunk = 256

func (r *recorder) shape(s Shape) { r.shapes = append(r.shapes, s) }

// digest adds a digest that the caller sets later.
func (r *recorder) digest() *poseidon.Digest {
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last]) == cap(r.chunks[last]) {
		r.chunks = append(r.chunks, make([]poseidon.Digest, 0, digestsPerChunk))
		last++
	}
	r.digests++
	r.chunks[last] = append(r.chunks[last], poseidon.Digest{})
	return &r.chunks[last][len(r.chunks[last])-1]
}

// add appends the contents of part, which must not be used afterwards.
func (r *recorder) add(part *recorder) {
	for _, m := range part.missing {
		m.index += r.digests
		r.missing = append(r.missing, m)
	}
	r.shapes = append(r.shapes, part.shapes...)
	r.chunks = append(r.chunks, part.chunks...)
	r.digests += part.digests
}

// other adds a leaf whose path no access has.
func (r *recorder) other(path, leaf *poseidon.Digest) {
	r.shape(ShapeOther)
	*r.digest() = *path
	r.missing = append(r.missing, missing{r.digests, *leaf})
	r.digest()
}

// Witness returns the witness of the accesses that the change was prepared from, reads and writes, in the tree before
// the change. It calls valueHashes for leaves whose paths no access has; they are the same before and after the change.
// It returns errors of valueHashes, and an error if a returned hash does not belong to the leaf.
func (c *Change) Witness(valueHashes ValueHashes) (Witness, error) {
	r := &c.record
	w := Witness{Shapes: r.shapes, Digests: make([]poseidon.Digest, 0, r.digests)}
	for _, chunk := range r.chunks {
		w.Digests = append(w.Digests, chunk...)
	}
	pairs := make([][2]poseidon.Digest, len(r.missing))
	for i, m := range r.missing {
		path := w.Digests[m.index-1]
		hash, err := valueHashes(path)
		if err != nil {
			return Witness{}, fmt.Errorf("tree: value hash of a leaf of the witness: %w", err)
		}
		w.Digests[m.index] = hash
		pairs[i] = [2]poseidon.Digest{path, hash}
	}
	leaves := make([]poseidon.Digest, len(pairs))
	poseidon.Leaves(leaves, pairs)
	for i, m := range r.missing {
		if leaves[i] != m.leaf {
			return Witness{}, fmt.Errorf("tree: the value hash given for the leaf at %x is not its own", pairs[i][0].Bytes())
		}
	}
	return w, nil
}
