package blockproof

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/air"
	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/security"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
)

var batches = flag.Int("batches", 2000, "random batches that TestRandomBatches checks")

func TestCircuitShape(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	c := Circuit()
	if got := len(c.Columns()); got != columns || c.AuxColumns() != 4 {
		t.Errorf("%d columns and %d helper columns, the constants say %d", got, c.AuxColumns(), columns)
	}
	if c.Degree() != 3 {
		t.Errorf("degree %d, want 3", c.Degree())
	}
}

// check checks the segments of a batch against the circuit.
func check(tb testing.TB, segments []Segment) {
	tb.Helper()
	for i := range segments {
		s := &segments[i]
		if err := circuit.Check(s.Columns(new(Scratch), InOrder), s.Instance.Public, s.Instance.Terms); err != nil {
			tb.Fatalf("segment %d of %d: error %v", i, len(segments), err)
		}
	}
}

// TestRandomBatches: from the model's root before, the circuit leads to the model's root after, in one segment and in
// many. All shapes of a witness occur.
func TestRandomBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := newRandom(1)
	seen := map[tree.Shape]int{}
	cut, rows := 0, 0
	for n := range *batches {
		r.shallow = n%4 == 0
		b := r.batch([]int{2, 3, 5, 8, 24}[n%5])
		w := b.witness()
		for _, s := range w.Shapes {
			seen[s]++
		}
		s := b.statement()
		segments, err := s.all(b.entries(), w, largest)
		if err != nil {
			t.Fatalf("batch %d: error %v", n, err)
		}
		check(t, segments)
		rows += segments[0].Rows()
		if n%1000 == 999 {
			t.Logf("%d batches so far", n+1)
		}
		if n%2 == 0 {
			most := cutAt(4*pathBits+1, 1+r.IntN(len(b.list)))
			most.unit, most.open = 1+n/2%4, n%17
			cut += len(b.checkCut(t, most)) - 1
		}
	}
	for s := tree.ShapeEmpty; s <= tree.ShapeNode; s++ {
		if seen[s] == 0 {
			t.Errorf("no witness has shape %d", s)
		}
	}
	if cut == 0 {
		t.Error("no batch has two segments")
	}
	t.Logf("%d batches, %d rows, %d cuts", *batches, rows, cut)
}

// TestNamedBatches checks each case by its name.
func TestNamedBatches(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	h := func(i uint32) poseidon.Digest { return poseidon.Digest{i, 1} }
	a, b, c := at("0010", 1), at("0011", 2), at("1", 3)
	deep, twin := poseidon.Digest{1, 2, 3, 4, 5, 6, 7, 8}, poseidon.Digest{1, 2, 3, 4, 5, 6, 7, 9}
	none := poseidon.Digest{}
	for _, test := range []struct {
		name   string
		before model
		after  map[poseidon.Digest]poseidon.Digest
	}{
		{"read of an empty tree", nil, map[poseidon.Digest]poseidon.Digest{a: none}},
		{"insert into an empty tree", nil, map[poseidon.Digest]poseidon.Digest{a: h(1)}},
		{
			"many inserts into an empty tree", nil,
			map[poseidon.Digest]poseidon.Digest{a: h(1), b: h(2), c: h(3), deep: h(4), twin: h(5)},
		},
		{"update of the one leaf", model{a: h(1)}, map[poseidon.Digest]poseidon.Digest{a: h(2)}},
		{"deletion of the one leaf", model{a: h(1)}, map[poseidon.Digest]poseidon.Digest{a: none}},
		{"read of another leaf's place", model{a: h(1)}, map[poseidon.Digest]poseidon.Digest{b: none}},
		{"split", model{a: h(1)}, map[poseidon.Digest]poseidon.Digest{b: h(2)}},
		{"split at the last bit", model{deep: h(1)}, map[poseidon.Digest]poseidon.Digest{twin: h(2)}},
		{"merge", model{a: h(1), b: h(2)}, map[poseidon.Digest]poseidon.Digest{a: none}},
		{"merge beside a node", model{a: h(1), b: h(2), c: h(3)}, map[poseidon.Digest]poseidon.Digest{c: none}},
		{"merge up a chain", model{deep: h(1), twin: h(2)}, map[poseidon.Digest]poseidon.Digest{twin: none}},
		{"a leaf moves over", model{a: h(1)}, map[poseidon.Digest]poseidon.Digest{a: none, b: h(2)}},
		{"all deleted", model{a: h(1), b: h(2), c: h(3)}, map[poseidon.Digest]poseidon.Digest{a: none, b: none, c: none}},
		{"only reads", model{a: h(1), b: h(2), c: h(3)}, map[poseidon.Digest]poseidon.Digest{a: h(1), c: h(3)}},
	} {
		b := newBatch(test.before)
		if b.before == nil {
			b.before = model{}
		}
		for path, hash := range test.after {
			b.write(path, hash)
		}
		s := b.statement()
		segments, err := s.all(b.entries(), b.witness(), largest)
		if err != nil {
			t.Errorf("%s: error %v", test.name, err)
			continue
		}
		if err := circuit.Check(
			segments[0].Columns(new(Scratch), InOrder), segments[0].Instance.Public, segments[0].Instance.Terms,
		); err != nil {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}

// checkCut cuts the batch into segments of at most the given size. Each must fit, and lead from the model's root to the
// next one.
func (b *batch) checkCut(tb testing.TB, most size) []Segment {
	tb.Helper()
	segments := b.segments(tb, most)
	check(tb, segments)
	trie, err := newTrie(b.entries(), b.witness(), most, InOrder)
	if err != nil {
		tb.Fatal(err)
	}
	low := 0
	for i := range segments {
		s := &segments[i]
		high := low + len(s.part.levels)
		bound := min(trie.bounds.rows(low, high), max(most.rows, 4*pathBits+1))
		if rows := s.Rows(); rows > bound || high-low > most.entries {
			tb.Fatalf("segment %d of %d has %d rows, at most %d and %v", i, len(segments), rows, bound, most)
		}
		before, after := b.afterSome(low).root(), b.afterSome(high).root()
		if !slices.Equal(s.Instance.Public, elementsOf(&before, &after)) {
			tb.Fatalf("segment %d of %d leads from another root, or to another", i, len(segments))
		}
		low = high
	}
	if low != len(b.list) {
		tb.Fatalf("the segments have %d of %d entries", low, len(b.list))
	}
	return segments
}

// TestCuts cuts lists at every place: half of the tree may be empty between segments, or a leaf.
func TestCuts(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	type values = map[poseidon.Digest]poseidon.Digest
	early, late, last := at("00", 1), at("01011", 10), at("01111", 20)
	left, right, none := at("10", 2), at("11", 3), poseidon.Digest{}
	for _, test := range []struct {
		name   string
		before model
		after  values
	}{
		{"nothing but absent keys", model{left: {5}, right: {6}}, nil},
		{"emptied and filled again beside a node", model{early: {1}, left: {2}, right: {3}}, values{early: none, last: {9}}},
		{"emptied and filled again beside a leaf", model{early: {1}, left: {2}}, values{early: none, last: {9}}},
		{
			"emptied by two and filled again", model{early: {1}, late: {7}, left: {2}, right: {3}},
			values{early: none, late: none, last: {9}},
		},
		{"filled before it is emptied", model{late: {7}, left: {2}, right: {3}}, values{early: {8}, late: none}},
		{
			"emptied and filled again on both sides", model{early: {1}, left: {2}},
			values{early: none, last: {9}, left: none, right: {8}},
		},
		{"a leaf moves up from absent keys", model{late: {1}, left: {2}}, values{left: none}},
		{"all deleted", model{early: {1}, late: {7}, left: {2}}, values{early: none, late: none, left: none}},
	} {
		b := newBatch(test.before)
		for i := range 7 {
			b.read(at(fmt.Sprintf("01%03b", i), 10))
		}
		for path, value := range test.after {
			b.write(path, value)
		}
		t.Run(test.name, func(t *testing.T) {
			for entries := range len(b.list) {
				b.checkCut(t, cutAt(1<<maxLogRows, entries+1))
			}
		})
	}
}

// TestUnopenedWitness: a witness that suffices for one segment is refused if a cut requires more.
func TestUnopenedWitness(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := newBatch(model{at("00", 1): {1}, at("10", 2): {2}, at("11", 3): {3}})
	b.write(at("00", 1), poseidon.Digest{})
	b.write(at("01", 4), poseidon.Digest{4})
	w := b.witness()
	last := len(w.Shapes) - 1
	if w.Shapes[last] != tree.ShapeNode || len(w.Digests) != 2 {
		t.Fatalf("shapes %v", w.Shapes)
	}
	w.Shapes[last], w.Digests = tree.ShapeDigest, []poseidon.Digest{nodeOf(w.Digests[0], w.Digests[1])}
	s := b.statement()
	segments, err := s.all(b.entries(), w, largest)
	if err != nil {
		t.Fatal(err)
	}
	check(t, segments)
	if _, err := s.all(b.entries(), w, cutAt(1<<maxLogRows, 1)); !errors.Is(err, ErrWitness) {
		t.Errorf("cut where nothing stands beside: error %v, want %v", err, ErrWitness)
	}
}

// TestColumnsInAnyOrder: a segment's table does not depend on the columns made before.
func TestColumnsInAnyOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	segments := everything().segments(t, cutAt(1<<maxLogRows, 2))
	var tables [][]field.Vector
	for i := range segments {
		tables = append(tables, segments[i].Columns(new(Scratch), InOrder))
	}
	for _, i := range []int{2, 1, 1, 0, 2, 0} {
		if !reflect.DeepEqual(segments[i].Columns(new(Scratch), InOrder), tables[i]) {
			t.Errorf("segment %d of %d has another table", i, len(segments))
		}
	}
}

// everything is a batch that uses every column: updates, an insert beside a leaf, a merge and a closed half on each
// side.
func everything() *batch {
	h := func(i uint32) poseidon.Digest { return poseidon.Digest{i, i, 1} }
	b := newBatch(model{})
	for i := range uint32(32) {
		var path poseidon.Digest
		path[0], path[3] = i<<26, i
		if path[0] >= poseidon.P {
			path[0] = 0x7e << 24
		}
		b.before[path] = h(i)
	}
	paths := sortedPaths(b.before)
	b.write(paths[3], h(100))
	b.write(paths[8], poseidon.Digest{})
	b.write(paths[20], h(101))
	b.read(paths[30])
	b.write(poseidon.Digest{paths[12][0], 1 << 30}, h(102))
	return b
}

// TestEveryColumn corrupts each column on rows of each phase: the circuit refuses it wherever the column has a meaning.
func TestEveryColumn(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	segment := everything().segments(t, largest)[0]
	table := segment.Columns(new(Scratch), InOrder)
	var rows []int // one of each phase
	for _, p := range []phase{same, changed, after} {
		rows = append(rows, slices.IndexFunc(segment.rows, func(r tableRow) bool { return r.phase == p && r.open[1] }))
	}
	refused, free := 0, 0
	for i, column := range table {
		caught := false
		for _, r := range rows {
			was := column[r]
			column[r].Add(&column[r], &one)
			if err := circuit.Check(table, segment.Instance.Public, segment.Instance.Terms); err != nil {
				refused, caught = refused+1, true
			} else {
				// Level and place have no value on the row after a change; aim and the witness that a digest is not
				// zero can be given in several ways.
				free++
				if i > colStep+pathElements && i != colTurn && i != colOpen && i != colOpen+1 {
					t.Errorf("row %d, column %q: not refused", r, circuit.Columns()[i])
				}
			}
			column[r] = was
		}
		if !caught {
			t.Errorf("column %q: never refused", circuit.Columns()[i])
		}
	}
	t.Logf("%d cells changed and refused, %d without a meaning", refused, free)
}

// TestOtherLists: the circuit refuses a table with the public side of another list.
func TestOtherLists(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := everything()
	segment := b.segments(t, largest)[0]
	table := segment.Columns(new(Scratch), InOrder)
	refused := 0
	refuse := func(name string, change func(f *forgery)) {
		t.Helper()
		f := &forgery{entries: slices.Clone(b.entries()), part: segment.part}
		f.part.levels, f.part.others, f.part.steps = slices.Clone(f.part.levels), slices.Clone(f.part.others),
			slices.Clone(f.part.steps)
		change(f)
		f.retell()
		var imbalance *air.Imbalance
		if err := circuit.Check(table, segment.Instance.Public, f.terms); !errors.As(err, &imbalance) {
			t.Errorf("%s: error %v", name, err)
		}
		refused++
	}
	for i := range b.entries() {
		refuse("left out", func(f *forgery) {
			f.entries, f.part.levels = slices.Delete(f.entries, i, i+1), slices.Delete(f.part.levels, i, i+1)
		})
		refuse("doubled", func(f *forgery) {
			f.entries, f.part.levels = append(f.entries, f.entries[i]), append(f.part.levels, f.part.levels[i])
		})
		refuse("of another old value", func(f *forgery) { f.entries[i].leaves[0][5]++ })
		refuse("of another new value", func(f *forgery) { f.entries[i].leaves[1][2]++ })
		refuse("absent before", func(f *forgery) {
			if f.entries[i].leaves[0].IsZero() {
				f.entries[i].leaves[0] = poseidon.Digest{1}
			} else {
				f.entries[i].leaves[0] = poseidon.Digest{}
			}
		})
		refuse("at another level", func(f *forgery) { f.part.levels[i]++ })
		refuse("of another path", func(f *forgery) { f.entries[i].path[0] ^= 1 << 30 })
		if e := b.entries()[i]; e.changed() {
			refuse("old and new swapped", func(f *forgery) {
				f.entries[i].leaves = [2]poseidon.Digest{e.leaves[1], e.leaves[0]}
			})
		}
	}
	for i := range segment.part.others {
		refuse("another leaf left out", func(f *forgery) { f.part.others = slices.Delete(f.part.others, i, i+1) })
		refuse("another leaf's value", func(f *forgery) { f.part.others[i].valueHash[0]++ })
		refuse("another leaf's path", func(f *forgery) { f.part.others[i].path[7]++ })
	}
	for level := range segment.part.steps {
		refuse("steps", func(f *forgery) { f.part.steps[level]++ })
	}
	refuse("added", func(f *forgery) {
		f.entries = append(f.entries, entry{path: poseidon.Digest{1 << 20}})
		f.part.levels = append(f.part.levels, 5)
	})
	t.Logf("%d lists refused", refused)
}

// TestWitnessRefused: a witness that does not belong to the batch yields no segments and no panic.
func TestWitnessRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := newRandom(8)
	for range 40 {
		b := r.batch(4)
		s, entries := b.statement(), b.entries()
		refuse := func(name string, change func(w *tree.Witness)) {
			t.Helper()
			w := b.witness()
			change(&w)
			for _, most := range []size{largest, cutAt(largest.rows, largest.entries)} {
				if _, err := s.all(entries, w, most); !errors.Is(err, ErrWitness) {
					t.Fatalf("%s: error %v, want %v", name, err, ErrWitness)
				}
			}
		}
		w := b.witness()
		for i, d := range w.Digests {
			for k := range d {
				refuse("digest", func(w *tree.Witness) { w.Digests[i][k] = (w.Digests[i][k] + 1) % poseidon.P })
			}
			refuse("digest not canonical", func(w *tree.Witness) { w.Digests[i][0] = poseidon.P })
		}
		for i, shape := range w.Shapes {
			for other := range tree.Shape(8) {
				if other != shape {
					refuse("shape", func(w *tree.Witness) { w.Shapes[i] = other })
				}
			}
			refuse("ends early", func(w *tree.Witness) { w.Shapes = w.Shapes[:i] })
		}
		refuse("digest more", func(w *tree.Witness) { w.Digests = append(w.Digests, poseidon.Digest{}) })
		if s.PostRoot[3] ^= 1; true {
			refuse("another root after", func(*tree.Witness) {})
		}
		s.PostRoot[3] ^= 1
		s.PreRoot[3] ^= 1
		refuse("another root before", func(*tree.Witness) {})
	}
}

// TestSplicedSegments: a segment's table does not satisfy the public side and roots of another segment.
func TestSplicedSegments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	segments := everything().segments(t, cutAt(70, maxEntries))
	if len(segments) < 2 {
		t.Fatalf("%d segments", len(segments))
	}
	var tables [][]field.Vector
	for i := range segments {
		tables = append(tables, segments[i].Columns(new(Scratch), InOrder))
	}
	for i := range segments {
		for k := range segments {
			err := circuit.Check(tables[i], segments[k].Instance.Public, segments[k].Instance.Terms)
			if (err == nil) != (i == k) {
				t.Errorf("table %d with the public side of segment %d: error %v", i, k, err)
			}
			if i != k && circuit.Check(tables[i], segments[i].Instance.Public, segments[k].Instance.Terms) == nil {
				t.Errorf("table %d with the list of segment %d is accepted", i, k)
			}
		}
	}
}

// TestDocumentedCircuit: docs/proofs.md names this circuit, and its number of constraints.
func TestDocumentedCircuit(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	page, err := os.ReadFile("../../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	own := len(circuit.Constraints()) - circuit.AuxColumns()
	for _, want := range []string{
		fmt.Sprintf("`%x`", circuit.Digest()), fmt.Sprintf("the %d constraints", own), fmt.Sprintf("%d columns", columns),
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/proofs.md does not say %s", want)
		}
	}
}

// TestSecurity: the largest segment of each level, with as many entries and as many other leaves as rows, has the bits
// of the level.
func TestSecurity(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for _, level := range stark.Levels {
		terms := security.Best(level.Parameters, security.Of(Circuit(), level.Most, 2<<level.Most+pathBits))
		if terms.Bits() < level.Bits {
			t.Errorf("%d bits of %d: got %+v", terms.Bits(), level.Bits, terms)
		}
		t.Logf("%d bits: %+v", level.Bits, terms)
	}
}
