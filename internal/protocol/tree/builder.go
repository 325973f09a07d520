package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// subtree is a subtree of a version in the making. Its zero value is empty.
type subtree struct {
	node    ref
	digest  poseidon.Digest // of a leaf; of an old inner node as it stands at depth at
	at      int             // for a leaf of no meaning: its digest is the same everywhere
	climb   int             // 1 + the number of the climb that computes the digest of a new inner node; 0: not new
	changed bool            // not the subtree of the version before
}

// builder makes inner nodes and gathers the climbs that will compute their digests. A climb's destination and top
// are set once the node is attached to its parent.
type builder struct {
	nodes  *nodes
	fresh  []ref // nodes that were allocated
	climbs []climb
}

// join is the subtree with the two children at depth+1. path is one that begins as all in the subtree do, down to
// depth. A subtree whose other half is empty stands for both, wherever it is.
func (b *builder) join(depth int, children [2]subtree, path *poseidon.Digest) subtree {
	for i := range children {
		if children[i].node == none {
			only := children[1-i]
			only.changed = true
			return only
		}
	}
	r := b.fork(depth)
	b.fresh = append(b.fresh, r)
	for i := range children {
		b.setChild(r, i, &children[i])
	}
	return b.finish(r, path)
}

// fork makes an inner node that parts paths by the bit at depth. Its children are to be set, and then it finished.
func (b *builder) fork(depth int) ref {
	r := b.nodes.newInner()
	b.nodes.inner(r).depth = uint8(depth)
	return r
}

func (b *builder) setChild(r ref, side int, s *subtree) {
	in := b.nodes.inner(r)
	in.child[side] = s.node
	b.attach(&in.digest[side], int(in.depth)+1, s)
}

// finish orders the digest of a node whose children are set. path is one that begins as all below r do.
func (b *builder) finish(r ref, path *poseidon.Digest) subtree {
	b.climbs = append(b.climbs, climb{node: r, next: b.nodes.inner(r).depth, path: path})
	return subtree{node: r, climb: len(b.climbs), changed: true}
}

// attach sees to it that dest gets the digest of s as it stands at the given depth.
func (b *builder) attach(dest *poseidon.Digest, depth int, s *subtree) {
	switch {
	case s.node == none || s.node.isLeaf():
		*dest = s.digest
	case s.climb > 0:
		c := &b.climbs[s.climb-1]
		c.dest, c.top = dest, uint8(depth)
	case s.at == depth:
		*dest = s.digest
	case s.at > depth: // hangs higher than before: its chain goes on
		b.climbs = append(b.climbs, climb{
			dest: dest, path: b.nodes.someLeaf(s.node), digest: s.digest, next: uint8(s.at - 1), top: uint8(depth)})
	default: // hangs lower than before: its chain was cut
		b.climbs = append(b.climbs, climb{
			dest: dest, path: b.nodes.someLeaf(s.node), node: s.node, next: b.nodes.inner(s.node).depth, top: uint8(depth)})
	}
}
