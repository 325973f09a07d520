package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// ref identifies a subtree by its topmost node with two children, or by its only leaf. Nodes refer to each other by
// number instead of by pointer, so that the garbage collector has nothing to scan in a tree.
type ref uint32

const (
	none     ref = 0       // the empty subtree
	leafBit  ref = 1 << 31 // set in the ref of a leaf
	draftBit ref = 1 << 30 // set in the ref of a node or leaf that is not stored yet and thus has no number
)

func (r ref) isLeaf() bool { return r&leafBit != 0 }

// inner is a node with two nonempty children. The nodes with one empty child between it and its parent are not stored:
// a digest in inner is the child's at depth+1, above that chain.
type inner struct {
	digest [2]poseidon.Digest // digests of the children at depth+1
	child  [2]ref
	depth  uint8 // index of the path bit that selects the child
}

// nodes holds the nodes of a tree. For a leaf it holds only the path: the digest is in the leaf's parent.
type nodes struct {
	inners slab[inner]
	leaves slab[poseidon.Digest]

	placeholders int // the first leaves are none but stand for parts that are or were not loaded
}

func (n *nodes) inner(r ref) *inner          { return n.inners.at(uint32(r)) }
func (n *nodes) leaf(r ref) *poseidon.Digest { return n.leaves.at(uint32(r &^ leafBit)) }

func (n *nodes) newInner() ref { return ref(n.inners.allocate()) }

func (n *nodes) newLeaf(path *poseidon.Digest) ref {
	r := ref(n.leaves.allocate()) | leafBit
	*n.leaf(r) = *path
	return r
}

// someLeaf returns the path of a leaf in the subtree r, which must not be empty.
func (n *nodes) someLeaf(r ref) *poseidon.Digest { return n.find(r, &poseidon.Digest{}) }

func (n *nodes) free(r ref) {
	if r.isLeaf() {
		n.leaves.release(uint32(r &^ leafBit))
	} else {
		n.inners.release(uint32(r))
	}
}

// find returns the path of the only leaf in the subtree r that may have the given path; r must not be empty. It checks
// only the bits at inner nodes, so the chains on the way agree with the returned path, not necessarily with the given
// one.
func (n *nodes) find(r ref, path *poseidon.Digest) *poseidon.Digest {
	for !r.isLeaf() {
		in := n.inner(r)
		r = in.child[bit(path, int(in.depth))]
	}
	return n.leaf(r)
}

// chunkSize is the number of elements by which a slab grows.
const (
	chunkBits = 12
	chunkSize = 1 << chunkBits
)

// slab holds elements numbered from 1 to 2^30 − 1. An element keeps its address until it is released.
type slab[T any] struct {
	chunks   []*[chunkSize]T
	released []uint32
	last     uint32 // highest number allocated so far
}

func (s *slab[T]) at(i uint32) *T { return &s.chunks[i>>chunkBits][i%chunkSize] }

// allocate returns the number of a free element, whose contents are undefined.
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

// reserve allocates n elements in a row, which no one else uses, and returns the number of the first.
func (s *slab[T]) reserve(n int) uint32 {
	first := s.last + 1
	if n <= 0 {
		return first
	}
	if n > int(draftBit-1-ref(s.last)) {
		panic("tree: more than 2^30 − 1 nodes")
	}
	for s.last += uint32(n); int(s.last>>chunkBits) >= len(s.chunks); {
		s.chunks = append(s.chunks, new([chunkSize]T))
	}
	return first
}

func (s *slab[T]) release(i uint32) { s.released = append(s.released, i) }

// inUse returns the number of allocated elements.
func (s *slab[T]) inUse() int { return int(s.last) - len(s.released) }
