package vm

import "math/bits"

// localSet is a set of locals. A contract's function has at most 100.
type localSet [2]uint64

func (s *localSet) add(index uint32) { s[index/64%2] |= 1 << (index % 64) }

func (s *localSet) addAll(other *localSet) {
	s[0] |= other[0]
	s[1] |= other[1]
}

func (s *localSet) size() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

// merge is the information about the merge of a construct, the point where branches meet: after the end of a block or
// an if, at the beginning of a loop. There an optimising engine creates a value for each local that is assigned inside,
// and moves it on each path into the merge. Each path pays for these moves (docs/protocol.md, "Metering").
type merge struct {
	assigned localSet
	branches int    // branches that target the construct
	unpaid   uint32 // maximum gas that may be unpaid on a branch to its end
	price    int    // loops only: offset in out of the price of the first metered block; 0 if not yet known
	cost     uint32 // loops only: that price without the merge's
}

// width returns the number of values that meet at the merge of c, as far as c has been read.
func (c *control) width() int {
	width := c.assigned.size()
	if c.opcode != opLoop && c.result != 0 {
		width++
	}
	return width
}

// meet adds the price of a closed construct's merge, and its slots to the frame.
func (b *body) meet(c *control) {
	b.top().assigned.addAll(&c.assigned)
	width := c.width()
	price := uint32(schedule.Merge) + uint32(schedule.MergeValue)*uint32(width)
	switch {
	case c.opcode == opLoop && c.branches > 0:
		b.merges += (width + 1) * (1 + c.branches)
		b.patch(c.price, c.cost+price)
		b.weight += uint64(price)
	case c.opcode == opIf || c.opcode == opElse || c.opcode == opBlock && c.branches > 0:
		b.merges += width + 1
		b.mergePrice = price
	}
	if c.opcode != opLoop {
		b.unpaid = max(b.unpaid, c.unpaid)
	}
}
