package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// subtree is a subtree of a version in the making. Its zero value is empty.
type subtree struct {
	node    ref
	digest  poseidon.Digest  // of a leaf; of a stored inner node as it stands at depth at
	at      int              // of no meaning for a leaf: its digest is the same everywhere
	made    *inner           // the inner node, when it is made anew: its digest is not computed yet
	path    *poseidon.Digest // of made: begins as all below it do
	changed bool             // not the subtree of the version before

	// vanished: it has leaves in the version before, and none after some of the accesses, in the order of paths.
	vanished bool
}

// builder links nodes and gathers the climbs that will compute their digests.
type builder struct {
	nodes  *nodes
	climbs []climb
}

// setChild hangs s under in, at a final address.
func (b *builder) setChild(in *inner, side int, s *subtree) {
	in.child[side] = s.node
	b.attach(&in.digest[side], int(in.depth)+1, s)
}

// attach sees to it that dest gets the digest of s as it stands at the given depth.
func (b *builder) attach(dest *poseidon.Digest, depth int, s *subtree) {
	c := climb{dest: dest, node: s.made, path: s.path, top: uint8(depth)}
	switch {
	case s.made != nil:
		c.next = s.made.depth
	case s.node == none || s.node.isLeaf() || s.at == depth:
		*dest = s.digest
		return
	case s.at < depth: // hangs lower than before: its chain was cut
		c.node, c.path = b.nodes.inner(s.node), b.nodes.someLeaf(s.node)
		c.next = c.node.depth
	default: // hangs higher than before: its chain goes on
		*dest = s.digest
		c.path, c.next = b.nodes.someLeaf(s.node), uint8(s.at-1)
	}
	b.climbs = append(b.climbs, c)
}
