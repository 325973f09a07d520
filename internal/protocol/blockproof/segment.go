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
type Segment struct {
	Instance stark.Statement
	part     part
	rows     []tableRow
}

// Rows is how many rows of the table are used, each of which proves a hash.
func (s *Segment) Rows() int { return len(s.rows) }

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
	before := t.positions[1].now.digest
	if before.Bytes() != s.PreRoot {
		return nil, fmt.Errorf("%w: it is of another root before the block", ErrWitness)
	}
	var segments []Segment
	for low := 0; low < len(entries); {
		segment, high, err := t.segment(low, most)
		if err != nil {
			return nil, err
		}
		segments, low = append(segments, segment), high
	}
	if t.positions[1].now.digest.Bytes() != s.PostRoot {
		return nil, fmt.Errorf("%w: it leads to another root after the block", ErrWitness)
	}
	low := 0
	for i := range segments {
		segment := &segments[i]
		high := low + len(segment.part.levels)
		segment.Instance = s.instance(chain{i, len(segments), len(entries), low, before}, entries[low:high], &segment.part)
		before, low = segment.part.after, high
	}
	return segments, nil
}

// segment makes the segment from entry low on, and carries it out on the trie.
func (t *trie) segment(low int, most size) (s Segment, high int, err error) {
	high = t.fitting(low, most)
	e, err := t.emit(low, high)
	if err != nil {
		return s, 0, err
	}
	for i := range t.positions {
		t.positions[i].now = t.positions[i].next
	}
	return Segment{part: e.part, rows: e.rows}, high, nil
}

// fitting is where the longest segment from entry low on ends that surely has at most the given size.
func (t *trie) fitting(low int, most size) int {
	entries := min(len(t.entries)-low, most.entries)
	return low + sort.Search(entries-1, func(i int) bool { return t.rows(low, low+i+2) > most.rows }) + 1
}

// emit carries the entries low to high out, on next, and makes the rows.
func (t *trie) emit(low, high int) (emitter, error) {
	t.change(low, high)
	e := emitter{t: t, low: low, high: high, part: part{levels: make([]uint8, high-low)}, rows: make([]tableRow, 0, t.rows(low, high))}
	if err := e.touched(1); err != nil {
		return e, err
	}
	for i := range e.rows {
		if row := &e.rows[i]; row.phase != after {
			if missing := int(row.level) + 1 - len(e.part.steps); missing > 0 {
				e.part.steps = append(e.part.steps, make([]uint32, missing)...)
			}
			e.part.steps[row.level]++
		}
	}
	e.part.after = t.positions[1].next.digest
	return e, nil
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

// change sets what stands at positions after the entries low to high.
func (t *trie) change(low, high int) {
	for i := range t.positions {
		if p := &t.positions[i]; p.halves[0] == 0 && p.high-p.low == 1 && low <= int(p.low) && int(p.low) < high {
			p.next = leafOrEmpty(t.entries[p.low].leaves[1])
		}
	}
	for level := pathBits; level >= 0; level-- {
		var positions []int32
		for _, i := range t.levels[level] {
			p := &t.positions[i]
			if from, to := max(low, int(p.low)), min(high, int(p.high)); from < to && t.changes[from] < t.changes[to] {
				positions = append(positions, i)
			}
		}
		t.join(positions, func(p *position) *subtree { return &p.next })
	}
}

// emitter makes the rows of the segment with the entries low to high.
type emitter struct {
	t         *trie
	low, high int
	part      part
	rows      []tableRow
}

func (e *emitter) isTouched(p *position) bool {
	return max(e.low, int(p.low)) < min(e.high, int(p.high))
}

// touched makes the rows of position i, which has entries of the segment below it.
func (e *emitter) touched(i int32) error {
	p := &e.t.positions[i]
	if p.halves[0] == 0 {
		e.part.levels[int(p.low)-e.low] = p.level
		return nil
	}
	halves := [2]*position{&e.t.positions[p.halves[0]], &e.t.positions[p.halves[1]]}
	var open [2]bool
	for s, h := range halves {
		open[s] = e.isTouched(h) || e.mustOpen(h, halves[1-s])
	}
	row := tableRow{phase: same, level: p.level, prefix: e.t.prefix(p), halves: [2]subtree{halves[0].now, halves[1].now}, open: open}
	from, to := max(e.low, int(p.low)), min(e.high, int(p.high))
	if e.t.changes[from] < e.t.changes[to] {
		row.phase = changed
		e.rows = append(e.rows, row)
		row = tableRow{phase: after, halves: [2]subtree{halves[0].next, halves[1].next}, open: open}
	}
	e.rows = append(e.rows, row)
	for s, h := range halves {
		var err error
		switch {
		case e.isTouched(h):
			err = e.touched(p.halves[s])
		case open[s]:
			err = e.shown(p.halves[s])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mustOpen reports whether the half h, which the segment does not touch, cannot stay closed: whether it is a leaf
// matters where the other half is empty before or after, and that it is none where the other half is emptied.
func (e *emitter) mustOpen(h, other *position) bool {
	before, next := other.now.kind == empty, other.next.kind == empty
	return h.now.kind == leaf && (before || next) || h.now.kind > leaf && !before && next
}

// shown makes the rows of position i, which the segment does not touch, so that they show whether it is a leaf.
func (e *emitter) shown(i int32) error {
	p := &e.t.positions[i]
	switch {
	case p.now.kind == opaque:
		return errUnopened
	case p.halves[0] == 0:
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
		return nil
	}
	halves := [2]*position{&e.t.positions[p.halves[0]], &e.t.positions[p.halves[1]]}
	row := tableRow{phase: same, level: p.level, prefix: e.t.prefix(p)}
	for s, h := range halves {
		row.halves[s], row.open[s] = h.now, p.now.kind == leaf && h.now.kind == leaf
	}
	e.rows = append(e.rows, row)
	for s := range halves {
		if row.open[s] {
			return e.shown(p.halves[s])
		}
	}
	return nil
}
