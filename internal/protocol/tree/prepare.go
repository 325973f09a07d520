package tree

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Errors of preparing a change. All are faults of the caller except a collision, at which a node must halt.
var (
	ErrMismatch      = errors.New("tree: an access contradicts the tree about whether its key has a value")
	ErrDuplicateKey  = errors.New("tree: a key is accessed twice")
	ErrPathCollision = errors.New("tree: two keys have the same path")
)

// item is an access in the form that the tree uses.
type item struct {
	key           []byte
	path          poseidon.Digest
	valueHash     poseidon.Digest // new value's hash, for a write that leaves a value
	leaf          poseidon.Digest // digest of the new leaf, for a write that leaves a value
	before, after bool            // whether the key has a value before and after
	changed       bool            // the access is a write
	row           uint32          // first row of the item's nodes in ways
	column        uint8           // their column in ways
}

// newItems hashes the keys of accesses and the new values of writes.
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

// sorted returns items in the order of their paths. Paths are hashes, so their first bits nearly determine the
// position.
func sorted(items []item) ([]item, error) {
	most := min(bits.Len(uint(len(items))), 16)
	bucket := func(it *item) uint32 { return it.path[0] >> (elementBits - most) }
	begin := make([]int, 1<<most+1) // start of each bucket in out
	for i := range items {
		begin[bucket(&items[i])+1]++
	}
	for i := range 1 << most {
		begin[i+1] += begin[i]
	}
	out, free := make([]item, len(items)), slices.Clone(begin)
	for i := range items {
		b := bucket(&items[i])
		out[free[b]] = items[i]
		free[b]++
	}
	for i := range 1 << most {
		if low, high := begin[i], begin[i+1]; high-low > 1 {
			slices.SortFunc(out[low:high], func(a, b item) int { return comparePaths(&a.path, &b.path) })
		}
	}
	for i := 1; i < len(out); i++ {
		if a, b := &out[i-1], &out[i]; a.path == b.path {
			if bytes.Equal(a.key, b.key) {
				return nil, fmt.Errorf("%w: %x", ErrDuplicateKey, a.key)
			}
			return nil, fmt.Errorf("%w: %x and %x", ErrPathCollision, a.key, b.key)
		}
	}
	return out, nil
}

// prepare is [Tree.Prepare] for items in any order. Each part is processed as a whole by one core, so that the data it
// touches stays in the core's cache; the nodes above the parts are few.
func (t *Tree) prepare(items []item, parallel Parallel) (*Change, error) {
	base := &t.current
	items, err := sorted(items)
	if err != nil {
		return nil, err
	}
	if err := t.loadFor(items, parallel); err != nil {
		return nil, err
	}
	root := subtree{node: base.root, digest: base.digest}
	ps := &parts{nodes: &t.nodes, limit: max(partItems, len(items)/partShare)}
	if len(items) > 0 {
		ps.cut(root, 0, items)
	}
	for i := range min(len(ps.list), len(t.spare)) {
		ps.list[i].scratch = t.spare[i]
	}
	t.spare = nil
	inPieces(len(ps.list), 1, parallel, func(i, _ int) { ps.list[i].prepare(&t.nodes) })
	for i := range ps.list {
		if it := ps.list[i].wrong; it != nil {
			return nil, fmt.Errorf("%w: key %x, value before: %t", ErrMismatch, it.key, it.before)
		}
	}
	var above scratch
	above.grow(ps.above)
	top := newWalker(&t.nodes, above, 0)
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
		c.drafts.parts = append(c.drafts.parts, partDrafts{share: p.walker.drafts, root: p.now.node, scratch: p.scratch})
		c.removed = append(c.removed, p.walker.removed...)
	}
	run(top.climbs, parallel)
	for i := range items {
		c.version.leaves += present(items[i].after) - present(items[i].before)
	}
	return c, nil
}

// newWalker returns a walker that makes at most as many inner nodes as scratch has room for, and at most leaves leaves.
func newWalker(n *nodes, s scratch, leaves int) walker {
	return walker{
		builder: builder{nodes: n, climbs: s.climbs[:0]},
		drafts:  &share{inners: s.inners[:cap(s.inners)], leaves: make([]draftLeaf, leaves)},
	}
}

// leafChanges returns the writes among items.
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
