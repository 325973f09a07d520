// Package tree is the state tree: a sparse binary Merkle tree over 248-bit paths, whose root is in every header.
//
// The leaf of a key is at the path S(1, key) and has the digest S(3, path ‖ S(2, value)) (package poseidon). The root
// of a set of entries at depth d is 8 zeros for no entry, and the leaf's digest for one entry. Otherwise it is
// node(left, right), where left is the root at d+1 of the entries with bit d = 0, and right the root at d+1 of those
// with bit d = 1. Bit i of a path is bit 30 − i mod 31 of element ⌊i/31⌋. The root of all entries at depth 0 is the
// state root.
//
// The tree is held in memory, about 110 bytes per leaf, as a radix tree: nodes with one empty child are hashed but not
// stored. It holds paths and leaf digests; keys, values and value hashes are in the store.
//
// [Tree.Prepare] computes the next version while the current one stays valid, at a cost that depends on the accesses
// and not on the tree's size. [Tree.Commit] makes it current. Commit must not overlap with another call on the same
// Tree, nor Prepare with another Prepare; all other calls may overlap if the tree is whole.
package tree

import (
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Tree is a state tree. The zero Tree is empty.
type Tree struct {
	nodes   nodes
	current version
	spare   []scratch // scratch of the parts of the last committed change, for the next one
	rest    *rest     // parts that are not loaded; nil if the tree is whole
}

// version is one state of a tree.
type version struct {
	number uint64 // number of changes committed before
	root   ref
	digest poseidon.Digest
	leaves int
}

// Root returns the state root of the current version.
func (t *Tree) Root() types.StateRoot { return t.current.digest.Bytes() }

// Len returns the number of leaves of the current version.
func (t *Tree) Len() int { return t.current.leaves }

// Change is the next version of a tree. [Tree.Commit] makes it current; dropping it discards it.
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

// Root returns the state root after the change.
func (c *Change) Root() types.StateRoot { return c.version.digest.Bytes() }

// Leaves returns the leaves that the change writes, ascending by path.
func (c *Change) Leaves() []LeafChange { return c.leaves }

// Prepare makes the version that follows the current one by a block's accesses. Accesses with different old and new
// values are writes; the others are only looked up for the witness. They may be in any order. The tree is unchanged; of
// several changes prepared from the same version only one can be committed.
//
// It returns ErrDuplicateKey, ErrPathCollision, and ErrMismatch if an old value is empty although the tree has the
// leaf, or the reverse. Old values are not compared otherwise. Of a tree that is not whole it loads the parts that it
// needs, and returns the errors of [Tree.LoadMore].
func (t *Tree) Prepare(accesses []types.Access, parallel Parallel) (*Change, error) {
	return t.prepare(newItems(accesses, parallel), parallel)
}

// Commit makes c the current version. It panics if c was not prepared from this tree's current version.
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
