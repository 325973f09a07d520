package tree

// A walk is cut into parts of at most partItems items, or of a partShare-th of all if that is more. They are large
// enough for vector lanes to be full, and small enough for a core's cache and to share the work out evenly.
const (
	partItems = 128
	partShare = 64
)

// parts are the subtrees that a walk is cut into, so that they can be walked side by side.
type parts struct {
	nodes *nodes
	limit int    // of items in a part that is neither a leaf nor empty
	list  []part // from left to right
	above int    // nodes above the parts that the walk opens
	taken int
}

// part is a subtree of the version before with the items below it.
type part struct {
	old     subtree
	pos     int // the depth at which old stands
	items   []item
	wrong   *item // the first item that contradicts old
	inners  int   // at most so many nodes and leaves does the walk make
	leaves  int
	ways    ways
	scratch scratch
	walker  walker
	now     subtree // the next version of old, with all digests below it
}

// prepare makes the next version of the part, unless an item is wrong.
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
	clear(p.walker.climbs) // which point into the items
	p.walker.climbs = nil
}

// isPart reports whether s, with items below it, is not cut further.
func (p *parts) isPart(s *subtree, items []item) bool {
	return len(items) <= p.limit || s.node == none || s.node.isLeaf()
}

// cut cuts s, which stands at depth pos and has items below it.
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

// take gives the parts one by one, in the order in which they were cut, and their next versions. With drafts for roots
// the parts are as the walk above names them.
func (p *parts) take() (*part, subtree) {
	part := &p.list[p.taken]
	now := part.now
	if now.node&draftBit != 0 {
		now.node = now.node&leafBit | draftBit | ref(p.above+p.taken)
	}
	p.taken++
	return part, now
}

// abreast is how many items a survey looks up side by side: each waits for memory at every node, together they wait
// once.
const abreast = 16

// survey looks every item up: whether it is there as it says, and which nodes its write replaces. An insertion makes
// at most one node more.
func (p *part) survey(n *nodes) {
	var last *item // that is a write
	for low := 0; low < len(p.items); low += abreast {
		group := p.items[low:min(low+abreast, len(p.items))]
		var shared [abreast]int // with the write before; nodes down to this depth are counted
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

// ways are the nodes that surveyed items passed, a row for each step of the items that were looked up side by side. An
// item that is at its leaf stays there.
type ways [][abreast]ref

// way is where an item's is in ways.
type way struct {
	row    uint32
	column uint8
}

// lookUp looks at most abreast items up in the subtree r: how many nodes deeper than a depth each passes, and whether
// it is there.
func (n *nodes) lookUp(
	r ref, items []item, deeper *[abreast]int, ways *ways,
) (passed [abreast]int, found [abreast]bool) {
	if r == none {
		return passed, found
	}
	var at [abreast]ref
	for i := range items {
		at[i] = r
		items[i].way = way{uint32(len(*ways)), uint8(i)}
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
	*ways = append(*ways, at) // where all are at leaves
	for i := range items {
		found[i] = *n.leaf(at[i]) == items[i].path
	}
	return passed, found
}
