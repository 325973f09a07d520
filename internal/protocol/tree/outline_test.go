package tree

import (
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// outlined returns the tree of a state from its outline at a depth. Its leaves come from *now.
func outlined(t *testing.T, whole *Tree, depth int, now *model) *Tree {
	t.Helper()
	outline := whole.Outline(depth)
	if len(outline) != 1<<depth {
		t.Fatalf("the outline has %d digests", len(outline))
	}
	of := Outlined(outline, whole.Len(), func(part int, buffer []Leaf) ([]Leaf, error) {
		for path, valueHash := range *now {
			if partOf(&path, depth) == part {
				buffer = append(buffer, Leaf{path, leafDigest(path, valueHash)})
			}
		}
		slices.SortFunc(buffer, func(a, b Leaf) int { return comparePaths(&a.Path, &b.Path) })
		return buffer, nil
	})
	if of.Whole() || of.Root() != whole.Root() || of.Len() != whole.Len() {
		t.Fatalf("root %x of %d leaves, want %x of %d", of.Root(), of.Len(), whole.Root(), whole.Len())
	}
	return of
}

func randomModel(r *rand.Rand, size int) model {
	m := model{}
	for range size {
		m[randomDigest(r)] = randomDigest(r)
	}
	return m
}

// TestOutline makes the same changes to a tree and to one that loads its parts as they are needed, some of them between
// the preparation of a change and its commit. Changes with many deletions empty parts.
func TestOutline(t *testing.T) {
	for seed := range uint64(50) {
		r := newRand(seed)
		depth, size := 3, 150
		if seed%10 == 9 {
			depth, size = 8, 2500
		}
		m := randomModel(r, size)
		whole := m.tree(t)
		parts := outlined(t, whole, depth, &m)
		for round := range 12 {
			items := randomItems(r, m, 1+r.IntN(3))
			if seed%3 == 0 && round > 2 {
				for _, path := range m.paths()[:len(m)/3] {
					if !slices.ContainsFunc(items, func(it item) bool { return it.path == path }) {
						items = append(items, m.remove(path))
					}
				}
			}
			want, err := whole.prepare(slices.Clone(items), forwards)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parts.prepare(items, workers)
			if err != nil {
				t.Fatalf("seed %d, round %d: error %v", seed, round, err)
			}
			if r.IntN(2) == 0 {
				if err := parts.LoadMore(1, forwards); err != nil {
					t.Fatal(err)
				}
			}
			wantWitness, err := want.Witness(m.valueHash)
			if err != nil {
				t.Fatal(err)
			}
			if w, err := got.Witness(m.valueHash); err != nil || !reflect.DeepEqual(w, wantWitness) {
				t.Fatalf("seed %d, round %d: another witness, error %v", seed, round, err)
			}
			whole.Commit(want, forwards)
			parts.Commit(got, workers)
			m = m.apply(items)
			if parts.Root() != whole.Root() || parts.Len() != whole.Len() {
				t.Fatalf("seed %d, round %d: %d leaves, want %d", seed, round, parts.Len(), whole.Len())
			}
			if !slices.Equal(parts.Outline(depth), whole.Outline(depth)) {
				t.Fatalf("seed %d, round %d: another outline", seed, round)
			}
		}
		if err := parts.LoadMore(1<<depth, workers); err != nil || !parts.Whole() {
			t.Fatalf("seed %d: whole %t, error %v", seed, parts.Whole(), err)
		}
		checkNodes(t, parts)
	}
}

// TestOutlineEmptyPart fills a part that the outline has as empty, and empties it again. At a depth of 7, the last part
// has only the paths that begin with the greatest element.
func TestOutlineEmptyPart(t *testing.T) {
	const depth = 7
	r := newRand(3)
	m := randomModel(r, 1500)
	whole := m.tree(t)
	parts := outlined(t, whole, depth, &m)
	path := randomDigest(r)
	path[0] = poseidon.P - 1
	for _, next := range []func() item{func() item { return m.write(path, path) }, func() item { return m.remove(path) }} {
		items := []item{next()}
		c, err := parts.prepare(slices.Clone(items), forwards)
		if err != nil {
			t.Fatal(err)
		}
		parts.Commit(c, forwards)
		m = m.apply(items)
		if want := m.tree(t); parts.Root() != want.Root() {
			t.Fatalf("root %x of %d leaves, want %x", parts.Root(), parts.Len(), want.Root())
		}
		w, err := c.Witness(m.valueHash)
		if err != nil {
			t.Fatal(err)
		}
		if _, after, err := verifyWitness(m.proven(items), w); err != nil || after != parts.current.digest {
			t.Errorf("the witness leads to %v, want %v, error %v", after, parts.current.digest, err)
		}
	}
}

// TestOutlineShowsDamage changes leaves after the outline was taken.
func TestOutlineShowsDamage(t *testing.T) {
	const depth = 3
	r := newRand(1)
	for name, damage := range map[string]func(m model, path poseidon.Digest){
		"another value": func(m model, path poseidon.Digest) { m[path] = randomDigest(r) },
		"a lost leaf":   func(m model, path poseidon.Digest) { delete(m, path) },
		"another leaf":  func(m model, path poseidon.Digest) { m[neighbour(r, path, pathBits-40)] = m[path] },
	} {
		m := randomModel(r, 100)
		parts, sound, path := outlined(t, m.tree(t), depth, &m), maps.Clone(m), m.paths()[50]
		damage(m, path)
		if _, err := parts.prepare([]item{sound.read(path)}, forwards); !errors.Is(err, ErrOutline) {
			t.Errorf("%s: a change in its part: error %v, want %v", name, err, ErrOutline)
		}
		if err := parts.LoadMore(1<<depth, forwards); !errors.Is(err, ErrOutline) {
			t.Errorf("%s: loading all: error %v, want %v", name, err, ErrOutline)
		}
	}
	m := randomModel(r, 100)
	parts := outlined(t, m.tree(t), depth, &m)
	parts.current.leaves++
	if err := parts.LoadMore(1<<depth, forwards); !errors.Is(err, ErrOutline) {
		t.Errorf("another number of leaves: error %v, want %v", err, ErrOutline)
	}
}

// TestNoOutline asks for outlines of trees that have leaves in one part only.
func TestNoOutline(t *testing.T) {
	r := newRand(2)
	path := randomDigest(r)
	for _, m := range []model{{}, {path: path}, {path: path, neighbour(r, path, 40): path}} {
		if outline := m.tree(t).Outline(8); outline != nil {
			t.Errorf("a tree of %d leaves has the outline %v", len(m), outline)
		}
	}
}
