package tree

// A walk is cut into parts of at most partItems items, or of a partShare-th of all if that is more.
const (
	partItems = 64
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
	old    subtree
	pos    int // the depth at which old stands
	items  []item
	wrong  *item // the first item that contradicts old
	inners int   // at most so many nodes and leaves does the walk make
	leaves int
	walker walker
	now    subtree // the next version of old
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
	depth, children := p.nodes.open(&s, pos, items)
	for i, half := range halve(items, depth) {
		if len(half) > 0 {
			p.cut(children[i], depth+1, half)
		}
	}
}

// take gives the parts one by one, in the order in which they were cut.
func (p *parts) take() *part {
	p.taken++
	return &p.list[p.taken-1]
}

// survey looks every item up: whether it is there as it says, and which nodes its write replaces. An insertion makes
// at most one node more.
func (p *part) survey(n *nodes) {
	var last *item // that is a write
	for i := range p.items {
		it := &p.items[i]
		shared := -1 // nodes down to this depth are counted
		if last != nil {
			shared = commonBits(&last.path, &it.path)
		}
		passed, present := 0, false
		if r := p.old.node; r != none {
			for !r.isLeaf() {
				in := n.inner(r)
				if int(in.depth) > shared {
					passed++
				}
				r = in.child[bit(&it.path, int(in.depth))]
			}
			present = *n.leaf(r) == it.path
		}
		if present != it.before && p.wrong == nil {
			p.wrong = it
		}
		if it.changed {
			last = it
			p.inners += passed
			if !it.before {
				p.inners++
				p.leaves++
			}
		}
	}
}
