package blockproof

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
)

// ErrWitness is returned by Trace for a witness that does not belong to the accesses and roots.
var ErrWitness = errors.New("blockproof: the witness is invalid")

// kind is the kind of a subtree.
type kind uint8

const (
	empty  kind = iota
	leaf        // one leaf
	node        // more leaves
	opaque      // at least one leaf; the witness does not show whether there are more
)

// subtree is the content of a position of the tree at some time.
type subtree struct {
	kind   kind
	digest poseidon.Digest
}

func leafOrEmpty(digest poseidon.Digest) subtree {
	if digest.IsZero() {
		return subtree{}
	}
	return subtree{leaf, digest}
}

// next is the content of a position after a change.
type next struct {
	position int32
	subtree
}

// trie is the part of the tree that the accesses and the witness describe, with the first carried entries applied.
// Position 1 is the root. Position 0 stands for every position that is empty and has no entries below it.
type trie struct {
	entries  []entry
	most     size
	carried  int
	kept     slab   // positions with many entries below them, their siblings, and units
	opened   slab   // positions below units
	units    []unit // ascending by entries
	next     []next // contents after the change in progress; the first is unused
	bounds   rowBounds
	parallel Parallel
	reading
}

// reading is the state of reading the witness, or the part of a unit.
type reading struct {
	rest                      tree.Witness // the rest of the witness
	inUnit                    bool
	own                       int32 // the unit's position, until it is read
	unhashed, unhashedInUnits unhashed
	err                       error // anything read afterwards is invalid
}

// newTrie reads the witness.
func newTrie(entries []entry, w tree.Witness, most size, parallel Parallel) (*trie, error) {
	t := &trie{
		entries:  entries,
		most:     most,
		next:     make([]next, 1),
		kept:     slab{sites: make([]site, 1)},
		bounds:   newRowBounds(entries),
		parallel: parallel,
		reading:  reading{rest: w},
	}
	t.add(0, 0, 0)
	t.touched(0, len(entries), 0)
	if n, m := len(t.rest.Shapes), len(t.rest.Digests); t.err == nil && n+m > 0 {
		t.fail("%d shapes and %d digests too many", n, m)
	}
	if t.err != nil {
		return nil, t.err
	}
	for _, u := range []*unhashed{&t.unhashedInUnits, &t.unhashed} {
		t.measure(u)
		t.hash(u)
	}
	t.bounds.sum()
	return t, nil
}

// measure adds positions to the bounds of the rows.
func (t *trie) measure(u *unhashed) {
	for level, positions := range u.nodes {
		for _, i := range positions {
			p := t.at(i)
			t.bounds.add(level, int(p.low), int(p.high))
		}
	}
}

func (r *reading) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrWitness}, args...)...)
	}
}

// shape reads the next shape of the witness.
func (r *reading) shape() tree.Shape {
	if len(r.rest.Shapes) == 0 {
		r.fail("too few shapes")
		return tree.ShapeEmpty
	}
	s := r.rest.Shapes[0]
	r.rest.Shapes = r.rest.Shapes[1:]
	return s
}

// digest reads the next digest of the witness.
func (r *reading) digest() (d poseidon.Digest) {
	if len(r.rest.Digests) == 0 {
		r.fail("too few digests")
		return d
	}
	d, r.rest.Digests = r.rest.Digests[0], r.rest.Digests[1:]
	for _, e := range d {
		if e >= poseidon.P {
			r.fail("%w", poseidon.ErrNotCanonical)
		}
	}
	return d
}

// path returns a path that leads to a position with entries or a site.
func (t *trie) path(p *position) *poseidon.Digest {
	if p.site != 0 {
		return &t.siteOf(p).path
	}
	return &t.entries[p.low].path
}

// middle returns the index of the first of entries low to high in the right half of the position at level.
func (t *trie) middle(low, high, level int) int {
	return low + sort.Search(high-low, func(i int) bool { return bit(&t.entries[low+i].path, level) == 1 })
}

// prefix returns the prefix of a position with entries or a site.
func (t *trie) prefix(p *position) poseidon.Digest { return prefix(t.path(p), int(p.level)) }

// touched reads a position at level with entries low to high below it, at least one.
func (t *trie) touched(low, high, level int) int32 {
	if t.isUnit(low, high) {
		rest := t.rest
		return t.newUnit(level, low, high, func() {
			t.rest = rest
			t.touched(low, high, level)
		})
	}
	had := 0
	for i := low; i < high; i++ {
		if !t.entries[i].leaves[0].IsZero() {
			had++
		}
	}
	switch shape := t.shape(); {
	case t.err != nil:
		return 0
	case shape == tree.ShapeEmpty && had == 0, shape == tree.ShapeOwn && had == 1:
		return t.spread(low, high, level, nil)
	case shape == tree.ShapeOther && had == 0:
		other := site{t.digest(), t.digest()}
		if prefix(&other.path, level) != prefix(&t.entries[low].path, level) {
			t.fail("the other key's leaf at level %d does not belong there", level)
		}
		for i := low; i < high; i++ {
			if t.entries[i].path == other.path {
				t.fail("another key's leaf has the path of an access")
			}
		}
		return t.spread(low, high, level, &other)
	case shape == tree.ShapeBranch && level < pathBits:
		return t.branch(low, high, level)
	default:
		t.fail("shape %d at level %d above %d accesses, %d of which have an old value", shape, level, high-low, had)
		return 0
	}
}

// branch reads the halves of a position.
func (t *trie) branch(low, high, level int) int32 {
	p, m := t.add(level, low, high), t.middle(low, high, level)
	bounds := [3]int{low, m, high}
	var halves [2]int32
	for s := range halves {
		if bounds[s] < bounds[s+1] {
			halves[s] = t.touched(bounds[s], bounds[s+1], level+1)
		}
	}
	for s := range halves {
		if bounds[s] == bounds[s+1] {
			halves[s] = t.untouched(level+1, below(&t.entries[low].path, level, s))
		}
	}
	t.setHalves(p, halves)
	return p
}

// below returns the prefix of half s of the position at level on the way of path.
func below(path *poseidon.Digest, level, s int) poseidon.Digest {
	p := prefix(path, level)
	if s == 1 {
		p[level/elementBits] |= step(level)[level/elementBits]
	}
	return p
}

// addOther adds a leaf whose path no access has.
func (t *trie) addOther(level int, other site) int32 {
	p := t.add(level, 0, 0)
	t.addSite(p, other)
	unhashed := &t.unhashed
	if t.inUnit {
		unhashed = &t.unhashedInUnits
	}
	unhashed.leaves = append(unhashed.leaves, p)
	return p
}

// untouched reads a position without accesses.
func (t *trie) untouched(level int, place poseidon.Digest) int32 {
	switch shape := t.shape(); {
	case shape == tree.ShapeEmpty:
		return 0
	case shape == tree.ShapeDigest:
		p := t.add(level, 0, 0)
		t.at(p).now = subtree{opaque, t.digest()}
		return p
	case shape == tree.ShapeOther:
		other := site{t.digest(), t.digest()}
		if prefix(&other.path, level) != place {
			t.fail("the leaf next to the path at level %d does not belong there", level-1)
		}
		return t.addOther(level, other)
	case shape == tree.ShapeNode && level < pathBits:
		p := t.add(level, 0, 0)
		t.addSite(p, site{path: place})
		var halves [2]int32
		for s := range halves {
			if d := t.digest(); !d.IsZero() {
				halves[s] = t.add(level+1, 0, 0)
				t.at(halves[s]).now = subtree{opaque, d}
			}
		}
		if halves == [2]int32{} {
			t.fail("the node next to the path at level %d has no halves", level-1)
		}
		t.setHalves(p, halves)
		return p
	default:
		t.fail("shape %d next to the path at level %d", shape, level-1)
		return 0
	}
}

// spread adds positions where the tree before the block has only other, or the leaf of one entry, so that each entry,
// and other, has a position of its own. The root always has halves.
func (t *trie) spread(low, high, level int, other *site) int32 {
	switch leaves := high - low; {
	case t.isUnit(low, high):
		return t.newUnit(level, low, high, func() { t.spread(low, high, level, other) })
	case t.err != nil || level > 0 && leaves == 0 && other == nil:
		return 0
	case level > 0 && leaves == 0:
		return t.addOther(level, *other)
	case level > 0 && leaves == 1 && other == nil:
		p := t.add(level, low, high)
		t.at(p).now = leafOrEmpty(t.entries[low].leaves[t.version(low)])
		return p
	}
	p, m := t.add(level, low, high), t.middle(low, high, level)
	var halves [2]int32
	for s, bounds := range [2][2]int{{low, m}, {m, high}} {
		var there *site
		if other != nil && bit(&other.path, level) == s {
			there = other
		}
		halves[s] = t.spread(bounds[0], bounds[1], level+1, there)
	}
	t.setHalves(p, halves)
	return p
}

// positionsPerPiece is the number of positions that are joined in one call through Parallel.
const positionsPerPiece = 1 << 7

// inPieces calls work for pieces of positions in parallel.
func (t *trie) inPieces(positions []int32, work func(piece []int32)) {
	pieces := slices.Collect(slices.Chunk(positions, positionsPerPiece))
	t.parallel(len(pieces), func(i int) { work(pieces[i]) })
}

// join computes the contents of positions of one level from their halves. at selects the contents, current or next.
func (t *trie) join(positions []int32, at func(*position) *subtree) {
	t.inPieces(positions, func(piece []int32) { t.joinPiece(piece, at) })
}

// joinPiece joins one piece, by the definition of the tree.
func (t *trie) joinPiece(positions []int32, at func(*position) *subtree) {
	pairs := make([][2]poseidon.Digest, 0, len(positions))
	nodes := make([]*subtree, 0, len(positions))
	for _, i := range positions {
		p := t.at(i)
		left, right, whole := at(t.at(p.halves[0])), at(t.at(p.halves[1])), at(p)
		switch {
		case left.kind == empty && right.kind <= leaf:
			*whole = *right
		case right.kind == empty && left.kind <= leaf:
			*whole = *left
		default:
			whole.kind = node
			pairs, nodes = append(pairs, [2]poseidon.Digest{left.digest, right.digest}), append(nodes, whole)
		}
	}
	digests := make([]poseidon.Digest, len(pairs))
	poseidon.Nodes(digests, pairs)
	for i, whole := range nodes {
		whole.digest = digests[i]
	}
}
