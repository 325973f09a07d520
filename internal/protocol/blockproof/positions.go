package blockproof

import (
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// position is a position of the tree. Each access has one of its own, with nothing else below it. Blocks have millions.
type position struct {
	now       subtree
	low, high int32    // entries below it
	halves    [2]int32 // positions; both 0 if it is a leaf, empty, opaque or closed
	site      int32    // index of the site of a leaf or node without entries below it; 0 for none
	next      int32    // index in trie.next if the change in progress affects it; 0 otherwise
	level     uint8
	closed    bool // a unit without the positions below it
}

func (p *position) hasHalves() bool { return p.halves != [2]int32{} }

// site is the path of a leaf whose path no access has, or a path that leads to a node.
type site struct {
	path, valueHash poseidon.Digest
}

// positionsPerChunk is the number of positions that are allocated at a time.
const positionsPerChunk = 1 << 9

// slab holds positions and sites. Positions keep their addresses until it is emptied.
type slab struct {
	chunks [][]position
	size   int // number of positions
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

// empty removes all positions and sites but keeps the memory.
func (s *slab) empty() { s.size, s.sites = 0, s.sites[:0] }

// inUnits marks the index of a position or site below a unit.
const inUnits = 1 << 30

// unit is a maximal position with few entries below it. The positions below it can be read again from the witness, so
// they are present only while a segment needs them: the unit is closed to make room for others.
type unit struct {
	position int32
	read     func() // reads the position and those below it
}

// at returns position i. Its address is stable; for a position below a unit, until the unit is closed.
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

// add adds a position with the given entries below it. The first position that is read for a unit replaces the unit's
// own.
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

// addSite records the site of a position without entries.
func (t *trie) addSite(p int32, s site) {
	in, mark := &t.kept, int32(0)
	if t.inUnit {
		in, mark = &t.opened, inUnits
	}
	t.at(p).site = int32(len(in.sites)) | mark
	in.sites = append(in.sites, s)
}

// setHalves sets the halves of a position.
func (t *trie) setHalves(i int32, halves [2]int32) {
	p, unhashed := t.at(i), &t.unhashed
	p.halves = halves
	if t.inUnit {
		unhashed = &t.unhashedInUnits
	}
	unhashed.nodes[p.level] = append(unhashed.nodes[p.level], i)
}

// isUnit reports whether the position being read, with these entries below it, becomes a unit.
func (t *trie) isUnit(low, high int) bool {
	return !t.inUnit && low < high && high-low <= t.most.unit
}

// newUnit adds a unit at level with these entries below it. read reads the unit.
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

// read reads a unit. The caller must hash the positions afterwards.
func (t *trie) read(u *unit) {
	t.inUnit, t.own = true, u.position
	u.read()
	t.inUnit, t.own = false, 0
}

// open reads the positions below the units that contain any of the entries low to high.
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

// unhashed holds the positions whose digests are not computed yet.
type unhashed struct {
	leaves []int32               // positions with sites
	nodes  [pathBits + 1][]int32 // positions with halves, by level
}

// hash computes the current subtrees of positions.
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
