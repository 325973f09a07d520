package tree

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// Witness is what, beside a block's access list, it takes to compute the state root before and after the block.
//
// It describes the tree before the block where the accesses lie, position by position from the root. A position is
// touched when accesses lie below it. At a touched position stands
//
//	ShapeEmpty   nothing
//	ShapeOwn     one leaf, that of an access
//	ShapeOther   one leaf, and no access has its path; digests: path, value hash
//	ShapeBranch  more leaves; what stands at the positions of its two halves follows: first the touched ones, left
//	             before right, then the untouched one if any
//
// and at an untouched one
//
//	ShapeEmpty   nothing
//	ShapeDigest  a subtree; digests: its root
//	ShapeOther   a leaf; digests: path, value hash
//	ShapeNode    more leaves; digests: the roots of the two halves
//
// The last two stand where the other half has leaves before the block and none after some of the accesses, in the order
// of paths, and ShapeDigest stands elsewhere. So a tree and an access list have one witness. It will do for the
// accesses in that order, however they are cut into runs. Without any access the root is an untouched position.
type Witness struct {
	Shapes  []Shape
	Digests []poseidon.Digest // of the shapes, in the same order
}

// Shape says what stands at a position of the tree.
type Shape uint8

// The shapes.
const (
	ShapeEmpty Shape = iota
	ShapeOwn
	ShapeOther
	ShapeBranch
	ShapeDigest
	ShapeNode
)

// ValueHashes gives the value hash S(2, value) of the leaf at path, which the current state has.
type ValueHashes = func(path poseidon.Digest) (poseidon.Digest, error)

// recorder gathers a witness without the value hashes. Its digests keep their addresses, as they may be computed
// after they are placed.
type recorder struct {
	shapes  []Shape
	chunks  [][]poseidon.Digest
	digests int // in all chunks
	missing []missing
}

// missing is a value hash that the tree does not know.
type missing struct {
	index int             // in the witness' digests, after the path
	leaf  poseidon.Digest // that it must give with the path
}

// digestsPerChunk is the capacity of each of a recorder's chunks.
const digestsPerChunk = 256

func (r *recorder) shape(s Shape) { r.shapes = append(r.shapes, s) }

// digest adds a digest, yet to be set.
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

// add adds what part has recorded, and takes it over.
func (r *recorder) add(part *recorder) {
	for _, m := range part.missing {
		m.index += r.digests
		r.missing = append(r.missing, m)
	}
	r.shapes = append(r.shapes, part.shapes...)
	r.chunks = append(r.chunks, part.chunks...)
	r.digests += part.digests
}

// other adds a leaf that no access has the path of.
func (r *recorder) other(path, leaf *poseidon.Digest) {
	r.shape(ShapeOther)
	*r.digest() = *path
	r.missing = append(r.missing, missing{r.digests, *leaf})
	r.digest()
}

// Witness is the witness of the accesses that the change was prepared from, reads and writes, in the tree before.
// valueHashes is asked for leaves that no access has the path of: before and after the change they are the same. Its
// errors are returned, and one when what it gave does not belong to the leaf.
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
