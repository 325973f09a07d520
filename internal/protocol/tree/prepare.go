package tree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Errors of preparing a change; all are faults of the caller, but for a collision, at which a node must halt.
var (
	ErrMismatch      = errors.New("tree: an access contradicts the tree about whether its key has a value")
	ErrDuplicateKey  = errors.New("tree: a key is accessed twice")
	ErrPathCollision = errors.New("tree: two keys have the same path")
)

// item is an access as the tree sees it.
type item struct {
	key           []byte
	path          poseidon.Digest
	valueHash     poseidon.Digest // of the new value of a write that leaves one
	leaf          poseidon.Digest // likewise
	before, after bool            // whether the key has a value
	changed       bool            // whether the access is a write
	way           way             // through the part of the tree that the item is in
}

// newItems hashes the keys of accesses, and the new values of those that are writes.
func newItems(accesses []types.Access, parallel Parallel) []item {
	items := make([]item, len(accesses))
	inPieces(len(accesses), accessesPerPiece, parallel, func(low, high int) {
		hashItems(items[low:high], accesses[low:high])
	})
	return items
}

func hashItems(items []item, accesses []types.Access) {
	keys := make([][]byte, len(items))
	values := make([][]byte, 0, len(items))
	written := make([]*item, 0, len(items))
	for i, a := range accesses {
		it := &items[i]
		*it = item{key: a.Key, before: len(a.Old) > 0, after: len(a.New) > 0, changed: a.Changed()}
		keys[i] = a.Key
		if it.changed && it.after {
			values, written = append(values, a.New), append(written, it)
		}
	}
	for i, p := range Paths(keys) {
		items[i].path = p
	}
	hashes := make([]poseidon.Digest, len(values))
	poseidon.HashMany(poseidon.TagValue, hashes, values)
	pairs := make([][2]poseidon.Digest, len(values))
	for i, it := range written {
		it.valueHash = hashes[i]
		pairs[i] = [2]poseidon.Digest{it.path, it.valueHash}
	}
	poseidon.Leaves(hashes, pairs)
	for i, it := range written {
		it.leaf = hashes[i]
	}
}

// sorted returns items in the order of their paths.
func sorted(items []item) ([]item, error) {
	type place struct {
		head  uint64 // the first two elements of the path: nearly always enough to compare
		index int
	}
	places := make([]place, len(items))
	for i := range items {
		p := &items[i].path
		places[i] = place{uint64(p[0])<<32 | uint64(p[1]), i}
	}
	slices.SortFunc(places, func(a, b place) int {
		if c := cmp.Compare(a.head, b.head); c != 0 {
			return c
		}
		return comparePaths(&items[a.index].path, &items[b.index].path)
	})
	out := make([]item, len(items))
	for i, p := range places {
		out[i] = items[p.index]
		if i > 0 && out[i].path == out[i-1].path {
			if bytes.Equal(out[i].key, out[i-1].key) {
				return nil, fmt.Errorf("%w: %x", ErrDuplicateKey, out[i].key)
			}
			return nil, fmt.Errorf("%w: %x and %x", ErrPathCollision, out[i-1].key, out[i].key)
		}
	}
	return out, nil
}

// prepare is Prepare for items in any order. Parts are made whole, one after the other on each core, so that what a
// part touches stays in that core's cache; what is above them is little.
func (t *Tree) prepare(items []item, parallel Parallel) (*Change, error) {
	base := &t.current
	items, err := sorted(items)
	if err != nil {
		return nil, err
	}
	root := subtree{node: base.root, digest: base.digest}
	ps := &parts{nodes: &t.nodes, limit: max(partItems, len(items)/partShare)}
	if len(items) > 0 {
		ps.cut(root, 0, items)
	}
	inPieces(len(ps.list), 1, parallel, func(i, _ int) { ps.list[i].prepare(&t.nodes) })
	for i := range ps.list {
		if it := ps.list[i].wrong; it != nil {
			return nil, fmt.Errorf("%w: key %x, value before: %t", ErrMismatch, it.key, it.before)
		}
	}
	top := newWalker(&t.nodes, ps.above, 0)
	top.parts = ps
	if len(items) > 0 {
		root = top.visit(&root, 0, items)
	} else {
		top.untouched(&root, 0, false)
	}
	c := &Change{
		tree:    t,
		version: version{number: base.number + 1, root: root.node, leaves: base.leaves},
		drafts:  &drafts{above: top.drafts},
		leaves:  leafChanges(items),
		record:  top.record,
		removed: top.removed,
	}
	top.attach(&c.version.digest, 0, &root)
	for i := range ps.list {
		p := &ps.list[i]
		c.drafts.parts = append(c.drafts.parts, partDrafts{share: p.walker.drafts, root: p.now.node})
		c.removed = append(c.removed, p.walker.removed...)
	}
	run(top.climbs, parallel)
	for i := range items {
		c.version.leaves += present(items[i].after) - present(items[i].before)
	}
	return c, nil
}

// newWalker returns a walker that makes at most so many nodes and leaves.
func newWalker(n *nodes, inners, leaves int) walker {
	return walker{
		builder: builder{nodes: n, climbs: make([]climb, 0, inners)},
		drafts:  &share{inners: make([]draftInner, inners), leaves: make([]draftLeaf, leaves)},
	}
}

// leafChanges are the writes among items.
func leafChanges(items []item) []LeafChange {
	n := 0
	for i := range items {
		if items[i].changed {
			n++
		}
	}
	changes := make([]LeafChange, 0, n)
	for i := range items {
		if it := &items[i]; it.changed {
			changes = append(changes, LeafChange{
				Key: it.key, Path: it.path, ValueHash: it.valueHash, Leaf: it.leaf, Deleted: !it.after})
		}
	}
	return changes
}

func present(b bool) int {
	if b {
		return 1
	}
	return 0
}
