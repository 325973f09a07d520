package blockproof

// rowBounds bounds the number of rows for a range of entries. It is complete when all positions are added.
type rowBounds struct {
	depth     int   // number of levels that have positions with halves
	changes   []int // changes[i] is the number of changed entries before i
	deletions []int // deletions[i] is the number of those that leave no value
	above     spans // spans of entries below each position with halves
	changed   spans // spans of changed entries below each position with halves
}

// newRowBounds returns the bounds with the changes counted and no positions added.
func newRowBounds(entries []entry) rowBounds {
	b := rowBounds{changes: make([]int, len(entries)+1), deletions: make([]int, len(entries)+1)}
	for i := range entries {
		b.changes[i+1], b.deletions[i+1] = b.changes[i], b.deletions[i]
		if e := &entries[i]; e.changed() {
			b.changes[i+1]++
			if e.leaves[1].IsZero() {
				b.deletions[i+1]++
			}
		}
	}
	b.above, b.changed = newSpans(len(entries)), newSpans(b.changes[len(entries)])
	return b
}

// add adds a position with halves at level. The entries low to high are below it.
func (b *rowBounds) add(level, low, high int) {
	b.depth = max(b.depth, level+1)
	b.above.add(low, high)
	b.changed.add(b.changes[low], b.changes[high])
}

// sum must be called after all positions are added.
func (b *rowBounds) sum() {
	b.above.sum()
	b.changed.sum()
}

// changedIn returns the number of changed entries among entries low to high.
func (b *rowBounds) changedIn(low, high int) int { return b.changes[high] - b.changes[low] }

// rows bounds the number of rows for the entries low to high. There is one row for each position above them, and one
// more for each position that they change. The remaining rows show halves that the entries do not touch.
//
// If such a half is shown, it is not empty, and its sibling is empty before or after the segment. So the position above
// both is nonempty before and after, and further up nothing is shown beside it: at most one half is shown on the way to
// an entry. If the half contains entries of other segments, the way leads to the first or the last entry of this
// segment, and the half takes at most one row per level. Any other half takes at most one row, and only if a deletion
// of this segment empties its sibling.
func (b *rowBounds) rows(low, high int) int {
	n := b.above.count(low, high) + b.changed.count(b.changes[low], b.changes[high])
	return n + b.deletions[high] - b.deletions[low] + 2*b.depth
}

// spans counts spans of consecutive things, by the number of spans that begin before a thing and that end before it.
type spans struct{ begun, ended []int }

func newSpans(things int) spans { return spans{make([]int, things+1), make([]int, things+1)} }

// add adds the span low to high unless it is empty.
func (s *spans) add(low, high int) {
	if low < high {
		s.begun[low+1]++
		s.ended[high]++
	}
}

// sum must be called after all spans are added.
func (s *spans) sum() {
	for i := 1; i < len(s.begun); i++ {
		s.begun[i] += s.begun[i-1]
		s.ended[i] += s.ended[i-1]
	}
}

// count returns the number of spans that overlap with the span low to high.
func (s *spans) count(low, high int) int {
	if low == high {
		return 0
	}
	return s.begun[high] - s.ended[low]
}
