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

// prepare is Prepare on top of base.
func (t *Tree) prepare(base version, items []item, parallel Parallel) (*Change, error) {
	items, err := sorted(items)
	if err != nil {
		return nil, err
	}
	if err := t.check(base.root, items, parallel); err != nil {
		return nil, err
	}
	t.changes++
	c := &Change{tree: t, base: base.id, version: version{id: t.changes, leaves: base.leaves}}
	for i := range items {
		if it := &items[i]; it.changed {
			c.leaves = append(c.leaves, LeafChange{
				Key: it.key, Path: it.path, ValueHash: it.valueHash, Leaf: it.leaf, Deleted: !it.after})
			c.version.leaves += present(it.after) - present(it.before)
		}
	}
	w := walker{builder: builder{nodes: &t.nodes}}
	root := subtree{node: base.root, digest: base.digest}
	if len(items) == 0 {
		w.untouched(&root, 0, false)
	} else {
		root = w.visit(root, 0, items)
	}
	c.version.root = root.node
	w.attach(&c.version.digest, 0, &root)
	run(&t.nodes, w.climbs, parallel)
	c.fresh, c.replaced, c.record = w.fresh, w.replaced, w.record
	return c, nil
}

func present(b bool) int {
	if b {
		return 1
	}
	return 0
}

// check compares the presence of each item before with the tree below root. It reads the same nodes as the walk
// that follows, which runs on one core: it finds them in the cache.
func (t *Tree) check(root ref, items []item, parallel Parallel) error {
	wrong := make([]bool, len(items))
	inPieces(len(items), accessesPerPiece, parallel, func(low, high int) {
		for i := low; i < high; i++ {
			it := &items[i]
			found := root != none && *t.nodes.find(root, &it.path) == it.path
			wrong[i] = found != it.before
		}
	})
	if i := slices.Index(wrong, true); i >= 0 {
		return fmt.Errorf("%w: key %x, value before: %t", ErrMismatch, items[i].key, items[i].before)
	}
	return nil
}
