package tree

import (
	"slices"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// walker makes the next version of a subtree in one walk over the union of the accessed paths, and records the witness.
// It does not change the tree, so walkers of different subtrees may run in parallel.
type walker struct {
	builder
	record  recorder
	drafts  *share
	removed []ref   // stored nodes and leaves without a counterpart in the next version
	entries []entry // scratch
	ways    ways    // ways of the items, if they were surveyed
	parts   *parts  // parts that are already walked and are only joined here; nil if there are none
}

// entry is a leaf of the next version.
type entry struct {
	path *poseidon.Digest
	leaf poseidon.Digest // digest
	node ref             // the tree's leaf with this path; none if it must be created
}

// visit makes the next version of s, a subtree of the previous version at depth pos, with all of items below it. There
// is at least one item. Subtrees are passed by address, because visit is called for every node.
func (w *walker) visit(s *subtree, pos int, items []item) subtree {
	switch {
	case w.parts != nil && w.parts.isPart(s, items):
		p, now := w.parts.take()
		w.record.add(&p.walker.record)
		return now
	case s.node == none:
		w.record.shape(ShapeEmpty)
		return w.replaceLeaf(s, items)
	case s.node.isLeaf():
		path := w.nodes.leaf(s.node)
		if containsPath(items, path) {
			w.record.shape(ShapeOwn)
		} else {
			w.record.other(path, &s.digest)
		}
		return w.replaceLeaf(s, items)
	case len(items) == 1 && items[0].before && items[0].after:
		return w.keep(s, pos, &items[0])
	}
	var old, now [2]subtree
	var known *poseidon.Digest
	if items[0].before {
		known = &items[0].path
	}
	depth := w.nodes.open(s, pos, items, known, &old)
	for range depth - pos {
		w.record.shape(ShapeBranch)
	}
	changed := w.visitChildren(&old, &now, depth, items)
	for range depth - pos {
		w.record.shape(ShapeEmpty)
	}
	if !changed {
		return *s
	}
	var replaces ref
	if int(w.nodes.inner(s.node).depth) == depth {
		replaces = s.node
	}
	next := w.join(replaces, depth, &now, &items[0].path)
	next.vanished = old[1].node == none && now[0].vanished || now[0].node == none && now[1].vanished
	return next
}

func containsPath(items []item, path *poseidon.Digest) bool {
	for i := range items {
		if items[i].path == *path {
			return true
		}
	}
	return false
}

// keep is visit for a single item whose leaf is below the node s.node and remains: with or without a new value, no node
// is added or removed. In a large tree, most nodes on the ways to a block's accesses have only one access below.
func (w *walker) keep(s *subtree, pos int, it *item) subtree {
	way := w.ways[it.row:]
	for way[0][it.column] != s.node {
		way = way[1:]
	}
	nodes := 0
	for !way[nodes][it.column].isLeaf() {
		nodes++
	}
	end := int(w.nodes.inner(way[nodes-1][it.column]).depth) + 1 // depth of the leaf
	w.record.shapes = append(w.record.shapes, branches[:end-pos]...)
	w.record.shape(ShapeOwn)
	var below *inner
	for i := nodes - 1; i >= 0; i-- {
		r := way[i][it.column]
		in := w.nodes.inner(r)
		depth := int(in.depth)
		for range end - depth - 1 {
			w.record.shape(ShapeEmpty)
		}
		end = depth
		side := bit(&it.path, depth)
		w.record.shape(ShapeDigest)
		*w.record.digest() = in.digest[1-side]
		if !it.changed {
			continue
		}
		_, made := w.drafts.inner(r)
		*made = *in
		if below == nil {
			made.digest[side] = it.leaf
		} else {
			w.climbs = append(w.climbs, climb{
				dest: &made.digest[side], path: &it.path, node: below, next: below.depth, top: in.depth + 1})
		}
		below = made
	}
	for range end - pos {
		w.record.shape(ShapeEmpty)
	}
	if !it.changed {
		return *s
	}
	return subtree{node: s.node, made: below, path: &it.path, changed: true}
}

// branches holds the shapes of a way.
var branches = slices.Repeat([]Shape{ShapeBranch}, pathBits)

// open returns the depth, at least pos, of the node at which items first diverge from each other or from s. The topmost
// stored node of s is at that depth or deeper. open sets children, which must be empty, to the node's children. known
// is the path of a leaf of s, or nil if open has to look one up, away from the items' ways.
func (n *nodes) open(s *subtree, pos int, items []item, known *poseidon.Digest, children *[2]subtree) (depth int) {
	in := n.inner(s.node)
	if depth = int(in.depth); pos < depth {
		path := known
		if path == nil {
			path = n.someLeaf(s.node)
		}
		depth = min(depth, commonBits(&items[0].path, path), commonBits(&items[len(items)-1].path, path))
		if depth < int(in.depth) {
			children[bit(path, depth)] = *s // the rest of the chain, with nothing beside it
			return depth
		}
	}
	*children = in.children()
	return depth
}

// children returns the children of a stored node.
func (in *inner) children() (children [2]subtree) {
	for i := range children {
		children[i] = subtree{node: in.child[i], digest: in.digest[i], at: int(in.depth) + 1}
	}
	return children
}

// join returns the subtree with the two children at depth+1. It replaces the given stored node unless that is none.
// path has the prefix, down to depth, that all paths in the subtree share. If one half is empty, the other half stands
// for both, at any depth.
func (w *walker) join(replaces ref, depth int, children *[2]subtree, path *poseidon.Digest) subtree {
	for i := range children {
		if children[i].node == none {
			if replaces != none {
				w.removed = append(w.removed, replaces)
			}
			only := children[1-i]
			only.changed = true
			return only
		}
	}
	r, in := w.drafts.inner(replaces)
	in.depth = uint8(depth)
	for i := range children {
		w.setChild(in, i, &children[i])
	}
	return subtree{node: r, made: in, path: path, changed: true}
}

// visitChildren visits the children of a node at the given depth that have items below them, the left one first, and
// sets the children's next versions.
func (w *walker) visitChildren(old, now *[2]subtree, depth int, items []item) (changed bool) {
	w.record.shape(ShapeBranch)
	halves := halve(items, depth)
	for i, half := range halves {
		if len(half) > 0 {
			now[i] = w.visit(&old[i], depth+1, half)
			changed = changed || now[i].changed
		} else {
			now[i] = old[i]
		}
	}
	for i, half := range halves {
		if len(half) == 0 {
			w.untouched(&old[i], depth+1, now[1-i].vanished)
		}
	}
	return changed
}

// halve splits items, which are sorted and equal in the bits before depth, by the bit at depth.
func halve(items []item, depth int) [2][]item {
	if len(items) == 1 { // below the top of the tree
		if bit(&items[0].path, depth) == 0 {
			return [2][]item{items, nil}
		}
		return [2][]item{nil, items}
	}
	i := sort.Search(len(items), func(i int) bool { return bit(&items[i].path, depth) == 1 })
	return [2][]item{items[:i], items[i:]}
}

// replaceLeaf makes the next version of s, which is a leaf or empty.
func (w *walker) replaceLeaf(s *subtree, items []item) subtree {
	w.entries = w.entries[:0]
	var old entry
	if s.node != none {
		old = entry{path: w.nodes.leaf(s.node), leaf: s.digest, node: s.node}
	}
	changed, vanished := false, false
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
					w.removed = append(w.removed, e.node)
					vanished = len(w.entries) == 0
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
		return *s
	}
	next := w.build(w.entries)
	next.vanished = vanished
	return next
}

// build makes the subtree of the given leaves, which ascend by path and are all below one position.
func (w *walker) build(entries []entry) subtree {
	switch len(entries) {
	case 0:
		return subtree{changed: true}
	case 1:
		e := &entries[0]
		if e.node == none {
			e.node = w.drafts.leaf(e.path)
		}
		return subtree{node: e.node, digest: e.leaf, changed: true}
	}
	depth := commonBits(entries[0].path, entries[len(entries)-1].path)
	i := sort.Search(len(entries), func(i int) bool { return bit(entries[i].path, depth) == 1 })
	children := [2]subtree{w.build(entries[:i]), w.build(entries[i:])}
	return w.join(none, depth, &children, entries[0].path)
}

// untouched records a subtree at depth pos without accesses below it. It is opened if its sibling vanishes: whether it
// moves up then depends on whether it is a leaf.
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
