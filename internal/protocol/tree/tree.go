// Package tree is the state tree: a sparse binary Merkle tree over 248-bit paths, whose root is in every header.
//
// A key stands at the path S(1, key) with the leaf S(3, path ‖ S(2, value)) (package poseidon). The root of a set of
// entries at depth d is 8 zeros for none, and the leaf for one. Else it is node(root of those with bit d = 0 at d+1,
// root of those with bit d = 1 at d+1). Bit i of a path is bit 30 − i mod 31 of element ⌊i/31⌋. The root of all at
// depth 0 is the state root.
//
// The tree lives in memory, about 110 bytes a leaf, as a radix tree: nodes with one empty child are hashed but not
// stored. It knows paths and leaf digests; keys, values and value hashes are the store's.
//
// [Tree.Prepare] computes the next version beside the current one, at a cost of the accesses and not of the tree, and
// [Tree.Commit] puts it in place. Commit must not overlap with another call of the same Tree, nor Prepare with another
// Prepare; all others may.
package tree

import (
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Tree is a state tree. The zero Tree is empty.
type Tree struct {
	nodes   nodes
	current version
	spare   []scratch // of the parts of the change that was committed last, for the next one
}

// version is one state of a tree.
type version struct {
	number uint64 // of changes that were committed before
	root   ref
	digest poseidon.Digest
	leaves int
}

// Root is the state root of the current version.
func (t *Tree) Root() types.StateRoot { return t.current.digest.Bytes() }

// Len is the number of leaves of the current version.
func (t *Tree) Len() int { return t.current.leaves }

// Change is the next version of a tree, which [Tree.Commit] makes the current one. To discard it is to drop it.
type Change struct {
	tree    *Tree
	version version
	drafts  *drafts
	removed []ref
	leaves  []LeafChange
	record  recorder
}

// LeafChange is a leaf that a change writes.
type LeafChange struct {
	Key       []byte
	Path      poseidon.Digest
	ValueHash poseidon.Digest // S(2, value); zero when Deleted
	Leaf      poseidon.Digest // S(3, Path ‖ ValueHash); zero when Deleted
	Deleted   bool
}

// Root is the state root after the change.
func (c *Change) Root() types.StateRoot { return c.version.digest.Bytes() }

// Leaves are the leaves that the change writes, ascending by path.
func (c *Change) Leaves() []LeafChange { return c.leaves }

// Prepare makes the version that follows the current one by a block's accesses: those whose old and new value differ
// are written, the others only looked up for the witness. Accesses may come in any order. The tree stays as it is; of
// several changes prepared from the same version one can be committed.
//
// It returns ErrDuplicateKey, ErrPathCollision, and ErrMismatch where an old value is empty though the tree has the
// leaf, or the reverse; old values are not compared beyond that.
func (t *Tree) Prepare(accesses []types.Access, parallel Parallel) (*Change, error) {
	return t.prepare(newItems(accesses, parallel), parallel)
}

// Commit makes c the current version. It panics when c was not prepared from this tree's current version.
func (t *Tree) Commit(c *Change, parallel Parallel) {
	if c.tree != t || c.version.number != t.current.number+1 {
		panic("tree: commit of a change that does not follow the current version")
	}
	c.version.root = c.drafts.store(&t.nodes, c.version.root, parallel)
	for _, r := range c.removed {
		t.nodes.free(r)
	}
	t.current = c.version
	t.spare = c.drafts.scratch()
	c.drafts, c.removed = nil, nil
}
