package blockproof

// rowBounds bounds the rows that entries take, once all positions are added.
type rowBounds struct {
	depth     int   // how many levels have positions with halves
	changes   []int // changes[i]: how many entries before i are changed
	deletions []int // deletions[i]: how many of them leave nothing
	above     spans // of entries, those below each position with halves
	changed   spans // of changed entries, likewise
}

// newRowBounds counts the changes. The spans come with the positions.
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

// add adds a position with halves, at level above entries low to high.
func (b *rowBounds) add(level, low, high int) {
	b.depth = max(b.depth, level+1)
	b.above.add(low, high)
	b.changed.add(b.changes[low], b.changes[high])
}

// sum ends the adding.
func (b *rowBounds) sum() {
	b.above.sum()
	b.changed.sum()
}

// changedIn is how many of entries low to high are changed.
func (b *rowBounds) changedIn(low, high int) int { return b.changes[high] - b.changes[low] }

// rows bounds the rows of the entries low to high. There is one for each position above them, and one more for each
// that they change. The others show halves that the entries do not touch.
//
// If such a half is shown it is not empty, and what is beside it is, before or after. So there is something at the
// position above both, before and after. Further up nothing is shown beside it: on the way to an entry at most one half
// is shown. If there are entries of other segments in it, the way is that to the first or to the last entry here. It
// takes at most a row a level. Any other takes at most one row, if a deletion here empties what is beside it.
func (b *rowBounds) rows(low, high int) int {
	n := b.above.count(low, high) + b.changed.count(b.changes[low], b.changes[high])
	return n + b.deletions[high] - b.deletions[low] + 2*b.depth
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
