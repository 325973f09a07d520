package tree

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// randomRanges draws a tree with leaves both far from and close to each other, cut into ranges.
func randomRanges(r *rand.Rand, size int) (m model, ranges [][]Leaf) {
	m = model{randomDigest(r): randomDigest(r)}.apply(randomItems(r, model{}, size))
	for _, p := range slices.Collect(maps.Keys(m)) {
		if r.IntN(4) == 0 {
			m[neighbour(r, p, r.IntN(pathBits))] = randomDigest(r)
		}
	}
	var leaves []Leaf
	for _, p := range m.paths() {
		leaves = append(leaves, Leaf{Path: p, Digest: leafDigest(p, m[p])})
	}
	for len(leaves) > 0 {
		n := 1 + r.IntN(min(len(leaves), 1+size/3))
		ranges, leaves = append(ranges, leaves[:n:n]), leaves[n:]
	}
	return m, ranges
}

// provenRange is a range with the data given to its reader: the last leaf before it, if any, is among its leaves.
type provenRange struct {
	left, right []Sibling
	leaves      []Leaf
}

func (p provenRange) root() (types.StateRoot, error) {
	return RangeRoot(p.left, p.leaves, p.right, goroutines)
}

func cutAll(t *testing.T, ranges [][]Leaf) (types.StateRoot, []provenRange) {
	t.Helper()
	var c Cutter
	for _, leaves := range ranges {
		if err := c.Add(leaves, goroutines); err != nil {
			t.Fatal(err)
		}
	}
	root, cuts, err := c.Finish(goroutines)
	if err != nil || len(cuts) != len(ranges) {
		t.Fatalf("%d cuts of %d ranges, error %v", len(cuts), len(ranges), err)
	}
	all := make([]provenRange, len(ranges))
	for i, leaves := range ranges {
		all[i] = provenRange{right: cuts[i].Right, leaves: leaves}
		if i > 0 {
			before := ranges[i-1]
			all[i].left = cuts[i-1].Left
			all[i].leaves = append([]Leaf{before[len(before)-1]}, leaves...)
		}
	}
	return root, all
}

// Every range alone leads to the root, however the leaves are cut. The first range has no neighbour on its left, and
// the last none on its right.
func TestRanges(t *testing.T) {
	for seed := range uint64(60) {
		r := newRand(seed)
		m, ranges := randomRanges(r, 1+r.IntN(60))
		root, all := cutAll(t, ranges)
		if want := m.root().Bytes(); root != want {
			t.Fatalf("seed %d: the cutter has the root %s, the model %x", seed, root, want)
		}
		for i, p := range all {
			if got, err := p.root(); err != nil || got != root {
				t.Fatalf("seed %d: range %d of %d has the root %s, want %s, error %v",
					seed, i, len(all), got, root, err)
			}
		}
		if len(all[0].left) > 0 || len(all[len(all)-1].right) > 0 {
			t.Fatalf("seed %d: siblings beyond the ends", seed)
		}
	}
}

// A range that is incomplete, or not of this tree, leads to another root.
func TestRangesRefuse(t *testing.T) {
	for seed := range uint64(60) {
		r := newRand(1000 + seed)
		_, ranges := randomRanges(r, 2+r.IntN(40))
		root, all := cutAll(t, ranges)
		p := all[r.IntN(len(all))]
		i := r.IntN(len(p.leaves))
		for name, corrupt := range map[string]func(p *provenRange){
			"a leaf left out": func(p *provenRange) { p.leaves = slices.Delete(p.leaves, i, i+1) },
			"a leaf too many": func(p *provenRange) {
				extra := Leaf{neighbour(r, p.leaves[i].Path, r.IntN(pathBits)), randomDigest(r)}
				at, found := slices.BinarySearchFunc(p.leaves, extra, func(a, b Leaf) int { return comparePaths(&a.Path, &b.Path) })
				if !found {
					p.leaves = slices.Insert(p.leaves, at, extra)
				} else {
					p.leaves[at].Digest[0] ^= 1
				}
			},
			"another leaf": func(p *provenRange) { p.leaves[i].Digest = randomDigest(r) },
			"a sibling left out": func(p *provenRange) {
				p.left, p.right = p.left[:0], p.right[:0]
				p.leaves = p.leaves[i : i+1]
			},
			"another left sibling": func(p *provenRange) { p.left = changeOne(r, p.left) },
			"another sibling":      func(p *provenRange) { p.right = changeOne(r, p.right) },
		} {
			bad := provenRange{slices.Clone(p.left), slices.Clone(p.right), slices.Clone(p.leaves)}
			corrupt(&bad)
			if slices.Equal(bad.left, p.left) && slices.Equal(bad.right, p.right) && slices.Equal(bad.leaves, p.leaves) {
				continue // there was nothing of this kind
			}
			if got, err := bad.root(); err == nil && got == root {
				t.Fatalf("seed %d: %s: still the root", seed, name)
			}
		}
	}
}

func changeOne(r *rand.Rand, siblings []Sibling) []Sibling {
	if len(siblings) > 0 {
		siblings[r.IntN(len(siblings))].Digest = randomDigest(r)
	}
	return siblings
}

func TestSiblingsThatCannotBe(t *testing.T) {
	path := poseidon.Digest{1 << 30} // the first bit is 1, the others 0
	leaves := []Leaf{{Path: path, Digest: poseidon.Digest{7}}}
	digest := poseidon.Digest{8}
	for name, p := range map[string]provenRange{
		"no leaves":                {},
		"a negative depth":         {leaves: leaves, left: []Sibling{{-1, digest}}},
		"a depth over the longest": {leaves: leaves, right: []Sibling{{pathBits, digest}}},
		"on the way itself":        {leaves: leaves, right: []Sibling{{0, digest}}},
		"on the way itself, left":  {leaves: leaves, left: []Sibling{{1, digest}}},
		"an empty one":             {leaves: leaves, left: []Sibling{{0, poseidon.Digest{}}}},
		"one twice":                {leaves: leaves, right: []Sibling{{1, digest}, {1, digest}}},
		"descending":               {leaves: leaves, right: []Sibling{{2, digest}, {1, digest}}},
	} {
		if _, err := p.root(); !errors.Is(err, ErrRange) {
			t.Errorf("%s: error %v, want %v", name, err, ErrRange)
		}
	}
	if _, err := (provenRange{leaves: leaves, right: []Sibling{{1, poseidon.Digest{poseidon.P}}}}).root(); !errors.Is(
		err, poseidon.ErrNotCanonical,
	) {
		t.Errorf("a digest that is none: error %v", err)
	}
	if _, err := (provenRange{leaves: []Leaf{leaves[0], leaves[0]}}).root(); !errors.Is(err, ErrOrder) {
		t.Errorf("a leaf twice: error %v, want %v", err, ErrOrder)
	}
	var c Cutter
	if err := c.Add(nil, goroutines); !errors.Is(err, ErrRange) {
		t.Errorf("an empty range: error %v, want %v", err, ErrRange)
	}
}
