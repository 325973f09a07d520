package blockproof

import (
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// position is a position of the tree. Each access has one of its own, with nothing else below it. Blocks have millions.
type position struct {
	now       subtree
	low, high int32    // the entries below it
	halves    [2]int32 // positions; both 0: it is a leaf, empty, opaque or closed
	site      int32    // of a leaf or node that has no entries below it; 0: none
	next      int32    // in trie.next, where a change is going on; 0: nothing changes there
	level     uint8
	closed    bool // a unit whose positions below are not there
}

func (p *position) hasHalves() bool { return p.halves != [2]int32{} }

// site is where a leaf is that no access has the path of, or a path that leads to a node.
type site struct {
	path, valueHash poseidon.Digest
}

// positionsPerChunk is how many positions are allocated at a time.
const positionsPerChunk = 1 << 9

// slab holds positions and sites. Positions keep their addresses until it is emptied.
type slab struct {
	chunks [][]position
	size   int // of positions
	sites  []site
}

func (s *slab) at(i int32) *position { return &s.chunks[i/positionsPerChunk][i%positionsPerChunk] }

func (s *slab) add(p position) int32 {
	if s.size == positionsPerChunk*len(s.chunks) {
		s.chunks = append(s.chunks, make([]position, positionsPerChunk))
	}
	i := int32(s.size)
	s.size++
	*s.at(i) = p
	return i
}

// empty keeps the memory.
func (s *slab) empty() { s.size, s.sites = 0, s.sites[:0] }

// inUnits marks the index of a position or site below a unit.
const inUnits = 1 << 30

// unit is a position with few entries below it, above which there are more. All below it can be made again from the
// witness, so it is there while a segment needs it, and closed to make room for others.
type unit struct {
	position int32
	read     func() // makes it and what is below it
}

// at is position i. Its address stays the same, that of a position below a unit until the unit is closed.
func (t *trie) at(i int32) *position {
	if i&inUnits != 0 {
		return t.opened.at(i &^ inUnits)
	}
	return t.kept.at(i)
}

func (t *trie) siteOf(p *position) *site {
	if p.site&inUnits != 0 {
		return &t.opened.sites[p.site&^inUnits]
	}
	return &t.kept.sites[p.site]
}

// add adds a position with the given entries below it; the first that is read of a unit is its own.
func (t *trie) add(level, low, high int) int32 {
	p, own := position{level: uint8(level), low: int32(low), high: int32(high)}, t.own
	switch {
	case !t.inUnit:
		return t.kept.add(p)
	case own == 0:
		return t.opened.add(p) | inUnits
	}
	t.own, *t.at(own) = 0, p
	return own
}

// addSite notes where a position without entries is.
func (t *trie) addSite(p int32, s site) {
	in, mark := &t.kept, int32(0)
	if t.inUnit {
		in, mark = &t.opened, inUnits
	}
	t.at(p).site = int32(len(in.sites)) | mark
	in.sites = append(in.sites, s)
}

// setHalves gives a position halves.
func (t *trie) setHalves(i int32, halves [2]int32) {
	p, unhashed := t.at(i), &t.unhashed
	p.halves = halves
	if t.inUnit {
		unhashed = &t.unhashedInUnits
	}
	unhashed.nodes[p.level] = append(unhashed.nodes[p.level], i)
}

// isUnit reports whether a position that is read now, with these entries below it, becomes a unit.
func (t *trie) isUnit(low, high int) bool {
	return !t.inUnit && low < high && high-low <= t.most.unit
}

// newUnit makes the position at level with these entries below it a unit; read reads it.
func (t *trie) newUnit(level, low, high int, read func()) int32 {
	if t.err != nil {
		return 0
	}
	if t.opened.size >= t.most.open {
		t.measure(&t.unhashedInUnits)
		t.hash(&t.unhashedInUnits)
		t.close()
	}
	i := t.add(level, low, high)
	t.units = append(t.units, unit{i, read})
	t.read(&t.units[len(t.units)-1])
	return i
}

// read reads a unit; what it makes is still to be hashed.
func (t *trie) read(u *unit) {
	t.inUnit, t.own = true, u.position
	u.read()
	t.inUnit, t.own = false, 0
}

// open makes what is below the units that have some of the entries low to high.
func (t *trie) open(low, high int) {
	first := sort.Search(len(t.units), func(i int) bool { return int(t.at(t.units[i].position).high) > low })
	for i := first; i < len(t.units) && int(t.at(t.units[i].position).low) < high; i++ {
		if t.at(t.units[i].position).closed {
			t.read(&t.units[i])
		}
	}
	t.hash(&t.unhashedInUnits)
}

// close closes all units.
func (t *trie) close() {
	for i := range t.units {
		p := t.at(t.units[i].position)
		p.halves, p.closed = [2]int32{}, true
	}
	t.opened.empty()
}

// unhashed are positions that stand where the hashes are still to be computed.
type unhashed struct {
	leaves []int32               // of sites
	nodes  [pathBits + 1][]int32 // positions with halves, by level
}

// hash computes what stands at positions now.
func (t *trie) hash(u *unhashed) {
	t.inPieces(u.leaves, t.hashLeaves)
	u.leaves = u.leaves[:0]
	for level := pathBits; level >= 0; level-- {
		t.join(u.nodes[level], func(p *position) *subtree { return &p.now })
		u.nodes[level] = u.nodes[level][:0]
	}
}

func (t *trie) hashLeaves(positions []int32) {
	digests, pairs := make([]poseidon.Digest, len(positions)), make([][2]poseidon.Digest, len(positions))
	for k, i := range positions {
		s := t.siteOf(t.at(i))
		pairs[k] = [2]poseidon.Digest{s.path, s.valueHash}
	}
	poseidon.Leaves(digests, pairs)
	for k, i := range positions {
		t.at(i).now = subtree{leaf, digests[k]}
	}
}
