package tree

// A walk is cut into parts of at most partItems items, or 1/partShare of all items if that is more. Parts are large
// enough to fill vector lanes, and small enough for a core's cache and an even distribution of the work.
const (
	partItems = 128
	partShare = 64
)

// parts are the disjoint subtrees into which a walk is cut, so that they can be walked in parallel.
type parts struct {
	nodes *nodes
	limit int    // maximum number of items in a part that is neither a leaf nor empty
	list  []part // from left to right
	above int    // number of nodes above the parts that the walk opens
	taken int
}

// part is a subtree of the previous version with the items below it.
type part struct {
	old     subtree
	pos     int // depth of old
	items   []item
	wrong   *item // the first item that contradicts old
	inners  int   // maximum number of inner nodes that the walk makes; leaves likewise
	leaves  int
	ways    ways
	scratch scratch
	walker  walker
	now     subtree // next version of old, with all digests below it
}

// prepare makes the next version of the part, unless an item contradicts it.
func (p *part) prepare(n *nodes) {
	p.survey(n)
	if p.wrong != nil {
		return
	}
	p.scratch.grow(p.inners)
	p.walker = newWalker(n, p.scratch, p.leaves)
	p.walker.ways = p.ways
	p.now = p.walker.visit(&p.old, p.pos, p.items)
	run(p.walker.climbs, inOrder)
	clear(p.walker.climbs) // they point into the items
	p.walker.climbs = nil
}

// isPart reports whether s, with items below it, is not cut further.
func (p *parts) isPart(s *subtree, items []item) bool {
	return len(items) <= p.limit || s.node == none || s.node.isLeaf()
}

// cut cuts s, which is at depth pos and has items below it.
func (p *parts) cut(s subtree, pos int, items []item) {
	if p.isPart(&s, items) {
		p.list = append(p.list, part{old: s, pos: pos, items: items})
		return
	}
	p.above++
	var children [2]subtree
	depth := p.nodes.open(&s, pos, items, nil, &children)
	for i, half := range halve(items, depth) {
		if len(half) > 0 {
			p.cut(children[i], depth+1, half)
		}
	}
}

// take returns the parts one by one, in the order in which they were cut, with their next versions. If the root is a
// draft, its ref is the one that the walk above uses.
func (p *parts) take() (*part, subtree) {
	part := &p.list[p.taken]
	now := part.now
	if now.node&draftBit != 0 {
		now.node = now.node&leafBit | draftBit | ref(p.above+p.taken)
	}
	p.taken++
	return part, now
}

// abreast is the number of items that a survey looks up side by side. Each lookup waits for memory at every node; side
// by side they wait once.
const abreast = 16

// survey looks up every item: whether its presence is as the item states, and which nodes its write replaces. An
// insertion makes at most one additional node.
func (p *part) survey(n *nodes) {
	var last *item // last item that is a write
	for low := 0; low < len(p.items); low += abreast {
		group := p.items[low:min(low+abreast, len(p.items))]
		var shared [abreast]int // with the previous write; nodes down to this depth are already counted
		for i := range group {
			shared[i] = -1
			if last != nil {
				shared[i] = commonBits(&last.path, &group[i].path)
			}
			if group[i].changed {
				last = &group[i]
			}
		}
		passed, found := n.lookUp(p.old.node, group, &shared, &p.ways)
		for i := range group {
			it := &group[i]
			if found[i] != it.before && p.wrong == nil {
				p.wrong = it
			}
			if it.changed {
				p.inners += passed[i]
				if !it.before {
					p.inners++
					p.leaves++
				}
			}
		}
	}
}

// ways are the nodes that surveyed items passed, with a row for each step of the items that were looked up side by
// side. An item that has reached its leaf stays there.
type ways [][abreast]ref

// lookUp looks up at most abreast items in the subtree r. It returns the number of nodes below the given depth that
// each passes, and whether its leaf exists.
func (n *nodes) lookUp(
	r ref, items []item, deeper *[abreast]int, ways *ways,
) (passed [abreast]int, found [abreast]bool) {
	if r == none {
		return passed, found
	}
	var at [abreast]ref
	for i := range items {
		at[i] = r
		items[i].row, items[i].column = uint32(len(*ways)), uint8(i)
	}
	for descending := !r.isLeaf(); descending; {
		descending = false
		*ways = append(*ways, at)
		for i := range items {
			if at[i].isLeaf() {
				continue
			}
			in := n.inner(at[i])
			if int(in.depth) > deeper[i] {
				passed[i]++
			}
			next := in.child[bit(&items[i].path, int(in.depth))]
			if at[i] = next; !next.isLeaf() {
				prefetch(n.inner(next))
			}
			descending = true
		}
	}
	*ways = append(*ways, at) // all are at leaves
	for i := range items {
		found[i] = *n.leaf(at[i]) == items[i].path
	}
	return passed, found
}
