package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// drafts are the inner nodes and leaves of a version that are yet to be stored. There are those of each part, which
// name each other by their indices in the share, and those above. To the latter, the root of part i has the index of
// the i-th after their own.
type drafts struct {
	parts []partDrafts
	above *share
}

// partDrafts are the drafts of a part.
type partDrafts struct {
	*share
	root    ref // of the part's next version
	scratch scratch
}

// draftInner is the contents of an inner node and where it goes: over a node of the version before or, if none, into
// a new one. Until it is stored, others refer to a new one by draftBit and the draft's index in its share.
type draftInner struct {
	inner
	stored ref
}

// draftLeaf is a leaf that the version before does not have; others refer to it likewise.
type draftLeaf struct {
	path   poseidon.Digest
	stored ref
}

// share is what one walk drafts. How much that may be is known beforehand, so that drafts keep their addresses and
// digests can be computed in place.
type share struct {
	inners      []draftInner
	leaves      []draftLeaf
	innersTaken int
	newInners   int // of these: over none
	leavesTaken int
}

// inner adds an inner node that goes over the stored one that is given, unless that is none.
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

// scratch is memory that the walk of a part writes and nobody reads after its change was committed. The next change
// takes it over: fresh memory costs more than what is written to it.
type scratch struct {
	inners []draftInner
	climbs []climb
}

// grow makes room for so many inner nodes, and a climb for each.
func (s *scratch) grow(inners int) {
	if cap(s.inners) < inners {
		*s = scratch{make([]draftInner, inners), make([]climb, 0, inners)}
	}
}

// maxSpare bounds the inner nodes that scratch is kept for, some 150 bytes each with its climb.
const maxSpare = 1 << 18

// scratch is that of the parts, in their order; none where they are too large.
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

// store stores all drafts in n and returns where the version's root, which may be a draft, was stored.
func (d *drafts) store(n *nodes, root ref, parallel Parallel) ref {
	for i := range d.parts {
		d.parts[i].allocate(n)
	}
	d.above.allocate(n)
	inPieces(len(d.parts), 1, parallel, func(i, _ int) { d.parts[i].write(n, d.parts[i].storedRef) })
	d.above.write(n, d.storedRef)
	return d.storedRef(root)
}

// storedRef is where the node is that the drafts above the parts name so.
func (d *drafts) storedRef(r ref) ref {
	i := int(r &^ (leafBit | draftBit))
	if r&draftBit == 0 || i < len(d.above.inners) {
		return d.above.storedRef(r)
	}
	p := &d.parts[i-len(d.above.inners)]
	return p.storedRef(p.root)
}

// allocate finds a place for each draft that goes over none.
func (s *share) allocate(n *nodes) {
	for i := 0; s.newInners > 0; i++ { // none in most parts: all need not be looked at
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

// write writes the inner nodes to their places, with their children's.
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
			if child&draftBit != 0 {
				child = storedRef(child)
			}
			in.child[side] = child
		}
	}
}

// storedRef is the ref of a node, and for a draft of the share where it was stored.
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
