package blockproof

import (
	"fmt"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// maxLogRows bounds a segment's rows to 2^17, so that proving one takes less than a gigabyte; minLogRows is what the
// proof system asks for.
const minLogRows, maxLogRows = 3, 17

// errUnopened: a segment empties a half whose neighbour the witness does not open.
var errUnopened = fmt.Errorf("%w: a half beside what is emptied is not opened", ErrWitness)

// Segment is a part of a block's proof: it proves a run of the access list, in the order of paths. Its argument is a
// proof of Instance from the table that Columns makes.
//
// Segments of one block have their tables made from the same memory, so one is made at a time; in any order, but in that
// of the segments with the least work.
type Segment struct {
	Instance stark.Statement
	part     part
	trie     *trie
	low      int // its first entry
	rows     int
}

// Rows is how many rows of the table are used, each of which proves a hash.
func (s *Segment) Rows() int { return s.rows }

// tableRows makes the rows of the table, as Trace has made them before. Those of the last segment, often the only one, are
// still there.
func (s *Segment) tableRows() []tableRow {
	if s.trie.made.low != s.low {
		s.trie.carry(s.low)
		s.trie.emit(s.low, s.low+len(s.part.levels))
	}
	return s.trie.made.rows
}

// tableRow is a row of the table before it is spread over columns.
type tableRow struct {
	phase  phase
	level  uint8
	prefix poseidon.Digest
	halves [2]subtree
	open   [2]bool
}

type phase uint8

const (
	same    phase = iota // of a position that the segment does not change
	changed              // of one that it changes, before
	after                // the row after that
)

// Trace makes the segments of a proof from a block's accesses and their witness in the tree before. It returns errors
// that wrap ErrAccesses and ErrWitness (for a witness that does not lead from s.PreRoot to s.PostRoot, too): a block's own
// accesses and witness always make segments.
func Trace(s Statement, accesses []types.Access, w tree.Witness, parallel Parallel) ([]Segment, error) {
	return trace(s, accesses, w, largest, parallel)
}

// size is how many rows and entries a segment has at most. One of 4·pathBits + 1 rows has room for any entry.
type size struct{ rows, entries int }

var largest = size{1 << maxLogRows, maxEntries}

// trace is Trace with segments of another size.
func trace(s Statement, accesses []types.Access, w tree.Witness, most size, parallel Parallel) ([]Segment, error) {
	if err := s.check(accesses); err != nil || len(accesses) == 0 {
		return nil, err
	}
	entries, err := newEntries(accesses, parallel)
	if err != nil {
		return nil, err
	}
	return s.segments(entries, w, most, parallel)
}

// segments makes segments of at most the given size; there is at least one entry.
func (s *Statement) segments(entries []entry, w tree.Witness, most size, parallel Parallel) ([]Segment, error) {
	t, err := newTrie(entries, w, parallel)
	if err != nil {
		return nil, err
	}
	before := t.at(1).now.digest
	if before.Bytes() != s.PreRoot {
		return nil, fmt.Errorf("%w: it is of another root before the block", ErrWitness)
	}
	var segments []Segment
	for t.carried < len(entries) {
		low := t.carried
		t.emit(low, t.fitting(low, most))
		if t.made.err != nil {
			return nil, t.made.err
		}
		segments = append(segments, Segment{part: t.made.part, trie: t, low: low, rows: len(t.made.rows)})
	}
	if t.at(1).now.digest.Bytes() != s.PostRoot {
		return nil, fmt.Errorf("%w: it leads to another root after the block", ErrWitness)
	}
	for i := range segments {
		segment := &segments[i]
		low, high := segment.low, segment.low+len(segment.part.levels)
		segment.Instance = s.instance(chain{i, len(segments), len(entries), low, before}, entries[low:high], &segment.part)
		before = segment.part.after
	}
	return segments, nil
}

// fitting is where the longest segment from entry low on ends that surely has at most the given size.
func (t *trie) fitting(low int, most size) int {
	entries := min(len(t.entries)-low, most.entries)
	return low + sort.Search(entries-1, func(i int) bool { return t.rows(low, low+i+2) > most.rows }) + 1
}

// emit makes the rows of the segment with the entries low to high, before which all are carried out, and carries them out.
func (t *trie) emit(low, high int) {
	t.change(low, high, 1)
	e := emitter{t: t, low: low, high: high, part: part{levels: make([]uint8, high-low)}, rows: make([]tableRow, 0, t.rows(low, high))}
	e.touched(1)
	for i := range e.rows {
		if row := &e.rows[i]; row.phase != after {
			if missing := int(row.level) + 1 - len(e.part.steps); missing > 0 {
				e.part.steps = append(e.part.steps, make([]uint32, missing)...)
			}
			e.part.steps[row.level]++
		}
	}
	t.commit(high)
	e.part.after = t.at(1).now.digest
	t.made = e
}

// rows bounds the rows that the entries low to high take: one for each position above them, one more for each that they
// change, and what is shown of halves that they do not touch.
//
// Where such a half is shown it is not empty, and what is beside it is, before or after. So there is something at the
// position above both, before and after, and further up nothing is shown beside it: on the way to an entry at most one
// half is shown. If there are entries of other segments in it, the way is that to the first or to the last entry here, and
// it takes at most a row a level. Any other takes at most one row, if a deletion here empties what is beside it.
func (t *trie) rows(low, high int) int {
	n := t.above.count(low, high) + t.changed.count(t.changes[low], t.changes[high])
	return n + t.deletions[high] - t.deletions[low] + 2*t.depth
}

// carry carries entries out, or takes them back, so that those before the given one are carried out.
func (t *trie) carry(to int) {
	if to < t.carried {
		t.change(to, t.carried, 0)
	} else {
		t.change(t.carried, to, 1)
	}
	t.commit(to)
}

// change computes what stands at positions next, when the entries low to high have their leaves after (version 1) or
// before (0).
func (t *trie) change(low, high, version int) {
	var levels [pathBits + 1][]int32 // positions with halves
	t.gather(1, low, high, version, &levels)
	for level := pathBits; level >= 0; level-- {
		t.join(levels[level], t.after)
	}
}

// gather gives position i and those below it a next, if the entries low to high change them, and leaves theirs.
func (t *trie) gather(i int32, low, high, version int, levels *[pathBits + 1][]int32) {
	p := t.at(i)
	low, high = max(low, int(p.low)), min(high, int(p.high))
	if low >= high || t.changes[low] == t.changes[high] {
		return
	}
	p.next = int32(len(t.next))
	if !p.hasHalves() {
		t.next = append(t.next, next{i, leafOrEmpty(t.entries[p.low].leaves[version])})
		return
	}
	t.next = append(t.next, next{position: i})
	levels[p.level] = append(levels[p.level], i)
	for _, half := range p.halves {
		t.gather(half, low, high, version, levels)
	}
}

// after is what stands at a position next.
func (t *trie) after(p *position) *subtree {
	if p.next == 0 {
		return &p.now
	}
	return &t.next[p.next].subtree
}

// commit makes what stands at positions next stand there now: the entries before carried are carried out.
func (t *trie) commit(carried int) {
	for _, n := range t.next[1:] {
		p := t.at(n.position)
		p.now, p.next = n.subtree, 0
	}
	t.next, t.carried = t.next[:1], carried
}

// emitter makes the rows of the segment with the entries low to high. After an error all that it makes is void.
type emitter struct {
	t         *trie
	low, high int
	part      part
	rows      []tableRow
	err       error
}

func (e *emitter) isTouched(p *position) bool {
	return max(e.low, int(p.low)) < min(e.high, int(p.high))
}

// touched makes the rows of position i, which has entries of the segment below it.
func (e *emitter) touched(i int32) {
	p := e.t.at(i)
	if !p.hasHalves() {
		e.part.levels[int(p.low)-e.low] = p.level
		return
	}
	halves := [2]*position{e.t.at(p.halves[0]), e.t.at(p.halves[1])}
	var open [2]bool
	for s, h := range halves {
		open[s] = e.isTouched(h) || e.mustOpen(h, halves[1-s])
	}
	row := tableRow{phase: same, level: p.level, prefix: e.t.prefix(p), halves: [2]subtree{halves[0].now, halves[1].now}, open: open}
	if p.next != 0 {
		row.phase = changed
		e.rows = append(e.rows, row)
		row = tableRow{phase: after, halves: [2]subtree{*e.t.after(halves[0]), *e.t.after(halves[1])}, open: open}
	}
	e.rows = append(e.rows, row)
	for s, h := range halves {
		switch {
		case e.isTouched(h):
			e.touched(p.halves[s])
		case open[s]:
			e.shown(p.halves[s])
		}
	}
}

// mustOpen reports whether the half h, which the segment does not touch, cannot stay closed: whether it is a leaf
// matters where the other half is empty before or after, and that it is none where the other half is emptied.
func (e *emitter) mustOpen(h, other *position) bool {
	before, next := other.now.kind == empty, e.t.after(other).kind == empty
	return h.now.kind == leaf && (before || next) || h.now.kind > leaf && !before && next
}

// shown makes the rows of position i, which the segment does not touch, so that they show whether it is a leaf.
func (e *emitter) shown(i int32) {
	p := e.t.at(i)
	switch {
	case p.now.kind == opaque:
		e.err = errUnopened
		return
	case !p.hasHalves():
		o := other{level: p.level}
		if p.low < p.high { // an entry of another segment
			entry, version := &e.t.entries[p.low], 0
			if int(p.low) < e.low {
				version = 1
			}
			o.path, o.valueHash = entry.path, entry.hashes[version]
		} else {
			o.path, o.valueHash = e.t.sites[p.site].path, e.t.sites[p.site].valueHash
		}
		e.part.others = append(e.part.others, o)
		return
	}
	halves := [2]*position{e.t.at(p.halves[0]), e.t.at(p.halves[1])}
	row := tableRow{phase: same, level: p.level, prefix: e.t.prefix(p)}
	for s, h := range halves {
		row.halves[s], row.open[s] = h.now, p.now.kind == leaf && h.now.kind == leaf
	}
	e.rows = append(e.rows, row)
	for s := range halves {
		if row.open[s] {
			e.shown(p.halves[s])
		}
	}
}
