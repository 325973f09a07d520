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
var ErrWitness = errors.New("blockproof: the witness does not hold")

// kind says what a subtree is.
type kind uint8

const (
	empty  kind = iota
	leaf        // one leaf
	node        // more leaves
	opaque      // at least one leaf; the witness does not say whether there are more
)

// subtree is what stands at a position of the tree at some time.
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

// position is a position of the tree. Each access has one of its own, with nothing else below it. Blocks have millions.
type position struct {
	now       subtree
	low, high int32    // the entries below it
	halves    [2]int32 // positions; both 0: it is a leaf, empty or opaque
	site      int32    // of a leaf or node that has no entries below it; 0: none
	next      int32    // in trie.next, where a change is going on; 0: nothing changes there
	level     uint8
}

func (p *position) hasHalves() bool { return p.halves != [2]int32{} }

// next is what stands at a position after a change.
type next struct {
	position int32
	subtree
}

// positionsPerChunk is how many positions are allocated at a time.
const positionsPerChunk = 1 << 12

// site is where a leaf is that no access has the path of, or a path that leads to a node.
type site struct {
	path, valueHash poseidon.Digest
}

// trie is the part of the tree that the accesses and the witness describe, when the first so many entries are carried
// out. Position 1 is the root, and 0 any that is empty and has no entries below it.
type trie struct {
	entries   []entry
	carried   int
	made      emitter // the last that emit made
	chunks    [][]position
	size      int    // of positions
	next      []next // of the change that is going on; the first means nothing
	sites     []site
	levels    [pathBits + 1][]int32 // positions with halves, by level; until newTrie returns
	depth     int                   // how many levels have such
	changes   []int                 // changes[i]: how many entries before i are changed
	deletions []int                 // deletions[i]: how many of them leave nothing
	above     spans                 // of entries, those below each position with halves
	changed   spans                 // of changed entries, likewise
	shapes    []tree.Shape
	digests   []poseidon.Digest
	parallel  Parallel
	err       error // of reading the witness; all that is read after it is void
}

// newTrie reads the witness.
func newTrie(entries []entry, w tree.Witness, parallel Parallel) (*trie, error) {
	t := &trie{
		entries: entries, next: make([]next, 1), sites: make([]site, 1),
		shapes: w.Shapes, digests: w.Digests, parallel: parallel,
	}
	t.add(0, 0, 0)
	t.changes, t.deletions = make([]int, len(entries)+1), make([]int, len(entries)+1)
	for i := range entries {
		t.changes[i+1], t.deletions[i+1] = t.changes[i], t.deletions[i]
		if e := &entries[i]; e.changed() {
			t.changes[i+1]++
			if e.leaves[1].IsZero() {
				t.deletions[i+1]++
			}
		}
	}
	t.touched(0, len(entries), 0)
	if t.err == nil && len(t.shapes)+len(t.digests) > 0 {
		t.fail("%d shapes and %d digests too many", len(t.shapes), len(t.digests))
	}
	if t.err != nil {
		return nil, t.err
	}
	for level := pathBits; level >= 0; level-- {
		t.join(t.levels[level], func(p *position) *subtree { return &p.now })
	}
	t.measure()
	t.levels, t.shapes, t.digests = [pathBits + 1][]int32{}, nil, nil // of no more use, and many
	return t, nil
}

// at is position i. Its address stays the same.
func (t *trie) at(i int32) *position { return &t.chunks[i/positionsPerChunk][i%positionsPerChunk] }

// measure sets what bounds rows.
func (t *trie) measure() {
	t.above, t.changed = newSpans(len(t.entries)), newSpans(t.changes[len(t.entries)])
	for level, positions := range t.levels {
		for _, i := range positions {
			p := t.at(i)
			t.depth = level + 1
			t.above.add(int(p.low), int(p.high))
			t.changed.add(t.changes[p.low], t.changes[p.high])
		}
	}
	t.above.sum()
	t.changed.sum()
}

// spans counts spans of things in a row by how many begin before a thing and how many end before it.
type spans struct{ begun, ended []int }

func newSpans(things int) spans { return spans{make([]int, things+1), make([]int, things+1)} }

// add adds the span low to high unless it is empty.
func (s *spans) add(low, high int) {
	if low < high {
		s.begun[low+1]++
		s.ended[high]++
	}
}

// sum ends the adding.
func (s *spans) sum() {
	for i := 1; i < len(s.begun); i++ {
		s.begun[i] += s.begun[i-1]
		s.ended[i] += s.ended[i-1]
	}
}

// count is how many spans have a thing in common with the span low to high.
func (s *spans) count(low, high int) int {
	if low == high {
		return 0
	}
	return s.begun[high] - s.ended[low]
}

func (t *trie) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("%w: "+format, append([]any{ErrWitness}, args...)...)
	}
}

// shape takes the witness' next shape.
func (t *trie) shape() tree.Shape {
	if len(t.shapes) == 0 {
		t.fail("it ends early")
		return tree.ShapeEmpty
	}
	s := t.shapes[0]
	t.shapes = t.shapes[1:]
	return s
}

// digest takes the witness' next digest.
func (t *trie) digest() (d poseidon.Digest) {
	if len(t.digests) == 0 {
		t.fail("it has too few digests")
		return d
	}
	d, t.digests = t.digests[0], t.digests[1:]
	for _, e := range d {
		if e >= poseidon.P {
			t.fail("%w", poseidon.ErrNotCanonical)
		}
	}
	return d
}

// add adds a position with the given entries below it.
func (t *trie) add(level, low, high int) int32 {
	if t.size%positionsPerChunk == 0 {
		t.chunks = append(t.chunks, make([]position, positionsPerChunk))
	}
	i := int32(t.size)
	t.size++
	*t.at(i) = position{level: uint8(level), low: int32(low), high: int32(high)}
	return i
}

// addSite notes where a position without entries is.
func (t *trie) addSite(p int32, s site) {
	t.at(p).site = int32(len(t.sites))
	t.sites = append(t.sites, s)
}

// path is one that leads to a position with entries or a site.
func (t *trie) path(p *position) *poseidon.Digest {
	if p.site != 0 {
		return &t.sites[p.site].path
	}
	return &t.entries[p.low].path
}

// middle is the index of the first of entries low to high that lies right of the position at level.
func (t *trie) middle(low, high, level int) int {
	return low + sort.Search(high-low, func(i int) bool { return bit(&t.entries[low+i].path, level) == 1 })
}

// prefix is where a position with entries or a site is.
func (t *trie) prefix(p *position) poseidon.Digest { return prefix(t.path(p), int(p.level)) }

// touched reads a position at level with entries low to high below it; there is at least one.
func (t *trie) touched(low, high, level int) int32 {
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
			t.fail("another leaf at level %d does not belong there", level)
		}
		for i := low; i < high; i++ {
			if t.entries[i].path == other.path {
				t.fail("another leaf has an access' path")
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

// below is the prefix of half s of the position at level on the way of path.
func below(path *poseidon.Digest, level, s int) poseidon.Digest {
	p := prefix(path, level)
	if s == 1 {
		p[level/elementBits] |= step(level)[level/elementBits]
	}
	return p
}

func (t *trie) setHalves(p int32, halves [2]int32) {
	t.at(p).halves = halves
	level := t.at(p).level
	t.levels[level] = append(t.levels[level], p)
}

// addOther adds a leaf that no access has the path of.
func (t *trie) addOther(level int, other site) int32 {
	p := t.add(level, 0, 0)
	t.addSite(p, other)
	if t.err == nil {
		var digest [1]poseidon.Digest
		poseidon.Leaves(digest[:], [][2]poseidon.Digest{{other.path, other.valueHash}})
		t.at(p).now = subtree{leaf, digest[0]}
	}
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
			t.fail("a leaf beside level %d does not belong there", level-1)
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
			t.fail("a node beside level %d has no halves", level-1)
		}
		t.setHalves(p, halves)
		return p
	default:
		t.fail("shape %d beside level %d", shape, level-1)
		return 0
	}
}

// spread makes positions where the tree before has nothing but other, or one leaf of an entry, so that each entry,
// and other, has one of its own. The root always has halves.
func (t *trie) spread(low, high, level int, other *site) int32 {
	switch leaves := high - low; {
	case t.err != nil || level > 0 && leaves == 0 && other == nil:
		return 0
	case level > 0 && leaves == 0:
		return t.addOther(level, *other)
	case level > 0 && leaves == 1 && other == nil:
		p := t.add(level, low, high)
		t.at(p).now = leafOrEmpty(t.entries[low].leaves[0])
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

// positionsPerPiece is how many positions are joined in one call through Parallel.
const positionsPerPiece = 1 << 10

// join sets what stands at positions of one level, now or next as at chooses, from their halves.
func (t *trie) join(positions []int32, at func(*position) *subtree) {
	pieces := slices.Collect(slices.Chunk(positions, positionsPerPiece))
	t.parallel(len(pieces), func(i int) { t.joinPiece(pieces[i], at) })
}

// joinPiece does what join does: the definition of the tree.
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
