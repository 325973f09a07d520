package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// subtree is a subtree of a version in progress. The zero value is empty.
type subtree struct {
	node    ref
	digest  poseidon.Digest  // digest of a leaf, or of a stored inner node at depth at
	at      int              // depth of digest; meaningless for a leaf, whose digest is the same at every depth
	made    *inner           // the inner node if it is newly made; its digest is not computed yet
	path    *poseidon.Digest // a path with the prefix that all paths below made share
	changed bool             // differs from the previous version

	// vanished is set if the subtree has leaves in the previous version, and none after some prefix of the accesses in
	// the order of paths.
	vanished bool
}

// builder links nodes and collects the climbs that compute their digests.
type builder struct {
	nodes  *nodes
	climbs []climb
}

// setChild sets s as a child of in. The address of in must be final.
func (b *builder) setChild(in *inner, side int, s *subtree) {
	in.child[side] = s.node
	b.attach(&in.digest[side], int(in.depth)+1, s)
}

// attach arranges that dest receives the digest of s at the given depth, now or by a climb.
func (b *builder) attach(dest *poseidon.Digest, depth int, s *subtree) {
	c := climb{dest: dest, node: s.made, path: s.path, top: uint8(depth)}
	switch {
	case s.made != nil:
		c.next = s.made.depth
	case s.node == none || s.at == depth || s.node.isLeaf() && !b.nodes.isPlaceholder(s.node):
		*dest = s.digest
		return
	case s.at < depth: // hangs lower than before: its chain was shortened
		c.node, c.path = b.nodes.inner(s.node), b.nodes.someLeaf(s.node)
		c.next = c.node.depth
	default: // hangs higher than before: its chain is extended
		*dest = s.digest
		c.path, c.next = b.nodes.someLeaf(s.node), uint8(s.at-1)
	}
	b.climbs = append(b.climbs, c)
}
