package tree

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// A range is a run of consecutive leaves. The rest of the tree is summarised by siblings: digests on the left of the
// way from the root to the range's first leaf, and on the right of the way to its last leaf. The root follows from the
// siblings and the leaves: a sibling counts as a leaf that is alone in its subtree. If the root matches, the leaves are
// all leaves of the tree from the first to the last, unless the hash function has a collision.

// Sibling is a subtree beside the way to a leaf.
type Sibling struct {
	Depth  int             // depth of its parent, which is on the way: 0 … 247
	Digest poseidon.Digest // never 0, the digest of the empty subtree
}

// ErrRange is returned for siblings that cannot be beside a range.
var ErrRange = errors.New("tree: a sibling is misplaced")

// standIn returns the leaf that stands for a sibling of the way to path. Its path is the leftmost in the sibling.
func (s *Sibling) standIn(path *poseidon.Digest) Leaf {
	leaf := Leaf{Digest: s.Digest}
	element, at := s.Depth/elementBits, s.Depth%elementBits
	copy(leaf.Path[:element], path[:element])
	from := elementBits - 1 - at // position of the bit in its element
	leaf.Path[element] = (path[element]>>from ^ 1) << from
	return leaf
}

// standIns returns the stand-ins of siblings on one side, 0 for left or 1 for right, of the way to path. Both lists are
// in the order from the root.
func standIns(path *poseidon.Digest, siblings []Sibling, side int) ([]Leaf, error) {
	leaves := make([]Leaf, len(siblings))
	for i := range siblings {
		s := &siblings[i]
		switch {
		case s.Depth < 0 || s.Depth >= pathBits || i > 0 && s.Depth <= siblings[i-1].Depth:
			return nil, fmt.Errorf("%w: depth %d", ErrRange, s.Depth)
		case bit(path, s.Depth) == side:
			return nil, fmt.Errorf("%w: at depth %d the path itself is on that side", ErrRange, s.Depth)
		case s.Digest.IsZero():
			return nil, fmt.Errorf("%w: an empty sibling at depth %d", ErrRange, s.Depth)
		}
		leaves[i] = s.standIn(path)
	}
	return leaves, nil
}

// RangeRoot returns the state root of a tree with the given leaves, at least one and ascending by path, and the
// siblings left and right, each from the root on. If it equals a trusted root, no leaf is missing between the leaves,
// nor before the first if left is empty, nor after the last if right is empty. The errors are [ErrRange] and those that
// [Load] returns.
func RangeRoot(left []Sibling, leaves []Leaf, right []Sibling, parallel Parallel) (root types.StateRoot, err error) {
	if len(leaves) == 0 {
		return root, fmt.Errorf("%w: no leaves", ErrRange)
	}
	before, err := standIns(&leaves[0].Path, left, 0)
	if err != nil {
		return root, err
	}
	after, err := standIns(&leaves[len(leaves)-1].Path, right, 1)
	if err != nil {
		return root, err
	}
	slices.Reverse(after) // sorts the siblings into the order of their paths
	t, err := loadLists(parallel, before, leaves, after)
	if err != nil {
		return root, err
	}
	return t.Root(), nil
}

// loadLists is [Load] for the leaves of several lists, one list after the other.
func loadLists(parallel Parallel, lists ...[]Leaf) (*Tree, error) {
	return Load(0, func(int, []Leaf) ([]Leaf, error) { return slices.Concat(lists...), nil }, parallel)
}

// siblings returns the siblings of the leaf at path, which must exist, on the left and on the right of the way to it,
// from the root on.
func (t *Tree) siblings(path poseidon.Digest) (left, right []Sibling) {
	for depth, digest := range t.prove(path).Siblings {
		switch s := (Sibling{depth, digest}); {
		case digest.IsZero():
		case bit(&path, depth) == 1:
			left = append(left, s)
		default:
			right = append(right, s)
		}
	}
	return left, right
}

// Cut is the end of a range: the siblings of its last leaf. If the next range begins with this leaf, it has the same
// left siblings.
type Cut struct {
	Left, Right []Sibling // from the root on
}

// Cutter computes the siblings for consecutive ranges from the first to the last leaf of a tree without holding the
// tree. For each range it keeps only the largest subtrees that are entirely within it.
type Cutter struct {
	kept []Leaf // stand-ins for subtrees, and the last leaf of each range
	ends []poseidon.Digest
}

// Add adds the next range, which begins after the last leaf of the previous one. It returns the errors of [Load].
func (c *Cutter) Add(leaves []Leaf, parallel Parallel) error {
	if len(leaves) == 0 {
		return fmt.Errorf("%w: no leaves", ErrRange)
	}
	var before []Leaf
	if len(c.kept) > 0 {
		before = c.kept[len(c.kept)-1:]
	}
	last := leaves[len(leaves)-1]
	t, err := loadLists(parallel, before, leaves)
	if err != nil {
		return err
	}
	parting := -1 // depth at which the ways to both ends diverge: there, each end is in the other's sibling
	if len(before) > 0 {
		parting = commonBits(&before[0].Path, &last.Path)
		_, right := t.siblings(before[0].Path)
		for i := len(right) - 1; i >= 0 && right[i].Depth > parting; i-- {
			c.kept = append(c.kept, right[i].standIn(&before[0].Path))
		}
	}
	left, _ := t.siblings(last.Path)
	for i := range left {
		if left[i].Depth > parting {
			c.kept = append(c.kept, left[i].standIn(&last.Path))
		}
	}
	c.kept = append(c.kept, last)
	c.ends = append(c.ends, last.Path)
	return nil
}

// Finish returns the root of the whole tree and the ends of its ranges.
func (c *Cutter) Finish(parallel Parallel) (types.StateRoot, []Cut, error) {
	t, err := loadLists(parallel, c.kept)
	if err != nil {
		return types.StateRoot{}, nil, err
	}
	cuts := make([]Cut, len(c.ends))
	for i := range cuts {
		cuts[i].Left, cuts[i].Right = t.siblings(c.ends[i])
	}
	return t.Root(), cuts, nil
}
