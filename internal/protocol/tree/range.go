package tree

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// A range is a run of consecutive leaves. What is left and right of it is summed up by siblings. They are the digests
// beside the way from the root to its first leaf, on the left, and to its last, on the right. From them and the leaves
// follows the root: a sibling counts as a leaf that is alone in its subtree. So the leaves are those of the tree
// between the first and the last, all of them, or two different things have one hash.

// Sibling is a subtree beside the way to a leaf.
type Sibling struct {
	Depth  int             // of the node on the way whose other child it is, 0 … 247
	Digest poseidon.Digest // not that of nothing, 0
}

// ErrRange is returned for siblings that cannot be beside a range.
var ErrRange = errors.New("tree: a sibling cannot stand there")

// standIn is the leaf that counts for a sibling beside the way to path: it is at the sibling's left end.
func (s *Sibling) standIn(path *poseidon.Digest) Leaf {
	leaf := Leaf{Digest: s.Digest}
	element, at := s.Depth/elementBits, s.Depth%elementBits
	copy(leaf.Path[:element], path[:element])
	from := elementBits - 1 - at // the bit's place in its element
	leaf.Path[element] = (path[element]>>from ^ 1) << from
	return leaf
}

// standIns are the leaves for siblings on one side, 0 left or 1 right, of the way to path; they are given, and stay,
// root first.
func standIns(path *poseidon.Digest, siblings []Sibling, side int) ([]Leaf, error) {
	leaves := make([]Leaf, len(siblings))
	for i := range siblings {
		s := &siblings[i]
		switch {
		case s.Depth < 0 || s.Depth >= pathBits || i > 0 && s.Depth <= siblings[i-1].Depth:
			return nil, fmt.Errorf("%w: depth %d", ErrRange, s.Depth)
		case bit(path, s.Depth) == side:
			return nil, fmt.Errorf("%w: the way at depth %d goes there itself", ErrRange, s.Depth)
		case s.Digest.IsZero():
			return nil, fmt.Errorf("%w: an empty one at depth %d", ErrRange, s.Depth)
		}
		leaves[i] = s.standIn(path)
	}
	return leaves, nil
}

// RangeRoot is the state root of a tree that has leaves, at least one, ascending by path, beside left and right, each
// root first. Where it is the root that is known, nothing is missing among the leaves, or, without left siblings,
// before the first, or, without right ones, after the last. Errors are [ErrRange] and those of [Load].
func RangeRoot(left []Sibling, leaves []Leaf, right []Sibling, parallel Parallel) (root types.StateRoot, err error) {
	if len(leaves) == 0 {
		return root, fmt.Errorf("%w: there are no leaves", ErrRange)
	}
	before, err := standIns(&leaves[0].Path, left, 0)
	if err != nil {
		return root, err
	}
	after, err := standIns(&leaves[len(leaves)-1].Path, right, 1)
	if err != nil {
		return root, err
	}
	slices.Reverse(after) // into the order of their paths
	t, err := Load(inTurn(before, leaves, after), parallel)
	if err != nil {
		return root, err
	}
	return t.Root(), nil
}

// inTurn gives the leaves of several lists, one list after the other, to Load.
func inTurn(lists ...[]Leaf) func() (Leaf, bool, error) {
	return func() (leaf Leaf, ok bool, err error) {
		for len(lists) > 0 {
			if list := lists[0]; len(list) > 0 {
				lists[0] = list[1:]
				return list[0], true, nil
			}
			lists = lists[1:]
		}
		return leaf, false, nil
	}
}

// siblings are those of the leaf at path, which the tree has, on the left and on the right of the way to it, root
// first.
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

// Cut is the end of a range: the siblings of its last leaf. Those on the left are the next range's, when that begins
// with this leaf.
type Cut struct {
	Left, Right []Sibling // root first
}

// Cutter finds the siblings of ranges that follow on each other, from the first leaf of a tree to the last, without
// holding the tree. Of a range it keeps the largest subtrees that are whole within it.
type Cutter struct {
	kept []Leaf // stand-ins for subtrees, and the last leaf of each range
	ends []poseidon.Digest
}

// Add adds the next range, which begins after the last leaf of the one before. Errors are those of [Load].
func (c *Cutter) Add(leaves []Leaf, parallel Parallel) error {
	if len(leaves) == 0 {
		return fmt.Errorf("%w: there are no leaves", ErrRange)
	}
	var before []Leaf
	if len(c.kept) > 0 {
		before = c.kept[len(c.kept)-1:]
	}
	last := leaves[len(leaves)-1]
	t, err := Load(inTurn(before, leaves), parallel)
	if err != nil {
		return err
	}
	parting := -1 // the depth at which the ways to both ends part: there each is in the other's sibling
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
	t, err := Load(inTurn(c.kept), parallel)
	if err != nil {
		return types.StateRoot{}, nil, err
	}
	cuts := make([]Cut, len(c.ends))
	for i := range cuts {
		cuts[i].Left, cuts[i].Right = t.siblings(c.ends[i])
	}
	return t.Root(), cuts, nil
}
