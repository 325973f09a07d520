package blockproof

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
)

// model is a state as value hashes by path.
type model map[poseidon.Digest]poseidon.Digest

// batch is a state before a block and the block's changes: absent or present paths, with value hashes before and after;
// zero for none.
type batch struct {
	before model
	list   map[poseidon.Digest][2]poseidon.Digest
}

// read and write are accesses of a batch.
func (b *batch) read(path poseidon.Digest) { b.write(path, b.before[path]) }

func (b *batch) write(path, valueHash poseidon.Digest) {
	b.list[path] = [2]poseidon.Digest{b.before[path], valueHash}
}

func newBatch(before model) *batch { return &batch{before, map[poseidon.Digest][2]poseidon.Digest{}} }

func leafOf(path, valueHash poseidon.Digest) poseidon.Digest {
	var d [1]poseidon.Digest
	if valueHash.IsZero() {
		return d[0]
	}
	poseidon.Leaves(d[:], [][2]poseidon.Digest{{path, valueHash}})
	return d[0]
}

func nodeOf(left, right poseidon.Digest) poseidon.Digest {
	var d [1]poseidon.Digest
	poseidon.Nodes(d[:], [][2]poseidon.Digest{{left, right}})
	return d[0]
}

func sortedPaths[T any](m map[poseidon.Digest]T) []poseidon.Digest {
	return slices.SortedFunc(maps.Keys(m), func(a, b poseidon.Digest) int { return comparePaths(&a, &b) })
}

// rootOf is the definition of a root.
func (m model) rootOf(paths []poseidon.Digest, level int) poseidon.Digest {
	if len(paths) == 0 {
		return poseidon.Digest{}
	}
	if len(paths) == 1 {
		return leafOf(paths[0], m[paths[0]])
	}
	i := split(paths, level)
	return nodeOf(m.rootOf(paths[:i], level+1), m.rootOf(paths[i:], level+1))
}

func split(paths []poseidon.Digest, level int) int {
	i := 0
	for i < len(paths) && paths[i][level/31]>>(30-level%31)&1 == 0 {
		i++
	}
	return i
}

func (m model) root() poseidon.Digest { return m.rootOf(sortedPaths(m), 0) }

// after returns the state after the batch.
func (b *batch) after() model { return b.afterSome(len(b.list)) }

// afterSome returns the state after the first n of the batch's accesses, in the order of paths.
func (b *batch) afterSome(n int) model {
	m := maps.Clone(b.before)
	for _, path := range sortedPaths(b.list)[:n] {
		if delete(m, path); !b.list[path][1].IsZero() {
			m[path] = b.list[path][1]
		}
	}
	return m
}

func (b *batch) entries() []entry {
	var entries []entry
	for _, path := range sortedPaths(b.list) {
		v := b.list[path]
		entries = append(entries, entry{path, [2]poseidon.Digest{leafOf(path, v[0]), leafOf(path, v[1])}, &v})
	}
	return entries
}

func (b *batch) statement() Statement {
	return Statement{ChainID: 7, Height: 9, PreRoot: b.before.root().Bytes(), PostRoot: b.after().root().Bytes()}
}

// witness returns the batch's witness, by the definition in package tree.
func (b *batch) witness() (w tree.Witness) {
	var walk func(before, accessed []poseidon.Digest, level int)
	walk = func(before, accessed []poseidon.Digest, level int) {
		switch {
		case len(before) == 0:
			w.Shapes = append(w.Shapes, tree.ShapeEmpty)
			return
		case len(before) == 1 && slices.Contains(accessed, before[0]):
			w.Shapes = append(w.Shapes, tree.ShapeOwn)
			return
		case len(before) == 1:
			w.Shapes, w.Digests = append(w.Shapes, tree.ShapeOther), append(w.Digests, before[0], b.before[before[0]])
			return
		}
		w.Shapes = append(w.Shapes, tree.ShapeBranch)
		halves := func(paths []poseidon.Digest) [2][]poseidon.Digest {
			i := split(paths, level)
			return [2][]poseidon.Digest{paths[:i], paths[i:]}
		}
		was, touched := halves(before), halves(accessed)
		for s := range 2 {
			if len(touched[s]) > 0 {
				walk(was[s], touched[s], level+1)
			}
		}
		for s := range 2 {
			if len(touched[s]) > 0 {
				continue
			}
			switch {
			case len(was[s]) == 0:
				w.Shapes = append(w.Shapes, tree.ShapeEmpty)
			case !b.vanish(was[1-s], touched[1-s]):
				w.Shapes, w.Digests = append(w.Shapes, tree.ShapeDigest), append(w.Digests, b.before.rootOf(was[s], level+1))
			case len(was[s]) == 1:
				w.Shapes, w.Digests = append(w.Shapes, tree.ShapeOther), append(w.Digests, was[s][0], b.before[was[s][0]])
			default:
				i := split(was[s], level+1)
				w.Shapes = append(w.Shapes, tree.ShapeNode)
				w.Digests = append(w.Digests, b.before.rootOf(was[s][:i], level+2), b.before.rootOf(was[s][i:], level+2))
			}
		}
	}
	walk(sortedPaths(b.before), sortedPaths(b.list), 0)
	return w
}

// vanish applies accesses one after the other to the existing paths, and reports whether at some time none is left.
func (b *batch) vanish(before, accessed []poseidon.Digest) bool {
	left := map[poseidon.Digest]bool{}
	for _, path := range before {
		left[path] = true
	}
	for _, path := range accessed {
		if delete(left, path); !b.list[path][1].IsZero() {
			left[path] = true
		}
		if len(before) > 0 && len(left) == 0 {
			return true
		}
	}
	return false
}

// segments traces the batch.
func (b *batch) segments(tb testing.TB, most size) []Segment {
	tb.Helper()
	s := b.statement()
	segments, err := s.all(b.entries(), b.witness(), most)
	if err != nil {
		tb.Fatal(err)
	}
	return segments
}

// all returns the segments that s.segments yields.
func (s *Statement) all(entries []entry, w tree.Witness, most size) (all []Segment, err error) {
	err = s.segments(entries, w, most, InOrder, func(segment *Segment) bool {
		all = append(all, *segment)
		return true
	})
	return all, err
}

// collect returns the segments that Trace makes.
func collect(segments iter.Seq2[*Segment, error]) (all []Segment, err error) {
	for segment, err := range segments {
		if err != nil {
			return all, err
		}
		all = append(all, *segment)
	}
	return all, nil
}

// cutAt returns a size with the given number of rows and entries, and with units of two entries, of which few are open.
func cutAt(rows, entries int) size { return size{rows, entries, 2, 8} }

// random draws paths that share prefixes of all lengths, some of them at the ends of elements.
type random struct {
	*rand.Rand
	paths   []poseidon.Digest
	shallow bool // only paths that differ early
}

func newRandom(seed uint64) *random { return &random{Rand: rand.New(rand.NewPCG(seed, 5))} }

func (r *random) digest() (d poseidon.Digest) {
	for i := range d {
		d[i] = r.Uint32N(poseidon.P)
	}
	return d
}

func (r *random) path() poseidon.Digest {
	p := r.digest()
	switch n := len(r.paths); {
	case r.shallow:
	case n > 0 && r.IntN(4) == 0: // agrees with another path up to a level
		other, level := r.paths[r.IntN(n)], r.IntN(pathBits)
		begin := prefix(&other, level)
		for i := range p {
			switch {
			case i < level/31:
				p[i] = begin[i]
			case i == level/31:
				if p[i] = begin[i] | p[i]&(1<<(31-level%31)-1); p[i] >= poseidon.P {
					p[i] = begin[i]
				}
			}
		}
	case r.IntN(8) == 0: // elements at their limits
		for i := range p {
			p[i] = [...]uint32{0, 1, poseidon.P - 1, poseidon.P - 2, 1 << 30, 1<<30 - 1, 126 << 24}[r.IntN(7)]
		}
	}
	r.paths = append(r.paths, p)
	return p
}

// batch draws a state of at most size leaves and at most size accesses to it.
func (r *random) batch(size int) *batch {
	r.paths = nil
	b := newBatch(model{})
	for range r.IntN(size + 1) {
		b.before[r.path()] = r.digest()
	}
	present := sortedPaths(b.before)
	for range 1 + r.IntN(size) {
		path := r.path()
		if len(present) > 0 && r.IntN(3) > 0 {
			path = present[r.IntN(len(present))]
		}
		switch r.IntN(3) {
		case 0:
			b.read(path)
		case 1:
			b.write(path, r.digest())
		default:
			b.write(path, poseidon.Digest{})
		}
	}
	if len(present) > 0 && r.IntN(2) == 0 {
		r.replace(b, present[r.IntN(len(present))], r.IntN(5))
	}
	return b
}

// replace deletes everything at the position at level on the way of path, and writes there instead.
func (r *random) replace(b *batch, path poseidon.Digest, level int) {
	here := prefix(&path, level)
	for other := range b.before {
		if prefix(&other, level) == here {
			b.write(other, poseidon.Digest{})
		}
	}
	for range 1 + r.IntN(4) {
		path = r.digest()
		path[0] = here[0] | path[0]&(1<<(elementBits-level)-1)
		if path[0] < poseidon.P && r.IntN(2) == 0 {
			b.read(path)
		} else if path[0] < poseidon.P {
			b.write(path, r.digest())
		}
	}
}
