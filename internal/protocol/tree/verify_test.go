package tree

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// verifyRoots computes the state root after a block from only the root before it, the accesses of the block (ascending
// by key) and their witness. It verifies that every old value, or absence, was under old, and that changing exactly
// these gives the returned root. It returns an error that wraps ErrWitness, or one of Prepare's about the accesses. The
// node does not need it: the circuit of a block's proof reads the witness. Here it compares Change.Witness with the
// page that describes it.
func verifyRoots(old types.StateRoot, accesses []types.Access, w Witness) (types.StateRoot, error) {
	entries, err := newProven(accesses)
	if err != nil {
		return types.StateRoot{}, err
	}
	before, after, err := verifyWitness(entries, w)
	if err != nil {
		return types.StateRoot{}, err
	}
	if before.Bytes() != old {
		return types.StateRoot{}, fmt.Errorf("%w: it is of another root before the block", ErrWitness)
	}
	return after.Bytes(), nil
}

// proven is an access with the leaves before and after it; zero means none.
type proven struct {
	path          poseidon.Digest
	before, after poseidon.Digest
}

// newProven hashes accesses and sorts them by path.
func newProven(accesses []types.Access) ([]proven, error) {
	keys := make([][]byte, len(accesses))
	values := make([][]byte, 2*len(accesses))
	for i, a := range accesses {
		if i > 0 && bytes.Compare(accesses[i-1].Key, a.Key) >= 0 {
			return nil, fmt.Errorf("tree: access %d: keys do not ascend", i)
		}
		keys[i], values[2*i], values[2*i+1] = a.Key, a.Old, a.New
	}
	hashes := make([]poseidon.Digest, len(values))
	poseidon.HashMany(poseidon.TagValue, hashes, values)
	entries := make([]proven, len(accesses))
	for i, path := range Paths(keys) {
		e := &entries[i]
		e.path = path
		if len(accesses[i].Old) > 0 {
			e.before = leafDigest(path, hashes[2*i])
		}
		if len(accesses[i].New) > 0 {
			e.after = leafDigest(path, hashes[2*i+1])
		}
	}
	slices.SortFunc(entries, func(a, b proven) int { return comparePaths(&a.path, &b.path) })
	for i := 1; i < len(entries); i++ {
		if entries[i].path == entries[i-1].path {
			return nil, fmt.Errorf("%w: %x", ErrPathCollision, entries[i].path.Bytes())
		}
	}
	return entries, nil
}

// verifyWitness computes the roots before and after.
func verifyWitness(entries []proven, w Witness) (before, after poseidon.Digest, err error) {
	for i := range w.Digests {
		if !w.Digests[i].IsCanonical() {
			return before, after, fmt.Errorf("%w: digest %d: %w", ErrWitness, i, poseidon.ErrNotCanonical)
		}
	}
	v := verifier{shapes: w.Shapes, digests: w.Digests}
	var was, is outline
	if len(entries) == 0 {
		was = v.untouched(nil, 0, false)
		is = was
	} else {
		was, is = v.touched(entries, 0)
	}
	if v.err == nil && len(v.shapes)+len(v.digests) > 0 {
		v.fail("%d shapes and %d digests too many", len(v.shapes), len(v.digests))
	}
	return was.digest, is.digest, v.err
}

// outline is a subtree before or after the block.
type outline struct {
	kind     outlineKind
	digest   poseidon.Digest
	vanished bool // after: there are leaves before, and none after some of the accesses, in the order of paths
}

type outlineKind uint8

const (
	outlineEmpty  outlineKind = iota
	outlineLeaf               // one leaf
	outlineNode               // more leaves
	outlineOpaque             // at least one leaf
)

// verifier reads a witness. After an error, its results have no meaning.
type verifier struct {
	shapes  []Shape
	digests []poseidon.Digest
	err     error
}

func (v *verifier) fail(format string, args ...any) {
	if v.err == nil {
		v.err = fmt.Errorf("%w: "+format, append([]any{ErrWitness}, args...)...)
	}
}

// shape takes the next shape.
func (v *verifier) shape() Shape {
	if len(v.shapes) == 0 {
		v.fail("too few shapes")
		return ShapeEmpty
	}
	s := v.shapes[0]
	v.shapes = v.shapes[1:]
	return s
}

// digest takes the next digest.
func (v *verifier) digest() (d poseidon.Digest) {
	if len(v.digests) == 0 {
		v.fail("too few digests")
		return d
	}
	d, v.digests = v.digests[0], v.digests[1:]
	return d
}

// touched computes the subtree at depth pos before and after the block, with all of entries below it; there is at least
// one.
func (v *verifier) touched(entries []proven, pos int) (before, after outline) {
	had := 0
	for i := range entries {
		if !entries[i].before.IsZero() {
			had++
			before = outline{kind: outlineLeaf, digest: entries[i].before}
		}
	}
	switch shape := v.shape(); {
	case v.err != nil:
		return outline{}, outline{}
	case shape == ShapeEmpty && had == 0, shape == ShapeOwn && had == 1:
		after = build(entries, pos)
		after.vanished = vanish(entries)
		return before, after
	case shape == ShapeOther && had == 0:
		path, valueHash := v.digest(), v.digest()
		leaf := leafDigest(path, valueHash)
		i, found := slices.BinarySearchFunc(entries, path, func(e proven, p poseidon.Digest) int {
			return comparePaths(&e.path, &p)
		})
		if found || commonBits(&path, &entries[0].path) < pos {
			v.fail("another leaf at depth %d has an access' path or does not belong there", pos)
		}
		if v.err != nil {
			return outline{}, outline{}
		}
		all := slices.Insert(slices.Clone(entries), i, proven{path: path, before: leaf, after: leaf})
		return outline{kind: outlineLeaf, digest: leaf}, build(all, pos)
	case shape == ShapeBranch && pos < pathBits:
		return v.branch(entries, pos)
	default:
		v.fail("shape %d at depth %d above %d accesses, %d of which have an old value", shape, pos, len(entries), had)
		return outline{}, outline{}
	}
}

// branch is touched for a position with more than one leaf before the block.
func (v *verifier) branch(entries []proven, pos int) (before, after outline) {
	var was, is [2]outline
	i := sort.Search(len(entries), func(i int) bool { return bit(&entries[i].path, pos) == 1 })
	halves := [2][]proven{entries[:i], entries[i:]}
	for i, half := range halves {
		if len(half) > 0 {
			was[i], is[i] = v.touched(half, pos+1)
		}
	}
	for i, half := range halves {
		if len(half) == 0 {
			was[i] = v.untouched(halves[1-i], pos, is[1-i].vanished)
			is[i] = was[i]
			if was[1-i].kind == outlineEmpty && was[i].kind == outlineOpaque {
				is[i].kind = outlineNode // a leaf would be higher up
			}
		}
	}
	if v.err != nil {
		return outline{}, outline{}
	}
	for i := range was {
		if was[i].kind == outlineEmpty && was[1-i].kind <= outlineLeaf {
			v.fail("less than two leaves below depth %d", pos)
		}
	}
	before, after = outline{kind: outlineNode, digest: nodeDigest(was[0].digest, was[1].digest)}, join(is)
	after.vanished = was[1].kind == outlineEmpty && is[0].vanished || is[0].kind == outlineEmpty && is[1].vanished
	return before, after
}

// vanish reports whether entries, at most one of which has a leaf before, have one before and none after some of them.
func vanish(entries []proven) bool {
	for i := range entries {
		if e := &entries[i]; !e.after.IsZero() {
			return false
		} else if !e.before.IsZero() {
			return true
		}
	}
	return false
}

// untouched reads the half without accesses of the position at depth pos. The other half has the entries of sibling.
func (v *verifier) untouched(sibling []proven, pos int, open bool) outline {
	switch shape := v.shape(); {
	case v.err != nil:
		return outline{}
	case shape == ShapeEmpty:
		return outline{}
	case shape == ShapeDigest && !open:
		d := v.digest()
		if d.IsZero() {
			v.fail("an empty subtree given as a digest")
		}
		return outline{kind: outlineOpaque, digest: d}
	case shape == ShapeOther && open:
		path, valueHash := v.digest(), v.digest()
		if commonBits(&path, &sibling[0].path) != pos {
			v.fail("a leaf beside depth %d does not belong there", pos)
		}
		return outline{kind: outlineLeaf, digest: leafDigest(path, valueHash)}
	case shape == ShapeNode && open:
		left, right := v.digest(), v.digest()
		return outline{kind: outlineNode, digest: nodeDigest(left, right)}
	default:
		v.fail("shape %d beside depth %d", shape, pos)
		return outline{}
	}
}

// join returns the subtree of two halves. If one half is empty, the other is never opaque: see branch.
func join(halves [2]outline) outline {
	for i := range halves {
		if only := halves[1-i]; halves[i].kind == outlineEmpty && only.kind <= outlineLeaf {
			return only
		}
	}
	return outline{kind: outlineNode, digest: nodeDigest(halves[0].digest, halves[1].digest)}
}

// build returns the subtree at depth pos with the leaves of entries after the block, by the definition.
func build(entries []proven, pos int) outline {
	var only poseidon.Digest
	n := 0
	for i := range entries {
		if !entries[i].after.IsZero() {
			n++
			only = entries[i].after
		}
	}
	if n <= 1 {
		return outline{kind: outlineKind(n), digest: only}
	}
	i := sort.Search(len(entries), func(i int) bool { return bit(&entries[i].path, pos) == 1 })
	left, right := build(entries[:i], pos+1), build(entries[i:], pos+1)
	return outline{kind: outlineNode, digest: nodeDigest(left.digest, right.digest)}
}
