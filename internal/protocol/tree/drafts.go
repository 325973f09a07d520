package tree

import "github.com/cairn-chain/cairn/internal/proof/poseidon"

// drafts are the inner nodes and leaves of a version that are yet to be stored. How many there may be is known
// beforehand, so that they keep their addresses and digests can be computed in place.
type drafts struct {
	inners []draftInner
	leaves []draftLeaf
	shares []share
}

// draftInner is the contents of an inner node and where it goes: over a node of the version before or, if none, into
// a new one. Until it is stored, others refer to a new one by draftBit and the draft's index.
type draftInner struct {
	inner
	stored ref
}

// draftLeaf is a leaf that the version before does not have; others refer to it likewise.
type draftLeaf struct {
	path   poseidon.Digest
	stored ref
}

// share is a range of drafts that one walk fills from its start.
type share struct {
	inners      []draftInner
	leaves      []draftLeaf
	firstInner  int // indices among all drafts
	firstLeaf   int
	innersTaken int
	leavesTaken int
}

// newDrafts makes the drafts of the walk over the parts of ps and of the walk above them, whose share is the last.
func newDrafts(ps *parts) *drafts {
	inners, leaves := ps.above, 0
	for i := range ps.list {
		inners += ps.list[i].inners
		leaves += ps.list[i].leaves
	}
	d := &drafts{inners: make([]draftInner, inners), leaves: make([]draftLeaf, leaves)}
	inners, leaves = 0, 0
	add := func(moreInners, moreLeaves int) {
		s := share{firstInner: inners, firstLeaf: leaves}
		inners += moreInners
		leaves += moreLeaves
		s.inners, s.leaves = d.inners[s.firstInner:inners], d.leaves[s.firstLeaf:leaves]
		d.shares = append(d.shares, s)
	}
	for i := range ps.list {
		add(ps.list[i].inners, ps.list[i].leaves)
	}
	add(ps.above, 0)
	return d
}

// inner adds an inner node that goes over the stored one that is given, unless that is none.
func (s *share) inner(over ref) (ref, *inner) {
	d := &s.inners[s.innersTaken]
	d.stored = over
	r := over
	if r == none {
		r = draftBit | ref(s.firstInner+s.innersTaken)
	}
	s.innersTaken++
	return r, &d.inner
}

// leaf adds a leaf.
func (s *share) leaf(path *poseidon.Digest) ref {
	s.leaves[s.leavesTaken].path = *path
	r := leafBit | draftBit | ref(s.firstLeaf+s.leavesTaken)
	s.leavesTaken++
	return r
}

// store stores all drafts in n.
func (d *drafts) store(n *nodes) {
	for i := range d.shares {
		s := &d.shares[i]
		for j := range s.inners[:s.innersTaken] {
			if draft := &s.inners[j]; draft.stored == none {
				draft.stored = n.newInner()
			}
		}
		for j := range s.leaves[:s.leavesTaken] {
			draft := &s.leaves[j]
			draft.stored = n.newLeaf(&draft.path)
		}
	}
	for i := range d.shares {
		s := &d.shares[i]
		for j := range s.inners[:s.innersTaken] {
			draft := &s.inners[j]
			for side, child := range draft.child {
				draft.child[side] = d.storedRef(child)
			}
			*n.inner(draft.stored) = draft.inner
		}
	}
}

// storedRef is the ref of a node, and for a draft where it was stored.
func (d *drafts) storedRef(r ref) ref {
	switch i := r &^ (leafBit | draftBit); {
	case r&draftBit == 0:
		return r
	case r.isLeaf():
		return d.leaves[i].stored
	default:
		return d.inners[i].stored
	}
}
