package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// ref names a subtree by its topmost node that has two children, or by its only leaf. Nodes refer to each other by
// number and not by pointer, so that the garbage collector has nothing to scan in a tree.
type ref uint32

const (
	none     ref = 0       // the empty subtree
	leafBit  ref = 1 << 31 // set in the ref of a leaf
	draftBit ref = 1 << 30 // set in the ref of a node or leaf that is yet to be stored, and so has no number
)

func (r ref) isLeaf() bool { return r&leafBit != 0 }

// inner is a node with two children that are not empty. The nodes with one empty child between it and its parent
// are not stored: a digest in inner is the child's at depth+1, above such a chain.
type inner struct {
	digest [2]poseidon.Digest // of the children as they stand at depth+1
	child  [2]ref
	depth  uint8 // the bit of the path that parts the children
}

// nodes holds the nodes of a tree. A leaf is only its path: its digest stands in its parent.
type nodes struct {
	inners slab[inner]
	leaves slab[poseidon.Digest]
}

func (n *nodes) inner(r ref) *inner          { return n.inners.at(uint32(r)) }
func (n *nodes) leaf(r ref) *poseidon.Digest { return n.leaves.at(uint32(r &^ leafBit)) }

func (n *nodes) newInner() ref { return ref(n.inners.allocate()) }

func (n *nodes) newLeaf(path *poseidon.Digest) ref {
	r := ref(n.leaves.allocate()) | leafBit
	*n.leaf(r) = *path
	return r
}

// someLeaf is the path of a leaf in the subtree r, not empty.
func (n *nodes) someLeaf(r ref) *poseidon.Digest { return n.find(r, &poseidon.Digest{}) }

func (n *nodes) free(r ref) {
	if r.isLeaf() {
		n.leaves.release(uint32(r &^ leafBit))
	} else {
		n.inners.release(uint32(r))
	}
}

// find is the path of the only leaf in the subtree r, not empty, that may have the given path. It looks only at the
// bits that part children, so that the chains on the way agree with the path found.
func (n *nodes) find(r ref, path *poseidon.Digest) *poseidon.Digest {
	for !r.isLeaf() {
		in := n.inner(r)
		r = in.child[bit(path, int(in.depth))]
	}
	return n.leaf(r)
}

// chunkSize is the number of elements that a slab grows by.
const (
	chunkBits = 12
	chunkSize = 1 << chunkBits
)

// slab holds elements under numbers from 1 to 2^30 − 1. An element keeps its address until it is released.
type slab[T any] struct {
	chunks   []*[chunkSize]T
	released []uint32
	last     uint32 // the highest number given out so far
}

func (s *slab[T]) at(i uint32) *T { return &s.chunks[i>>chunkBits][i%chunkSize] }

// allocate gives the number of an element, whose contents are undefined.
func (s *slab[T]) allocate() uint32 {
	if n := len(s.released); n > 0 {
		i := s.released[n-1]
		s.released = s.released[:n-1]
		return i
	}
	if s.last == uint32(draftBit-1) {
		panic("tree: more than 2^30 − 1 nodes")
	}
	s.last++
	if int(s.last>>chunkBits) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkSize]T))
	}
	return s.last
}

func (s *slab[T]) release(i uint32) { s.released = append(s.released, i) }

// inUse is the number of elements that are allocated.
func (s *slab[T]) inUse() int { return int(s.last) - len(s.released) }
