package blockproof

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// maxLogRows bounds a segment's rows to 2^18, so that proving one takes less than one and a half gigabytes. minLogRows
// is the minimum of the proof system.
const minLogRows, maxLogRows = stark.MinLogRows, stark.MaxLogRows

// errUnopened is returned if a segment empties a half and the witness does not open its sibling.
var errUnopened = fmt.Errorf("%w: the half next to an emptied one is not opened", ErrWitness)

// Segment is a part of a block's proof, for a run of the access list in the order of paths. Its argument is a proof of
// Instance from the table that Columns returns.
type Segment struct {
	Instance stark.Statement
	part     part
	rows     []tableRow
}

// Rows returns the number of rows in use. Each proves a hash.
func (s *Segment) Rows() int { return len(s.rows) }

// Proven returns the segment's share of a block's proof, with its argument.
func (s *Segment) Proven(argument []byte) Proven { return Proven{s.part, argument} }

// tableRow is a row of the table in compact form.
type tableRow struct {
	phase  phase
	level  uint8
	prefix poseidon.Digest
	halves [2]subtree
	open   [2]bool
}

type phase uint8

const (
	same    phase = iota // the only row of a position that the segment does not change
	changed              // the row of a changed position before the segment
	after                // the row after a changed row
)

// Trace yields the segments of a proof from a block's accesses and their witness in the tree before the block. It
// retains no segment, so the memory is bounded by the witness, the accesses and one segment. It ends with the first
// error, which wraps ErrAccesses or ErrWitness. ErrWitness is also returned for a witness that does not lead from
// s.PreRoot to s.PostRoot. A block's own accesses and witness always yield segments.
func Trace(s Statement, accesses []types.Access, w tree.Witness, parallel Parallel) iter.Seq2[*Segment, error] {
	return trace(s, accesses, w, largest, parallel)
}

// QuickTrace is [Trace] with smaller segments, for stark.QuickLevelOf: the proof takes less time and is larger.
func QuickTrace(
	s Statement, accesses []types.Access, w tree.Witness, parallel Parallel,
) iter.Seq2[*Segment, error] {
	most := largest
	most.rows = 1 << stark.MaxQuickLogRows
	return trace(s, accesses, w, most, parallel)
}

// size holds limits on segments and memory.
type size struct {
	rows, entries int // maximum per segment; 4·pathBits + 1 rows suffice for any entry
	unit          int // maximum number of entries in a unit
	open          int // number of positions below units from which on units are closed before others are opened
}

// largest holds the limits for the largest segments. 2^20 positions take 64 MiB. With smaller units, fewer positions
// would be read twice, and more kept.
var largest = size{rows: 1 << maxLogRows, entries: maxEntries, unit: 1 << 8, open: 1 << 20}

// trace is [Trace] with other limits.
func trace(
	s Statement, accesses []types.Access, w tree.Witness, most size, parallel Parallel,
) iter.Seq2[*Segment, error] {
	return func(yield func(*Segment, error) bool) {
		var entries []entry
		err := s.check(accesses)
		if err == nil && len(accesses) > 0 {
			entries, err = newEntries(accesses, true, parallel)
		}
		if err == nil && len(entries) > 0 {
			err = s.segments(entries, w, most, parallel, func(segment *Segment) bool { return yield(segment, nil) })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// segments yields segments within the limits. There is at least one entry.
func (s *Statement) segments(
	entries []entry, w tree.Witness, most size, parallel Parallel, yield func(*Segment) bool,
) error {
	t, err := newTrie(entries, w, most, parallel)
	if err != nil {
		return err
	}
	before := t.at(1).now.digest
	if before.Bytes() != s.PreRoot {
		return fmt.Errorf("%w: it leads to a different root before the block", ErrWitness)
	}
	cuts := t.cuts()
	for i, low := range cuts[:len(cuts)-1] {
		high := cuts[i+1]
		e := t.emit(low, high)
		switch {
		case e.err != nil:
			return e.err
		case high == len(entries) && e.part.after.Bytes() != s.PostRoot:
			return fmt.Errorf("%w: it leads to a different root after the block", ErrWitness)
		}
		instance := s.instance(chain{i, len(cuts) - 1, len(entries), low, before}, entries[low:high], &e.part)
		if !yield(&Segment{instance, e.part, e.rows}) {
			return nil
		}
		before = e.part.after
	}
	return nil
}

// cuts returns the starts of the segments, followed by the end of the last one.
func (t *trie) cuts() []int {
	cuts := []int{0}
	for low := 0; low < len(t.entries); {
		low = t.fitting(low)
		cuts = append(cuts, low)
	}
	return cuts
}

// fitting returns the end of the longest segment from entry low on that is certainly within the limits.
func (t *trie) fitting(low int) int {
	entries := min(len(t.entries)-low, t.most.entries)
	return low + sort.Search(entries-1, func(i int) bool { return t.bounds.rows(low, low+i+2) > t.most.rows }) + 1
}

// emit applies the entries low to high and returns an emitter with the rows of their segment. All entries before low
// must already be applied.
func (t *trie) emit(low, high int) *emitter {
	if t.opened.size >= t.most.open {
		t.close()
	}
	t.open(low, high)
	t.change(low, high)
	e := &emitter{
		t:    t,
		low:  low,
		high: high,
		part: part{levels: make([]uint8, high-low)},
		rows: make([]tableRow, 0, t.bounds.rows(low, high)),
	}
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
	return e
}

// version returns the version of an entry's value that is currently in the tree: 0 before, 1 after.
func (t *trie) version(entry int) int {
	if entry < t.carried {
		return 1
	}
	return 0
}

// change computes the next subtrees of positions, with the entries low to high applied.
func (t *trie) change(low, high int) {
	b := &t.bounds
	t.next = slices.Grow(t.next, b.changed.count(b.changes[low], b.changes[high])+b.changedIn(low, high))
	var levels [pathBits + 1][]int32 // positions with halves
	t.gather(1, low, high, &levels)
	for level := pathBits; level >= 0; level-- {
		t.join(levels[level], t.after)
	}
}

// gather sets next of position i, and of those below it, if the entries low to high change them. It sets their leaves.
func (t *trie) gather(i int32, low, high int, levels *[pathBits + 1][]int32) {
	p := t.at(i)
	low, high = max(low, int(p.low)), min(high, int(p.high))
	if low >= high || t.bounds.changedIn(low, high) == 0 {
		return
	}
	p.next = int32(len(t.next))
	if !p.hasHalves() {
		t.next = append(t.next, next{i, leafOrEmpty(t.entries[p.low].leaves[1])})
		return
	}
	t.next = append(t.next, next{position: i})
	levels[p.level] = append(levels[p.level], i)
	for _, half := range p.halves {
		t.gather(half, low, high, levels)
	}
}

// after returns the next subtree of a position.
func (t *trie) after(p *position) *subtree {
	if p.next == 0 {
		return &p.now
	}
	return &t.next[p.next].subtree
}

// commit makes the next subtrees current. The entries before carried are then applied.
func (t *trie) commit(carried int) {
	for _, n := range t.next[1:] {
		p := t.at(n.position)
		p.now, p.next = n.subtree, 0
	}
	t.next, t.carried = t.next[:1], carried
}

// emitter makes the rows of the segment with the entries low to high. After an error its output is invalid.
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
	row := tableRow{
		phase: same, level: p.level, prefix: e.t.prefix(p), halves: [2]subtree{halves[0].now, halves[1].now}, open: open,
	}
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

// mustOpen reports whether the half h, which the segment does not touch, must be opened. If the other half is empty
// before or after, it matters whether h is a leaf. If the other half is emptied, it must be shown that h is not a leaf.
func (e *emitter) mustOpen(h, other *position) bool {
	before, next := other.now.kind == empty, e.t.after(other).kind == empty
	return h.now.kind == leaf && (before || next) || h.now.kind > leaf && !before && next
}

// shown makes the rows of position i, which the segment does not touch, to show whether it is a leaf.
func (e *emitter) shown(i int32) {
	p := e.t.at(i)
	if p.closed {
		e.t.open(int(p.low), int(p.high))
	}
	switch {
	case p.now.kind == opaque:
		e.err = errUnopened
		return
	case !p.hasHalves():
		o := other{level: p.level}
		if p.low < p.high { // an entry of another segment
			entry := &e.t.entries[p.low]
			o.path, o.valueHash = entry.path, entry.hashes[e.t.version(int(p.low))]
		} else {
			site := e.t.siteOf(p)
			o.path, o.valueHash = site.path, site.valueHash
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
