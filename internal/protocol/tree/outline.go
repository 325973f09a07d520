package tree

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// The outline of a tree has the digests of its subtrees at one depth, the parts, from left to right. It gives the root,
// so a tree can be used before its leaves are read: a part is loaded once a change needs it, and its leaves are then
// held to its digest. Before that, a placeholder stands for it, a leaf with the bits that lead to the part as its path.

// ErrOutline is returned if the leaves of a part do not have the digest in the outline.
var ErrOutline = errors.New("tree: the leaves of a part do not match the outline")

// Outline returns the tree's outline at a depth: 2^depth digests, zero for an empty part. It is nil for a tree that has
// leaves in one part only.
func (t *Tree) Outline(depth int) []poseidon.Digest {
	root := subtree{node: t.current.root, digest: t.current.digest}
	if root.node == none || root.node.isLeaf() || int(t.nodes.inner(root.node).depth) >= depth {
		return nil
	}
	outline := make([]poseidon.Digest, 1<<depth)
	b := builder{nodes: &t.nodes}
	var visit func(s *subtree)
	visit = func(s *subtree) {
		if !s.node.isLeaf() {
			if in := t.nodes.inner(s.node); int(in.depth) < depth {
				children := in.children()
				visit(&children[0])
				visit(&children[1])
				return
			}
		}
		b.attach(&outline[partOf(t.nodes.someLeaf(s.node), depth)], depth, s)
	}
	visit(&root)
	run(b.climbs, inOrder)
	return outline
}

// partOf returns the part with a path, of 2^bits parts.
func partOf(path *poseidon.Digest, bits int) int { return int(path[0] >> (elementBits - bits)) }

// rest are the parts of a tree that are not loaded.
type rest struct {
	source
	parts   []partState
	left    int // number of missing parts
	fewest  int // fewest leaves that a part had when it was loaded
	deleted int // leaves deleted by all changes that were prepared
}

type partState uint8

const (
	partLoaded partState = iota
	partMissing
	partEmpty // in the outline
)

// Outlined returns the tree with an outline, of which no part is loaded. The caller must compare the root. leaves is the
// number of leaves, which is checked once the tree is whole. Until then, no other call may overlap with [Tree.Prepare]
// or [Tree.LoadMore]. read must return the leaves of a part as in the outline until a change that writes to the part
// was prepared.
func Outlined(outline []poseidon.Digest, leaves int, read ReadPart) *Tree {
	depth := bits.Len(uint(len(outline))) - 1
	t := &Tree{rest: &rest{
		source: source{bits: depth, read: read}, parts: make([]partState, len(outline)), fewest: leaves,
	}}
	t.nodes.leaves.reserve(len(outline))
	t.nodes.placeholders = len(outline)
	top := loader{builder: builder{nodes: &t.nodes}, inners: t.nodes.inners.reserve(len(outline) - 1)}
	for part, digest := range outline {
		if digest.IsZero() {
			t.rest.parts[part] = partEmpty
			continue
		}
		t.rest.parts[part] = partMissing
		t.rest.left++
		node := placeholder(part)
		path := t.nodes.leaf(node)
		path[0] = uint32(part) << (elementBits - depth)
		top.push(subtree{node: node, digest: digest, at: depth, path: path})
	}
	top.fold(-1)
	top.attach(&t.current.digest, 0, &top.last)
	run(top.climbs, inOrder)
	for unused := top.inners; unused <= t.nodes.inners.last; unused++ {
		t.nodes.inners.release(unused)
	}
	t.current.root, t.current.leaves = top.last.node, leaves
	return t
}

// placeholder returns the ref that stands for a part.
func placeholder(part int) ref { return leafBit | ref(1+part) }

// isPlaceholder reports whether r stands for a part that is not loaded, or was not when r was read.
func (n *nodes) isPlaceholder(r ref) bool {
	return r.isLeaf() && r&draftBit == 0 && int(r&^leafBit) <= n.placeholders
}

// Whole reports whether all parts of the tree are loaded.
func (t *Tree) Whole() bool { return t.rest == nil }

// LoadMore loads at most n parts that are missing. It returns ErrOutline, and the errors of [Load].
func (t *Tree) LoadMore(n int, parallel Parallel) error {
	if t.rest == nil {
		return nil
	}
	return t.loadParts(t.rest.missing(n), parallel)
}

// missing returns the first missing parts, at most n.
func (r *rest) missing(n int) (parts []int) {
	for part, state := range r.parts {
		if state == partMissing && len(parts) < n {
			parts = append(parts, part)
		}
	}
	return parts
}

// loadFor loads the parts to which items, which are sorted, belong. If a part became empty, its sibling would have to be
// opened, which may be missing: before one can, the whole tree is loaded.
func (t *Tree) loadFor(items []item, parallel Parallel) error {
	r := t.rest
	if r == nil {
		return nil
	}
	var parts []int
	for i := range items {
		part := partOf(&items[i].path, r.bits)
		switch {
		case r.parts[part] == partEmpty:
			r.fewest = 0
		case r.parts[part] == partMissing && (len(parts) == 0 || parts[len(parts)-1] != part):
			parts = append(parts, part)
		}
		if items[i].before && !items[i].after {
			r.deleted++
		}
	}
	err := t.loadParts(parts, parallel)
	if err == nil && r.deleted >= r.fewest {
		err = t.LoadMore(len(r.parts), parallel)
	}
	return err
}

// loadParts loads parts that are missing.
func (t *Tree) loadParts(parts []int, parallel Parallel) error {
	r := t.rest
	for len(parts) > 0 {
		group := parts[:min(loadTogether, len(parts))]
		if err := r.load(&t.nodes, group, parallel); err != nil {
			return err
		}
		for i, part := range group {
			if err := t.link(part, &r.loaders[i]); err != nil {
				return err
			}
			r.parts[part] = partLoaded
			r.left--
			r.fewest = min(r.fewest, len(r.loaders[i].input))
		}
		parts = parts[len(group):]
	}
	if r.left > 0 {
		return nil
	}
	if loaded := t.nodes.leaves.inUse() - t.nodes.placeholders; loaded != t.current.leaves {
		return fmt.Errorf("%w: %d leaves instead of %d", ErrOutline, loaded, t.current.leaves)
	}
	t.rest = nil
	return nil
}

// link puts a part that was loaded in the place of its placeholder.
func (t *Tree) link(part int, l *loader) error {
	at := placeholder(part)
	path := t.nodes.leaf(at)
	in := t.nodes.inner(t.current.root)
	side := bit(path, int(in.depth))
	for in.child[side] != at {
		in = t.nodes.inner(in.child[side])
		side = bit(path, int(in.depth))
	}
	var digest poseidon.Digest
	l.climbs = l.climbs[:0]
	l.attach(&digest, int(in.depth)+1, &l.last)
	run(l.climbs, inOrder)
	if digest != in.digest[side] {
		return fmt.Errorf("%w: part %d of %d has %x", ErrOutline, part, len(t.rest.parts), digest.Bytes())
	}
	in.child[side] = l.last.node
	return nil
}
