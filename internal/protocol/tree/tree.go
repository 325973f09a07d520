// Package tree is the state tree: a sparse binary Merkle tree over 248-bit paths, whose root is in every header.
//
// A key stands at the path S(1, key) with the leaf S(3, path ‖ S(2, value)) (package poseidon). The root of a set of
// entries at depth d is 8 zeros for none, the leaf for one, else node(root of those with bit d = 0 at d+1, root of
// those with bit d = 1 at d+1); bit i of a path is bit 30 − i mod 31 of element ⌊i/31⌋. The root of all at depth 0 is
// the state root.
//
// The tree lives in memory, about 110 bytes a leaf, as a radix tree: nodes with one empty child are hashed but not
// stored. It knows paths and leaf digests; keys, values and value hashes are the store's.
//
// Versions are copy-on-write. [Tree.Prepare] makes the next version beside the current one, and costs what the
// access list costs, not what the tree does; [Tree.Commit] or [Tree.Discard] ends it. The calls of one Tree must not
// overlap, except that Prepare may run beside any number of Root, Len and Prove.
package tree

import (
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Tree is a state tree at its current version, with changes prepared on top. The zero Tree is empty.
type Tree struct {
	nodes   nodes
	current version
	read    nodes  // what the current version needs of nodes: not written while a change is prepared
	changes uint64 // prepared so far
}

// version is one of the states that a tree's nodes hold.
type version struct {
	id     uint64 // number of the change that made it
	root   ref
	digest poseidon.Digest
	leaves int
}

// Root is the state root of the current version.
func (t *Tree) Root() types.StateRoot { return t.current.digest.Bytes() }

// Len is the number of leaves of the current version.
func (t *Tree) Len() int { return t.current.leaves }

// Change is a version that was prepared on top of another and waits for [Tree.Commit] or [Tree.Discard].
type Change struct {
	tree     *Tree
	base     uint64 // id of the version below
	version  version
	fresh    []ref // allocated for this version
	replaced []ref // of the version below and not of this
	leaves   []LeafChange
	record   recorder
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
// are written, the others only looked up for the witness. Accesses may come in any order. The current version stays
// as it is.
//
// It returns ErrDuplicateKey, ErrPathCollision, and ErrMismatch where an old value is empty though the tree has the
// leaf, or the reverse; old values are not compared beyond that. After an error nothing is left to discard.
func (t *Tree) Prepare(accesses []types.Access, parallel Parallel) (*Change, error) {
	return t.prepare(t.current, newItems(accesses, parallel), parallel)
}

// Prepare is [Tree.Prepare] on top of c instead of the current version. The change it returns can be committed once
// c has been. After c was discarded it can only be discarded.
func (c *Change) Prepare(accesses []types.Access, parallel Parallel) (*Change, error) {
	return c.tree.prepare(c.version, newItems(accesses, parallel), parallel)
}

// Commit makes c the current version and frees the nodes of the version before that c has replaced. It panics
// unless c was prepared on top of the current version and is neither committed nor discarded.
func (t *Tree) Commit(c *Change) {
	if c.tree != t || c.base != t.current.id {
		panic("tree: commit of a change that is not on top of the current version")
	}
	t.current = c.version
	t.end(c, c.replaced)
	t.read = t.nodes
}

// Discard frees the nodes that c has made. It panics when c is committed or discarded.
func (t *Tree) Discard(c *Change) {
	if c.tree != t {
		panic("tree: discard of a change that was ended before")
	}
	t.end(c, c.fresh)
}

// end frees nodes and leaves of c only what can be asked of it afterwards.
func (t *Tree) end(c *Change, free []ref) {
	for _, r := range free {
		t.nodes.free(r)
	}
	c.tree, c.fresh, c.replaced = nil, nil, nil
}
