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

// ErrOrder is returned by Load if a path is not greater than the previous one.
var ErrOrder = errors.New("tree: leaves do not ascend by path")

// loadBatch is the number of climbs that are collected before they are run.
const loadBatch = 1 << 15

// Load builds the tree from the leaves that next returns until it returns false. Their paths must ascend; otherwise
// Load returns ErrOrder. It returns an error if a digest has an element that is not below the field's modulus, and
// passes on next's errors. Leaf digests are not checked: the caller must compare the root.
func Load(next func() (Leaf, bool, error), parallel Parallel) (*Tree, error) {
	t := &Tree{}
	l := loader{builder: builder{nodes: &t.nodes}}
	for {
		leaf, ok, err := next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if err := l.add(&leaf); err != nil {
			return nil, err
		}
		if len(l.climbs) >= loadBatch {
			run(l.climbs, parallel)
			l.climbs = l.climbs[:0]
		}
	}
	root := l.fold(-1)
	l.attach(&t.current.digest, 0, &root)
	run(l.climbs, parallel)
	t.current.root = root.node
	t.current.leaves = t.nodes.leaves.inUse()
	return t, nil
}

// loader builds a tree from left to right.
type loader struct {
	builder
	last  subtree // the leaf that was added last; empty at first
	spine []ref   // nodes with last in the right half, from the root down; their right children are not set yet
}

// add adds a leaf to the right of all others.
func (l *loader) add(leaf *Leaf) error {
	if !leaf.Path.IsCanonical() || !leaf.Digest.IsCanonical() {
		return fmt.Errorf("tree: leaf at %x: %w", leaf.Path.Bytes(), poseidon.ErrNotCanonical)
	}
	if l.last.node != none {
		last := l.nodes.leaf(l.last.node)
		if comparePaths(last, &leaf.Path) >= 0 {
			return fmt.Errorf("%w: %x after %x", ErrOrder, leaf.Path.Bytes(), last.Bytes())
		}
		depth := commonBits(last, &leaf.Path)
		left := l.fold(depth)
		r := l.nodes.newInner()
		in := l.nodes.inner(r)
		in.depth = uint8(depth)
		l.setChild(in, 0, &left)
		l.spine = append(l.spine, r)
	}
	l.last = subtree{node: l.nodes.newLeaf(&leaf.Path), digest: leaf.Digest}
	return nil
}

// fold completes the nodes of the spine that are deeper than depth. It returns the subtree of these nodes and the last
// leaf.
func (l *loader) fold(depth int) subtree {
	s := l.last
	for len(l.spine) > 0 {
		r := l.spine[len(l.spine)-1]
		in := l.nodes.inner(r)
		if int(in.depth) <= depth {
			break
		}
		l.spine = l.spine[:len(l.spine)-1]
		l.setChild(in, 1, &s)
		s = subtree{node: r, made: in, path: l.nodes.leaf(l.last.node)}
	}
	return s
}
