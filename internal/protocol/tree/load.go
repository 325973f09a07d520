package tree

import (
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// Leaf is a leaf to load: its path and its digest S(3, path ‖ value hash).
type Leaf struct {
	Path, Digest poseidon.Digest
}

// ErrOrder is returned by Load if a path is not greater than the previous one, or not in its part.
var ErrOrder = errors.New("tree: leaves do not ascend by path")

const (
	// loadTogether is the number of parts whose leaves are in memory at a time.
	loadTogether = 16
	// loadBatch is the number of climbs that are collected before they are run: few enough for a core's cache.
	loadBatch = 1 << 13
)

// ReadPart appends the leaves of a part to buffer, ascending by path. Of 2^bits parts, part i has the paths that begin
// with the bits of i.
type ReadPart = func(part int, buffer []Leaf) ([]Leaf, error)

// Load builds the tree from the leaves of 2^bits parts, bits < 31. It calls read once for each part, through parallel,
// and passes on the error of the first part that has one. It returns ErrOrder if the paths do not ascend, and an error
// if a digest has an element that is not below the field's modulus. Leaf digests are not checked: the caller must
// compare the root.
func Load(bits int, read ReadPart, parallel Parallel) (*Tree, error) {
	t := &Tree{}
	from := source{bits: bits, read: read}
	var top loader
	var roots []subtree
	var group []int
	for part := range 1 << bits {
		if group = append(group, part); len(group) < loadTogether && part+1 < 1<<bits {
			continue
		}
		if err := from.load(&t.nodes, group, parallel); err != nil {
			return nil, err
		}
		for i := range group {
			if root := from.loaders[i].last; root.node != none {
				roots = append(roots, root)
			}
		}
		group = group[:0]
	}
	top.builder.nodes = &t.nodes
	top.inners = t.nodes.inners.reserve(len(roots) - 1)
	for i := range roots {
		top.push(roots[i])
	}
	top.fold(-1)
	top.attach(&t.current.digest, 0, &top.last)
	run(top.climbs, inOrder)
	t.current.root = top.last.node
	t.current.leaves = t.nodes.leaves.inUse()
	return t, nil
}

// source is where the leaves of a tree's 2^bits parts are.
type source struct {
	bits    int
	read    ReadPart
	loaders [loadTogether]loader
}

// load loads at most loadTogether parts side by side. The i-th part is then the last subtree of the i-th loader.
func (s *source) load(n *nodes, parts []int, parallel Parallel) error {
	within := inOrder // how the digests of a part are computed
	if len(parts) == 1 {
		within = parallel
	}
	together := s.loaders[:len(parts)]
	each := func(f func(l *loader, part int)) error {
		parallel(len(together), func(i int) { f(&together[i], parts[i]) })
		for i := range together {
			if err := together[i].err; err != nil {
				return err
			}
		}
		return nil
	}
	if err := each(func(l *loader, part int) { l.input, l.err = s.read(part, l.input[:0]) }); err != nil {
		return err
	}
	for i := range together {
		together[i].reserve(n, len(together[i].input))
	}
	return each(func(l *loader, part int) { l.err = l.load(s.bits, part, within) })
}

// loader builds a subtree from left to right.
type loader struct {
	builder
	input          []Leaf
	err            error
	leaves, inners uint32  // numbers of the next leaf and the next inner node
	last           subtree // that was pushed last, or folded; its path is set unless it is empty
	spine          []ref   // nodes with last in the right half, from the root down; their right children are not set yet
}

// reserve reserves nodes for a subtree with a number of leaves. Parts then build theirs side by side.
func (l *loader) reserve(n *nodes, leaves int) {
	l.builder = builder{nodes: n, climbs: l.climbs[:0]}
	l.leaves, l.inners, l.last = n.leaves.reserve(leaves), n.inners.reserve(leaves-1), subtree{}
}

// load builds a part of the tree from its leaves, and computes all digests below its root.
func (l *loader) load(bits, part int, parallel Parallel) error {
	for i := range l.input {
		leaf := &l.input[i]
		switch {
		case !leaf.Path.IsCanonical() || !leaf.Digest.IsCanonical():
			return fmt.Errorf("tree: leaf at %x: %w", leaf.Path.Bytes(), poseidon.ErrNotCanonical)
		case partOf(&leaf.Path, bits) != part:
			return fmt.Errorf("%w: %x in part %d of %d bits", ErrOrder, leaf.Path.Bytes(), part, bits)
		case i > 0 && comparePaths(&l.input[i-1].Path, &leaf.Path) >= 0:
			return fmt.Errorf("%w: %x after %x", ErrOrder, leaf.Path.Bytes(), l.input[i-1].Path.Bytes())
		}
		r := ref(l.leaves) | leafBit
		l.leaves++
		path := l.nodes.leaf(r)
		*path = leaf.Path
		l.push(subtree{node: r, digest: leaf.Digest, path: path})
		if len(l.climbs) >= loadBatch {
			run(l.climbs, parallel)
			l.climbs = l.climbs[:0]
		}
	}
	l.fold(-1)
	run(l.climbs, parallel)
	return nil
}

// push adds a subtree to the right of all others.
func (l *loader) push(s subtree) {
	if l.last.node != none {
		depth := commonBits(l.last.path, s.path)
		l.fold(depth)
		r := ref(l.inners)
		l.inners++
		in := l.nodes.inner(r)
		in.depth = uint8(depth)
		l.setChild(in, 0, &l.last)
		l.spine = append(l.spine, r)
	}
	l.last = s
}

// fold completes the nodes of the spine that are deeper than depth, and makes them with the last subtree the last one.
func (l *loader) fold(depth int) {
	for len(l.spine) > 0 {
		r := l.spine[len(l.spine)-1]
		in := l.nodes.inner(r)
		if int(in.depth) <= depth {
			return
		}
		l.spine = l.spine[:len(l.spine)-1]
		l.setChild(in, 1, &l.last)
		l.last = subtree{node: r, made: in, path: l.last.path}
	}
}
