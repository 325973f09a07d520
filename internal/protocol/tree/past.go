package tree

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// Past is another version of a tree, defined by accesses that lead to it from the current version, for proofs only.
// With accesses that undo blocks it is an earlier version. A Past is created without the tree; [Past.Prove] needs the
// tree in the intended version.
type Past struct {
	items []item // ascending by path
}

// NewPast hashes accesses that lead from a tree's current version to another version. They may be in any order. It
// returns ErrDuplicateKey and ErrPathCollision.
func NewPast(accesses []types.Access, parallel Parallel) (Past, error) {
	items, err := sorted(newItems(accesses, parallel))
	return Past{items}, err
}

// Prove returns the proof of key's value, or of its absence, in the past version of t. It calls valueHashes for at most
// one leaf, which belongs to another key that the accesses do not write, and returns its error. Other errors are those
// that [Tree.Prepare] returns.
//
// Siblings on the way from the root to the key are recomputed if they contain accesses, all in parallel. The cost
// depends on the accesses, as with Prepare.
func (p Past) Prove(t *Tree, key []byte, valueHashes ValueHashes, parallel Parallel) (MerkleProof, error) {
	path := Path(key)
	proof, err := p.prove(t, &path, parallel)
	if err != nil {
		return MerkleProof{}, err
	}
	return proof.withValueHash(func(other poseidon.Digest) (poseidon.Digest, error) {
		i, found := slices.BinarySearchFunc(p.items, other, func(it item, path poseidon.Digest) int {
			return comparePaths(&it.path, &path)
		})
		if found && p.items[i].changed {
			return p.items[i].valueHash, nil
		}
		return valueHashes(other)
	})
}

// prove is [Past.Prove] without the value hash of another leaf.
func (p Past) prove(t *Tree, path *poseidon.Digest, parallel Parallel) (MerkleProof, error) {
	n := &t.nodes
	on, items := subtree{node: t.current.root, digest: t.current.digest}, slices.Clone(p.items)
	var beside []part // siblings on the way; the i-th is at depth i+1
	for pos := 0; len(items) > 0 && on.node != none && !on.node.isLeaf(); pos++ {
		children, halves := n.halves(&on, pos), halve(items, pos)
		side := bit(path, pos)
		beside = append(beside, part{old: children[1-side], pos: pos + 1, items: halves[1-side]})
		on, items = children[side], halves[side]
	}
	inPieces(len(beside), 1, parallel, func(i, _ int) { beside[i].prepareIfTouched(n) })
	for i := range beside {
		if it := beside[i].wrong; it != nil {
			return MerkleProof{}, fmt.Errorf("%w: key %x, value before: %t", ErrMismatch, it.key, it.before)
		}
	}
	b := builder{nodes: n}
	siblings := make([]poseidon.Digest, len(beside), pathBits)
	for i := range beside {
		b.attach(&siblings[i], i+1, &beside[i].now)
	}
	run(b.climbs, parallel)
	var proof MerkleProof
	if len(items) == 0 {
		proof = n.prove(on.node, siblings, path)
	} else {
		last := part{old: on, pos: len(beside), items: items}
		if last.survey(n); last.wrong != nil {
			return MerkleProof{}, fmt.Errorf("%w: key %x, value before: %t", ErrMismatch, last.wrong.key, last.wrong.before)
		}
		proof = proveAmong(n.leavesAfter(&on, items), siblings, path)
	}
	return proof.lifted(n, beside), nil
}

// prepareIfTouched is prepare for a part that may have no items.
func (p *part) prepareIfTouched(n *nodes) {
	if p.now = p.old; len(p.items) > 0 {
		p.prepare(n)
	}
}

// halves returns the halves of s, which is at depth pos and is neither a leaf nor empty.
func (n *nodes) halves(s *subtree, pos int) (children [2]subtree) {
	if in := n.inner(s.node); int(in.depth) == pos {
		return in.children()
	}
	children[bit(n.someLeaf(s.node), pos)] = *s // the rest of a chain
	return children
}

// leavesAfter returns the leaves that remain of s, a leaf or empty, after items, which are sorted; ascending by path.
func (n *nodes) leavesAfter(s *subtree, items []item) []entry {
	var entries []entry
	if s.node != none {
		if path := n.leaf(s.node); !containsPath(items, path) {
			entries = append(entries, entry{path: path, leaf: s.digest})
		}
	}
	for i := range items {
		switch it := &items[i]; {
		case it.after && it.changed:
			entries = append(entries, entry{path: &it.path, leaf: it.leaf})
		case it.after: // a read of s's own leaf
			entries = append(entries, entry{path: &it.path, leaf: s.digest})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return comparePaths(a.path, b.path) })
	return entries
}

// proveAmong completes a proof for path in a subtree below siblings that consists of exactly these leaves.
func proveAmong(entries []entry, siblings []poseidon.Digest, path *poseidon.Digest) MerkleProof {
	p := MerkleProof{Siblings: siblings}
	for len(entries) > 1 {
		depth := len(p.Siblings)
		halves := halvesOf(entries, depth)
		side := bit(path, depth)
		p.Siblings = append(p.Siblings, rootOf(halves[1-side], depth+1))
		entries = halves[side]
	}
	if len(entries) == 1 {
		p.End = endOf(entries[0].path, path)
	}
	return p
}

// rootOf returns the digest, by definition, of the subtree at depth pos that consists of exactly these leaves.
func rootOf(entries []entry, pos int) poseidon.Digest {
	switch len(entries) {
	case 0:
		return poseidon.Digest{}
	case 1:
		return entries[0].leaf
	}
	halves := halvesOf(entries, pos)
	return nodeDigest(rootOf(halves[0], pos+1), rootOf(halves[1], pos+1))
}

// halvesOf splits leaves, ascending by path, by the bit at depth pos.
func halvesOf(entries []entry, pos int) [2][]entry {
	i, _ := slices.BinarySearchFunc(entries, 1, func(e entry, b int) int { return bit(e.path, pos) - b })
	return [2][]entry{entries[:i], entries[i:]}
}

// lifted removes the deepest siblings as long as they and the end hold at most one leaf in total. That leaf then hangs
// higher.
func (p MerkleProof) lifted(n *nodes, beside []part) MerkleProof {
	for i := len(p.Siblings) - 1; i >= 0 && len(p.Siblings) <= len(beside); i-- {
		switch now := beside[i].now.node; {
		case now == none:
		case now.isLeaf() && p.End.Kind == EndEmpty:
			p.End = End{Kind: EndOther, Path: *beside[i].leafPath(n, now)}
		default:
			return p
		}
		p.Siblings = p.Siblings[:i]
	}
	return p
}

// leafPath returns the path of a leaf of the part's next version.
func (p *part) leafPath(n *nodes, leaf ref) *poseidon.Digest {
	if leaf&draftBit != 0 {
		return &p.walker.drafts.leaves[leaf&^(leafBit|draftBit)].path
	}
	return n.leaf(leaf)
}
