package tree

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// ErrUnopened is returned if no witness opens a subtree that the joined witness has to open. This happens if the
// union's accesses, in the order of paths, leave nothing beside that subtree at some point, although no single list
// does.
var ErrUnopened = errors.New("tree: the witnesses do not open a subtree")

// JoinWitnesses returns the witness of the union of consecutive lists of accesses, in the tree before the first list.
// Each list has its own witness, in the tree before it. Parts that no list touches are the same in all these trees, so
// the witnesses together show everything that the union's witness needs, except in the case of [ErrUnopened]. It
// returns [ErrWitness] if the witnesses do not fit together. A false witness that fits leads to another root.
func JoinWitnesses(union []types.Access, lists [][]types.Access, witnesses []Witness) (Witness, error) {
	j := &joiner{others: make(map[poseidon.Digest]poseidon.Digest), cells: make(map[place]cell)}
	keys, byKey := make([][]byte, len(union)), make(map[string]poseidon.Digest, len(union))
	for i := range union {
		keys[i] = union[i].Key
	}
	j.touched = make([]touch, len(union))
	for i, path := range Paths(keys) {
		j.touched[i] = touch{path, len(union[i].Old) > 0, len(union[i].New) > 0}
		byKey[string(keys[i])] = path
	}
	slices.SortFunc(j.touched, func(a, b touch) int { return comparePaths(&a.path, &b.path) })
	if len(lists) != len(witnesses) {
		return Witness{}, fmt.Errorf("%w: %d witnesses for %d lists", ErrWitness, len(witnesses), len(lists))
	}
	for i, list := range lists {
		paths := make([]poseidon.Digest, len(list))
		for k := range list {
			path, found := byKey[string(list[k].Key)]
			if !found {
				return Witness{}, fmt.Errorf("%w: the union lacks a key", ErrWitness)
			}
			paths[k] = path
		}
		slices.SortFunc(paths, func(a, b poseidon.Digest) int { return comparePaths(&a, &b) })
		if err := j.read(witnesses[i], paths); err != nil {
			return Witness{}, fmt.Errorf("witness %d: %w", i, err)
		}
	}
	var joined Witness
	if len(union) == 0 {
		return joined, j.beside(&joined, j.things(), 0, false)
	}
	return joined, j.walk(&joined, j.touched, j.things(), 0)
}

// touch is an access of the union.
type touch struct {
	path     poseidon.Digest
	had, has bool // it had a value before; it has one after
}

// place is a position in the tree: a level and the path's bits above it.
type place struct {
	level  int
	prefix poseidon.Digest
}

// cell is a subtree that a list does not touch.
type cell struct {
	digest poseidon.Digest
	halves *[2]poseidon.Digest // set if a witness opens the subtree; the digest is zero then
}

// joiner collects the data that witnesses contain in addition to the accesses.
type joiner struct {
	touched []touch                             // ascending by path
	others  map[poseidon.Digest]poseidon.Digest // value hashes, by path, of leaves that a list does not touch
	cells   map[place]cell
}

// read reads the witness of accesses with the given paths, which ascend.
func (j *joiner) read(w Witness, paths []poseidon.Digest) error {
	r := witnessReader{w}
	var err error
	if len(paths) == 0 {
		err = j.readBeside(&r, place{})
	} else {
		err = j.readTouched(&r, paths, 0)
	}
	if err == nil && len(r.rest.Shapes)+len(r.rest.Digests) > 0 {
		err = fmt.Errorf("%w: shapes or digests are left over", ErrWitness)
	}
	return err
}

func (j *joiner) readTouched(r *witnessReader, paths []poseidon.Digest, level int) error {
	shape, err := r.shape()
	switch {
	case err != nil || shape == ShapeEmpty || shape == ShapeOwn:
		return err
	case shape == ShapeOther:
		return j.readOther(r)
	case shape != ShapeBranch || level == pathBits:
		return fmt.Errorf("%w: shape %d at level %d", ErrWitness, shape, level)
	}
	halves := halvePaths(paths, level)
	for _, half := range halves {
		if len(half) > 0 {
			if err := j.readTouched(r, half, level+1); err != nil {
				return err
			}
		}
	}
	for side, half := range halves {
		if len(half) == 0 {
			if err := j.readBeside(r, placeBelow(&paths[0], level, side)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *joiner) readOther(r *witnessReader) error {
	path, err := r.digest()
	if err != nil {
		return err
	}
	j.others[path], err = r.digest()
	return err
}

// readBeside reads the content of a position that the accesses do not touch.
func (j *joiner) readBeside(r *witnessReader, at place) error {
	shape, err := r.shape()
	switch {
	case err != nil || shape == ShapeEmpty:
		return err
	case shape == ShapeOther:
		return j.readOther(r)
	case shape != ShapeDigest && shape != ShapeNode:
		return fmt.Errorf("%w: shape %d next to the accesses", ErrWitness, shape)
	}
	first, err := r.digest()
	if err != nil {
		return err
	}
	if shape == ShapeNode {
		second, err := r.digest()
		j.cells[at] = cell{halves: &[2]poseidon.Digest{first, second}}
		return err
	}
	if _, known := j.cells[at]; !known { // a witness may have opened it
		j.cells[at] = cell{digest: first}
	}
	return nil
}

// placeBelow returns the child on the given side of path's position at level.
func placeBelow(path *poseidon.Digest, level, side int) place {
	var p poseidon.Digest
	full := level / elementBits
	copy(p[:full], path[:full])
	rest := elementBits - level%elementBits
	p[full] = path[full]>>rest<<rest | uint32(side)<<(rest-1)
	return place{level + 1, p}
}

// halvePaths splits paths, which ascend, by the bit at level.
func halvePaths(paths []poseidon.Digest, level int) [2][]poseidon.Digest {
	i := sort.Search(len(paths), func(i int) bool { return bit(&paths[i], level) == 1 })
	return [2][]poseidon.Digest{paths[:i], paths[i:]}
}

// thing is a part of the tree before the accesses: a leaf, or a subtree that no list touches.
type thing struct {
	place          // a leaf's place has its whole path
	own, leaf bool // leaf: it is a leaf; own: it is the leaf of an access
	valueHash poseidon.Digest
	untouched cell
}

// things returns the contents of the tree, ascending and disjoint.
func (j *joiner) things() []thing {
	var all []thing
	for at, c := range j.cells {
		i := j.search(&at.prefix)
		if i == len(j.touched) || commonBits(&at.prefix, &j.touched[i].path) < at.level {
			all = append(all, thing{place: at, untouched: c})
		}
	}
	for path, hash := range j.others {
		if i := j.search(&path); i == len(j.touched) || j.touched[i].path != path {
			all = append(all, thing{place: place{pathBits, path}, leaf: true, valueHash: hash})
		}
	}
	for i := range j.touched {
		if t := &j.touched[i]; t.had {
			all = append(all, thing{place: place{pathBits, t.path}, own: true, leaf: true})
		}
	}
	slices.SortFunc(all, func(a, b thing) int {
		if c := comparePaths(&a.prefix, &b.prefix); c != 0 {
			return c
		}
		return a.level - b.level
	})
	apart := all[:0]
	for i := range all { // a leaf from one witness may be the whole of a subtree from another
		if i+1 < len(all) && !all[i].leaf && commonBits(&all[i].prefix, &all[i+1].prefix) >= all[i].level {
			continue
		}
		apart = append(apart, all[i])
	}
	return apart
}

// search returns the index of the first access whose path is not less than path.
func (j *joiner) search(path *poseidon.Digest) int {
	return sort.Search(len(j.touched), func(i int) bool { return comparePaths(&j.touched[i].path, path) >= 0 })
}

// walk adds the content of a position at level that has all of touched and things below it.
func (j *joiner) walk(w *Witness, touched []touch, things []thing, level int) error {
	switch {
	case len(things) == 0:
		w.Shapes = append(w.Shapes, ShapeEmpty)
		return nil
	case len(things) == 1 && things[0].own:
		w.Shapes = append(w.Shapes, ShapeOwn)
		return nil
	case len(things) == 1 && things[0].leaf:
		w.other(&things[0])
		return nil
	case level == pathBits:
		return fmt.Errorf("%w: two leaves have the same path", ErrWitness)
	}
	w.Shapes = append(w.Shapes, ShapeBranch)
	i := sort.Search(len(touched), func(i int) bool { return bit(&touched[i].path, level) == 1 })
	k := sort.Search(len(things), func(i int) bool { return bit(&things[i].prefix, level) == 1 })
	touches, stands := [2][]touch{touched[:i], touched[i:]}, [2][]thing{things[:k], things[k:]}
	for side := range 2 {
		if len(touches[side]) > 0 {
			if err := j.walk(w, touches[side], stands[side], level+1); err != nil {
				return err
			}
		}
	}
	for side := range 2 {
		if len(touches[side]) == 0 {
			open := vanishes(touches[1-side], stands[1-side])
			if err := j.beside(w, stands[side], level+1, open); err != nil {
				return err
			}
		}
	}
	return nil
}

// vanishes reports whether a half has leaves before the accesses and none after some of them.
func vanishes(touched []touch, things []thing) bool {
	for i := range things {
		if !things[i].own {
			return false
		}
	}
	left := len(things)
	if left == 0 {
		return false
	}
	for _, t := range touched {
		if left += present(t.has) - present(t.had); left == 0 {
			return true
		}
	}
	return false
}

// other adds a leaf whose path no access has.
func (w *Witness) other(leaf *thing) {
	w.Shapes, w.Digests = append(w.Shapes, ShapeOther), append(w.Digests, leaf.prefix, leaf.valueHash)
}

// beside adds the content of a position at level that no access touches.
func (j *joiner) beside(w *Witness, things []thing, level int, open bool) error {
	if len(things) == 0 {
		w.Shapes = append(w.Shapes, ShapeEmpty)
		return nil
	}
	t := &things[0]
	switch {
	case len(things) > 1 || !t.leaf && t.level != level:
		return fmt.Errorf("%w: no witness shows the node at level %d", ErrWitness, level)
	case t.leaf && open:
		w.other(t)
		return nil
	case t.leaf:
		w.Shapes = append(w.Shapes, ShapeDigest)
		w.Digests = append(w.Digests, leafDigest(t.prefix, t.valueHash))
		return nil
	case open && t.untouched.halves == nil:
		return ErrUnopened
	case open:
		w.Shapes, w.Digests = append(w.Shapes, ShapeNode), append(w.Digests, t.untouched.halves[:]...)
		return nil
	}
	digest := t.untouched.digest
	if halves := t.untouched.halves; halves != nil {
		digest = nodeDigest(halves[0], halves[1])
	}
	w.Shapes, w.Digests = append(w.Shapes, ShapeDigest), append(w.Digests, digest)
	return nil
}
