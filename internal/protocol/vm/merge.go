package vm

import "math/bits"

// localSet is a set of locals, of which a contract's function has at most 100.
type localSet [2]uint64

func (s *localSet) add(index uint32) { s[index/64%2] |= 1 << (index % 64) }

func (s *localSet) addAll(other *localSet) {
	s[0] |= other[0]
	s[1] |= other[1]
}

func (s *localSet) size() int { return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) }

// merge is what is known of the place of a construct where branches meet: behind the end of a block or an if, at the
// beginning of a loop. An optimising engine makes there a value of each local that is assigned inside, and moves it on
// each way into it: whoever comes there pays for them (docs/protocol.md, "Metering").
type merge struct {
	assigned localSet
	branches int    // that name the construct
	unpaid   uint32 // the most that may be unpaid on a branch to its end
	price    int    // of a loop: where in the rewritten body the price of its first metered block stands; 0: not yet
	cost     uint32 // of a loop: that price without the merge's
}

// width is how many values meet at the end of c, by what was seen of it.
func (c *control) width() int {
	width := c.assigned.size()
	if c.opcode != opLoop && c.result != 0 {
		width++
	}
	return width
}

// meet prices the merge of a construct that was closed, and makes room for it in the frame.
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
