package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// block is a set of accounts, a block's accesses of all kinds to them, and its witness.
type block struct {
	tree     *Tree // before
	old, new types.StateRoot
	accesses []types.Access
	witness  Witness
}

// newBlock makes a block over n accounts; salt varies it.
func newBlock(tb testing.TB, n, salt int) block {
	tb.Helper()
	m := model{}
	var accesses []types.Access
	for i := range n + n/2 + 1 {
		a := types.Access{Key: accountKey(1000*salt + i)}
		if i < n {
			a.Old = []byte{1, byte(i)}
			m[Path(a.Key)] = poseidon.Hash(poseidon.TagValue, a.Old)
		}
		switch (i + salt) % 5 {
		case 0:
			a.New = a.Old
		case 1:
			a.New = []byte{2, byte(i)}
		case 2:
		default:
			continue
		}
		accesses = append(accesses, a)
	}
	slices.SortFunc(accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	tr := m.tree(tb)
	c, err := tr.Prepare(accesses, forwards)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := c.Witness(m.valueHash)
	if err != nil {
		tb.Fatal(err)
	}
	return block{tr, tr.Root(), c.Root(), accesses, w}
}

func (b *block) verify(w Witness) (types.StateRoot, error) {
	return verifyRoots(b.old, b.accesses, w)
}

func TestWitness(t *testing.T) {
	seen := map[Shape]int{}
	for n := range 40 {
		b := newBlock(t, n, n)
		if got, err := b.verify(b.witness); err != nil || got != b.new {
			t.Fatalf("%d accounts: %v, %v, want %v", n, got, err, b.new)
		}
		for _, s := range b.witness.Shapes {
			seen[s]++
		}
	}
	for s := ShapeEmpty; s <= ShapeNode; s++ {
		if seen[s] == 0 {
			t.Errorf("no witness has shape %d", s)
		}
	}
}

func TestWitnessOfNothing(t *testing.T) {
	tr, _, hashes := populated(t, 10)
	for _, tr := range []*Tree{tr, {}} {
		c, err := tr.Prepare(nil, forwards)
		if err != nil {
			t.Fatal(err)
		}
		w, err := c.Witness(hashes)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := verifyRoots(tr.Root(), nil, w); err != nil || got != tr.Root() || c.Root() != tr.Root() {
			t.Errorf("%v, %v, want %v", got, err, tr.Root())
		}
	}
}

// TestWitnessCorrupted changes every part of valid witnesses: each must become invalid.
func TestWitnessCorrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for n := range 16 {
		b := newBlock(t, n, n)
		check := func(name string, change func(w *Witness)) {
			t.Helper()
			w := Witness{slices.Clone(b.witness.Shapes), slices.Clone(b.witness.Digests)}
			change(&w)
			if _, err := b.verify(w); !errors.Is(err, ErrWitness) {
				t.Fatalf("%d accounts, %s: error %v, want %v", n, name, err, ErrWitness)
			}
		}
		for i := range b.witness.Digests {
			for bit := 0; bit < 256; bit += 13 {
				check("digest", func(w *Witness) { w.Digests[i][bit/32] ^= 1 << (bit % 32) })
			}
			check("digest of zeros", func(w *Witness) {
				w.Digests[i] = poseidon.Digest{}
				if b.witness.Digests[i].IsZero() { // the empty half of an opened node
					w.Digests[i][0] = 1
				}
			})
			check("digest less", func(w *Witness) { w.Digests = slices.Delete(w.Digests, i, i+1) })
		}
		for i, s := range b.witness.Shapes {
			for other := range Shape(8) {
				if other != s {
					check("shape", func(w *Witness) { w.Shapes[i] = other })
				}
			}
			check("shape less", func(w *Witness) { w.Shapes = slices.Delete(w.Shapes, i, i+1) })
			check("ends early", func(w *Witness) { w.Shapes = w.Shapes[:i] })
		}
		check("digest more", func(w *Witness) { w.Digests = append(w.Digests, poseidon.Digest{}) })
		check("shape more", func(w *Witness) { w.Shapes = append(w.Shapes, ShapeEmpty) })
	}
}

// TestWitnessOfOtherAccesses: a witness does not hold for false accesses. It may hold for fewer or other keys without a
// value, and then yields their root.
func TestWitnessOfOtherAccesses(t *testing.T) {
	b := newBlock(t, 30, 2)
	last := len(b.accesses) - 1
	for i, a := range b.accesses {
		list := slices.Clone(b.accesses)
		reject := func(name string, list []types.Access) {
			t.Helper()
			if got, err := verifyRoots(b.old, list, b.witness); err == nil {
				t.Errorf("access %d %s: gives %v", i, name, got)
			}
		}
		reject("twice", slices.Insert(slices.Clone(list), i, a))
		list[i], list[last] = list[last], list[i]
		if i < last {
			reject("out of order", list)
		}
		list = slices.Clone(b.accesses)
		list[i].Old = []byte("other")
		reject("with another old value", list)
		if list[i].Old = nil; a.Old != nil {
			reject("as absent", list)
		}
		list = slices.Clone(b.accesses)
		list[i].Key = append(slices.Clone(a.Key), 0)
		for _, list := range [][]types.Access{list, slices.Delete(slices.Clone(list), i, i+1)} {
			if a.Old != nil {
				reject("of another key, or left out", list)
				continue
			}
			got, err := verifyRoots(b.old, list, b.witness)
			if err != nil {
				continue
			}
			if c, err := b.tree.Prepare(list, forwards); err != nil || c.Root() != got {
				t.Errorf("access %d: gives %v for what leads elsewhere (%v)", i, got, err)
			}
		}
	}
	if _, err := verifyRoots(b.new, b.accesses, b.witness); !errors.Is(err, ErrWitness) {
		t.Errorf("another root: error %v, want %v", err, ErrWitness)
	}
}

// TestForgedLeafAsNode: a leaf moves up if its sibling is deleted. A witness that presents the leaf as a node, which
// would not move, must be refused.
func TestForgedLeafAsNode(t *testing.T) {
	m := model{poseidon.Digest{}: {1}, poseidon.Digest{1 << 30}: {2}}
	items := []item{m.remove(poseidon.Digest{})}
	c, err := m.tree(t).prepare(items, forwards)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Witness(m.valueHash)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Shape{ShapeBranch, ShapeOwn, ShapeOther}; !slices.Equal(w.Shapes, want) {
		t.Fatalf("shapes %v, want %v", w.Shapes, want)
	}
	before, after, err := verifyWitness(m.proven(items), w)
	if err != nil || before != m.root() || after != m.apply(items).root() {
		t.Fatalf("the witness leads from %v to %v, error %v", before, after, err)
	}
	w.Shapes[2] = ShapeNode
	if before, _, err := verifyWitness(m.proven(items), w); err == nil && before == m.root() {
		t.Error("a leaf given as a node is accepted")
	}
	w = Witness{[]Shape{ShapeBranch, ShapeOwn, ShapeDigest}, []poseidon.Digest{leafDigest(w.Digests[0], w.Digests[1])}}
	if _, _, err := verifyWitness(m.proven(items), w); !errors.Is(err, ErrWitness) {
		t.Errorf("an unopened sibling is accepted: error %v, want %v", err, ErrWitness)
	}
}

// TestWitnessOfWhatVanishes: if one half loses all leaves at any time, in the order of paths, the other half is opened.
func TestWitnessOfWhatVanishes(t *testing.T) {
	at := func(eighths uint32) poseidon.Digest { return poseidon.Digest{eighths << 28, eighths} }
	m := model{at(1): {1}, at(2): {2}, at(4): {4}, at(5): {5}}
	set := poseidon.Digest{9}
	for _, test := range []struct {
		name  string
		items []item
		want  Shape // of the half without accesses
	}{
		{"a leaf stays", []item{m.remove(at(1))}, ShapeDigest},
		{"emptied", []item{m.remove(at(1)), m.remove(at(2))}, ShapeNode},
		{"emptied, and absent keys", []item{m.read(at(0)), m.remove(at(1)), m.remove(at(2)), m.read(at(3))}, ShapeNode},
		{"filled after that", []item{m.remove(at(1)), m.remove(at(2)), m.write(at(3), set)}, ShapeNode},
		{"filled before that", []item{m.write(at(0), set), m.remove(at(1)), m.remove(at(2))}, ShapeDigest},
		{
			"filled before the second goes",
			[]item{m.remove(at(1)), m.write(poseidon.Digest{2 << 28, 0}, set), m.remove(at(2))}, ShapeDigest,
		},
		{"read in between", []item{m.remove(at(1)), m.read(at(2)), m.write(at(3), set)}, ShapeDigest},
	} {
		c, err := m.tree(t).prepare(test.items, forwards)
		if err != nil {
			t.Fatal(err)
		}
		w, err := c.Witness(m.valueHash)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.Shapes[len(w.Shapes)-1]; got != test.want {
			t.Errorf("%s: beside it is shape %d, want %d", test.name, got, test.want)
		}
		if before, after, err := verifyWitness(m.proven(test.items), w); err != nil || before != m.root() ||
			after != m.apply(test.items).root() {
			t.Errorf("%s: the witness leads from %v to %v, error %v", test.name, before, after, err)
		}
	}
}

func TestWitnessValueHashes(t *testing.T) {
	m := model{poseidon.Digest{}: {1}, poseidon.Digest{1 << 30}: {2}}
	c, err := m.tree(t).prepare([]item{m.remove(poseidon.Digest{})}, forwards)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Witness(model{}.valueHash); !errors.Is(err, errNoLeaf) {
		t.Errorf("no value hash: error %v, want %v", err, errNoLeaf)
	}
	if _, err := c.Witness(func(poseidon.Digest) (poseidon.Digest, error) { return poseidon.Digest{3}, nil }); err == nil {
		t.Error("a wrong value hash is accepted")
	}
}

// FuzzVerifyWitness gives the verifier invalid witnesses: it must not panic, nor compute another root.
func FuzzVerifyWitness(f *testing.F) {
	b := newBlock(f, 12, 3)
	var shapes, digests []byte
	for _, s := range b.witness.Shapes {
		shapes = append(shapes, byte(s))
	}
	for _, d := range b.witness.Digests {
		e := d.Bytes()
		digests = append(digests, e[:]...)
	}
	f.Add(shapes, digests)
	f.Add([]byte{3, 3, 3, 3}, []byte{})
	f.Add(bytes.Repeat([]byte{byte(ShapeBranch)}, 300), []byte{})
	f.Add([]byte{byte(ShapeOther)}, make([]byte, 64))
	f.Fuzz(func(t *testing.T, shapes, digests []byte) {
		var w Witness
		for _, s := range shapes {
			w.Shapes = append(w.Shapes, Shape(s))
		}
		for ; len(digests) >= 32; digests = digests[32:] {
			var d poseidon.Digest
			for i := range d {
				d[i] = binary.BigEndian.Uint32(digests[4*i:])
			}
			w.Digests = append(w.Digests, d)
		}
		if got, err := b.verify(w); err == nil && got != b.new {
			t.Fatalf("another root after the block: got %v", got)
		}
	})
}
