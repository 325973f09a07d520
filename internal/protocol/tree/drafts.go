package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// drafts are the inner nodes and leaves of a version that are not stored yet. The drafts of a part refer to each other
// by their indices in the part's share. So do the drafts above the parts; in their refs, the root of part i has the
// i-th index after the indices of their own share.
type drafts struct {
	parts []partDrafts
	above *share
}

// partDrafts are the drafts of a part.
type partDrafts struct {
	*share
	root    ref // root of the part's next version
	scratch scratch
}

// draftInner is an inner node and its destination: a node of the previous version that it overwrites, or none for a new
// one. Until it is stored, refs to a new node consist of draftBit and the draft's index in its share.
type draftInner struct {
	inner
	stored ref
}

// draftLeaf is a leaf that the previous version does not have. Refs to it are like those to a draftInner.
type draftLeaf struct {
	path   poseidon.Digest
	stored ref
}

// share holds the drafts of one walk. Its maximum size is known beforehand, so that drafts keep their addresses and
// digests can be computed in place.
type share struct {
	inners      []draftInner
	leaves      []draftLeaf
	innersTaken int
	newInners   int // inner nodes that overwrite no stored node
	leavesTaken int
}

// inner adds an inner node that overwrites the stored node over, or a new one if over is none.
func (s *share) inner(over ref) (ref, *inner) {
	d := &s.inners[s.innersTaken]
	d.stored = over
	r := over
	if r == none {
		r = draftBit | ref(s.innersTaken)
		s.newInners++
	}
	s.innersTaken++
	return r, &d.inner
}

// leaf adds a leaf.
func (s *share) leaf(path *poseidon.Digest) ref {
	s.leaves[s.leavesTaken].path = *path
	r := leafBit | draftBit | ref(s.leavesTaken)
	s.leavesTaken++
	return r
}

// scratch is memory of a part's walk that is not used after the change was committed. The next change reuses it: fresh
// memory costs more than writing to it.
type scratch struct {
	inners []draftInner
	climbs []climb
}

// grow makes room for the given number of inner nodes and a climb for each.
func (s *scratch) grow(inners int) {
	if cap(s.inners) < inners {
		*s = scratch{make([]draftInner, inners), make([]climb, 0, inners)}
	}
}

// maxSpare bounds the number of inner nodes in the scratch memory that is kept. Each takes about 150 bytes, including
// its climb.
const maxSpare = 1 << 18

// scratch returns the parts' scratch in order, or nil if it is too large to keep.
func (d *drafts) scratch() []scratch {
	spare, inners := make([]scratch, len(d.parts)), 0
	for i := range d.parts {
		spare[i] = d.parts[i].scratch
		inners += cap(spare[i].inners)
	}
	if inners > maxSpare {
		return nil
	}
	return spare
}

// store stores all drafts in n and returns the stored ref of root, which may be a draft.
func (d *drafts) store(n *nodes, root ref, parallel Parallel) ref {
	for i := range d.parts {
		d.parts[i].allocate(n)
	}
	d.above.allocate(n)
	inPieces(len(d.parts), 1, parallel, func(i, _ int) { d.parts[i].write(n, d.parts[i].storedRef) })
	d.above.write(n, d.storedRef)
	return d.storedRef(root)
}

// storedRef returns the stored ref for a ref used by the drafts above the parts.
func (d *drafts) storedRef(r ref) ref {
	i := int(r &^ (leafBit | draftBit))
	if r&draftBit == 0 || i < len(d.above.inners) {
		return d.above.storedRef(r)
	}
	p := &d.parts[i-len(d.above.inners)]
	return p.storedRef(p.root)
}

// allocate allocates a place for each draft that overwrites none.
func (s *share) allocate(n *nodes) {
	for i := 0; s.newInners > 0; i++ { // most parts have no new inner nodes and need no scan
		if draft := &s.inners[i]; draft.stored == none {
			draft.stored = n.newInner()
			s.newInners--
		}
	}
	for i := range s.leaves[:s.leavesTaken] {
		draft := &s.leaves[i]
		draft.stored = n.newLeaf(&draft.path)
	}
}

// write writes the inner nodes to their places, with the stored refs of their children.
func (s *share) write(n *nodes, storedRef func(ref) ref) {
	const ahead = 8
	for i := range s.inners[:s.innersTaken] {
		draft := &s.inners[i]
		if i+ahead < s.innersTaken {
			prefetch(n.inner(s.inners[i+ahead].stored))
		}
		in := n.inner(draft.stored)
		in.digest, in.depth = draft.digest, draft.depth
		for side, child := range draft.child {
			switch {
			case n.isPlaceholder(child): // the part may be loaded by now
				child = in.child[side]
			case child&draftBit != 0:
				child = storedRef(child)
			}
			in.child[side] = child
		}
	}
}

// storedRef returns r, or its stored ref if it is a draft of the share.
func (s *share) storedRef(r ref) ref {
	switch i := r &^ (leafBit | draftBit); {
	case r&draftBit == 0:
		return r
	case r.isLeaf():
		return s.leaves[i].stored
	default:
		return s.inners[i].stored
	}
}
