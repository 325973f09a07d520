package tree

import (
	"slices"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// walker makes the next version of a tree in one walk over the union of the accessed paths, and records the witness.
type walker struct {
	builder
	record   recorder
	replaced []ref
	entries  []entry // scratch
}

// entry is a leaf of the next version.
type entry struct {
	path *poseidon.Digest
	leaf poseidon.Digest // digest
	node ref             // where the tree has a leaf with this path; none: to be allocated
}

// visit makes the next version of s, a subtree of the version before that stands at depth pos, with all of items
// below pos; there is at least one.
func (w *walker) visit(s subtree, pos int, items []item) subtree {
	switch {
	case s.node == none:
		w.record.shape(ShapeEmpty)
		return w.replaceLeaf(s, items)
	case s.node.isLeaf():
		path := w.nodes.leaf(s.node)
		if slices.ContainsFunc(items, func(it item) bool { return it.path == *path }) {
			w.record.shape(ShapeOwn)
		} else {
			w.record.other(path, &s.digest)
		}
		return w.replaceLeaf(s, items)
	}
	in := w.nodes.inner(s.node)
	depth := int(in.depth) // where items first part from each other or from the subtree
	if pos < depth {
		path := w.nodes.someLeaf(s.node)
		depth = min(depth, commonBits(&items[0].path, path), commonBits(&items[len(items)-1].path, path))
	}
	stored := depth == int(in.depth)
	var old [2]subtree
	if stored {
		for i := range old {
			old[i] = subtree{node: in.child[i], digest: in.digest[i], at: depth + 1}
		}
	} else {
		old[bit(w.nodes.someLeaf(s.node), depth)] = s // the rest of the chain, and nothing beside it
	}
	for range depth - pos {
		w.record.shape(ShapeBranch)
	}
	now, changed := w.visitChildren(old, depth, items)
	for range depth - pos {
		w.record.shape(ShapeEmpty)
	}
	if !changed {
		return s
	}
	if stored {
		w.replaced = append(w.replaced, s.node)
	}
	return w.join(depth, now, &items[0].path)
}

// visitChildren visits those children of a node at the given depth that items lie below: the left one first.
func (w *walker) visitChildren(old [2]subtree, depth int, items []item) (now [2]subtree, changed bool) {
	w.record.shape(ShapeBranch)
	now = old
	halves := halve(items, depth)
	for i, half := range halves {
		if len(half) > 0 {
			now[i] = w.visit(old[i], depth+1, half)
			changed = changed || now[i].changed
		}
	}
	for i, half := range halves {
		if len(half) == 0 {
			emptied := old[1-i].node != none && now[1-i].node == none
			w.untouched(&old[i], depth+1, emptied)
		}
	}
	return now, changed
}

// halve splits items, sorted and equal in the bits before depth, by the bit at depth.
func halve(items []item, depth int) [2][]item {
	i := sort.Search(len(items), func(i int) bool { return bit(&items[i].path, depth) == 1 })
	return [2][]item{items[:i], items[i:]}
}

// replaceLeaf makes the next version of s, which is a leaf or empty.
func (w *walker) replaceLeaf(s subtree, items []item) subtree {
	w.entries = w.entries[:0]
	var old entry
	if s.node != none {
		old = entry{path: w.nodes.leaf(s.node), leaf: s.digest, node: s.node}
	}
	changed := false
	for i := range items {
		it := &items[i]
		changed = changed || it.changed
		e := entry{path: &it.path, leaf: it.leaf}
		if old.node != none {
			switch comparePaths(old.path, e.path) {
			case -1:
				w.entries = append(w.entries, old)
				old.node = none
			case 0:
				e.node = old.node
				if !it.changed {
					e.leaf = old.leaf
				}
				if !it.after {
					w.replaced = append(w.replaced, e.node)
				}
				old.node = none
			}
		}
		if it.after {
			w.entries = append(w.entries, e)
		}
	}
	if old.node != none {
		w.entries = append(w.entries, old)
	}
	if !changed {
		return s
	}
	return w.build(w.entries)
}

// build makes the subtree with the given leaves, ascending by path and together below one position.
func (w *walker) build(entries []entry) subtree {
	switch len(entries) {
	case 0:
		return subtree{changed: true}
	case 1:
		e := &entries[0]
		if e.node == none {
			e.node = w.nodes.newLeaf(e.path)
			w.fresh = append(w.fresh, e.node)
		}
		return subtree{node: e.node, digest: e.leaf, changed: true}
	}
	depth := commonBits(entries[0].path, entries[len(entries)-1].path)
	i := sort.Search(len(entries), func(i int) bool { return bit(entries[i].path, depth) == 1 })
	children := [2]subtree{w.build(entries[:i]), w.build(entries[i:])}
	return w.join(depth, children, entries[0].path)
}

// untouched records a subtree at depth pos with no access below it. It is opened when its sibling had leaves and
// loses all: whether it moves up then depends on its being a leaf.
func (w *walker) untouched(s *subtree, pos int, open bool) {
	switch {
	case s.node == none:
		w.record.shape(ShapeEmpty)
	case !open:
		w.record.shape(ShapeDigest)
		w.attach(w.record.digest(), pos, s)
	case s.node.isLeaf():
		w.record.other(w.nodes.leaf(s.node), &s.digest)
	default:
		w.record.shape(ShapeNode)
		children := [2]*poseidon.Digest{w.record.digest(), w.record.digest()}
		if in := w.nodes.inner(s.node); int(in.depth) == pos {
			*children[0], *children[1] = in.digest[0], in.digest[1]
		} else {
			w.attach(children[bit(w.nodes.someLeaf(s.node), pos)], pos+1, s)
		}
	}
}
