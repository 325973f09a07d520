package tree

import (
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// model is a state as value hashes by path, and the definition of its root, one hash at a time.
type model map[poseidon.Digest]poseidon.Digest

func (m model) paths() []poseidon.Digest {
	return slices.SortedFunc(maps.Keys(m), func(a, b poseidon.Digest) int { return slices.Compare(a[:], b[:]) })
}

// modelBit is bit i of a path.
func modelBit(p poseidon.Digest, i int) uint32 { return p[i/31] >> (30 - i%31) & 1 }

func (m model) root() poseidon.Digest { return m.rootOf(m.paths(), 0) }

func (m model) rootOf(paths []poseidon.Digest, depth int) poseidon.Digest {
	switch len(paths) {
	case 0:
		return poseidon.Digest{}
	case 1:
		var d [1]poseidon.Digest
		poseidon.Leaves(d[:], [][2]poseidon.Digest{{paths[0], m[paths[0]]}})
		return d[0]
	}
	var half [2][]poseidon.Digest
	for _, p := range paths {
		b := modelBit(p, depth)
		half[b] = append(half[b], p)
	}
	var d [1]poseidon.Digest
	poseidon.Nodes(d[:], [][2]poseidon.Digest{{m.rootOf(half[0], depth+1), m.rootOf(half[1], depth+1)}})
	return d[0]
}

var errNoLeaf = errors.New("no such leaf")

func (m model) valueHash(path poseidon.Digest) (poseidon.Digest, error) {
	hash, ok := m[path]
	if !ok {
		return hash, errNoLeaf
	}
	return hash, nil
}

// read looks up a path.
func (m model) read(path poseidon.Digest) item {
	_, ok := m[path]
	return item{key: keyAt(path), path: path, before: ok, after: ok}
}

// write puts a value of the given hash at path.
func (m model) write(path, hash poseidon.Digest) item {
	it := m.read(path)
	it.after, it.changed, it.valueHash, it.leaf = true, true, hash, leafDigest(path, hash)
	return it
}

// remove deletes the leaf at path.
func (m model) remove(path poseidon.Digest) item {
	it := m.read(path)
	it.after, it.changed = false, it.before
	return it
}

// apply returns the model after the items.
func (m model) apply(items []item) model {
	next := maps.Clone(m)
	for _, it := range items {
		if it.changed && it.after {
			next[it.path] = it.valueHash
		} else if it.changed {
			delete(next, it.path)
		}
	}
	return next
}

// proven returns the expected results of verifyRoots for items.
func (m model) proven(items []item) []proven {
	entries := make([]proven, len(items))
	for i, it := range items {
		entries[i].path = it.path
		if it.before {
			entries[i].before = leafDigest(it.path, m[it.path])
		}
		entries[i].after = entries[i].before
		if it.changed {
			entries[i].after = it.leaf
		}
	}
	slices.SortFunc(entries, func(a, b proven) int { return slices.Compare(a.path[:], b.path[:]) })
	return entries
}

// tree loads the model's leaves.
func (m model) tree(tb testing.TB) *Tree {
	leaves := make([]Leaf, 0, len(m))
	for _, p := range m.paths() {
		leaves = append(leaves, Leaf{Path: p, Digest: leafDigest(p, m[p])})
	}
	return mustLoad(tb, leaves, goroutines)
}

func mustLoad(tb testing.TB, leaves []Leaf, parallel Parallel) *Tree {
	t, err := Load(partsOf(leaves, parallel))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// partsOf returns the arguments with which [Load] loads leaves in parts: 128 parts unless there are few leaves.
func partsOf(leaves []Leaf, parallel Parallel) (int, func(int, []Leaf) ([]Leaf, error), Parallel) {
	parts := 0
	if len(leaves) > 100 {
		parts = 7
	}
	return parts, func(part int, buffer []Leaf) ([]Leaf, error) {
		at := func(part int) int {
			i, _ := slices.BinarySearchFunc(leaves, part, func(l Leaf, part int) int {
				return int(l.Path[0]>>(elementBits-parts)) - part
			})
			return i
		}
		return append(buffer, leaves[at(part):at(part+1)]...), nil
	}, parallel
}

// populated is a tree of accounts with their values and value hashes.
func populated(t *testing.T, n int) (*Tree, []types.Access, ValueHashes) {
	t.Helper()
	m := model{}
	accesses := make([]types.Access, n)
	for i := range accesses {
		a := types.Access{Key: accountKey(i), New: []byte{byte(i), byte(i >> 8), 1}}
		accesses[i] = a
		m[Path(a.Key)] = poseidon.Hash(poseidon.TagValue, a.New)
	}
	return m.tree(t), accesses, m.valueHash
}

// accountKey is the state key of an account.
func accountKey(i int) []byte {
	k := make([]byte, 33)
	k[0] = 1
	binary.LittleEndian.PutUint64(k[1:], uint64(i))
	return k
}

// keyAt is a key for a path chosen by a test: the tree uses keys only to tell them apart.
func keyAt(path poseidon.Digest) []byte {
	b := path.Bytes()
	return b[:]
}

func newRand(seed uint64) *rand.Rand {
	var s [32]byte
	binary.LittleEndian.PutUint64(s[:], seed)
	return rand.New(rand.NewChaCha8(s))
}

func randomDigest(r *rand.Rand) (d poseidon.Digest) {
	for i := range d {
		d[i] = r.Uint32N(poseidon.P)
	}
	return d
}

// neighbour draws a path that agrees with p in the first n bits and differs in the next one. The rest of the path is
// random or agrees too. If an element of the path would not be below P, n is drawn again.
func neighbour(r *rand.Rand, p poseidon.Digest, n int) poseidon.Digest {
	q := p
	if r.IntN(2) == 0 {
		rest := randomDigest(r)
		for i := n; i < pathBits; i++ {
			mask := uint32(1) << (30 - i%31)
			q[i/31] = q[i/31]&^mask | rest[i/31]&mask
		}
	}
	mask := uint32(1) << (30 - n%31)
	q[n/31] = q[n/31]&^mask | ^p[n/31]&mask
	if !q.IsCanonical() {
		return neighbour(r, p, r.IntN(pathBits))
	}
	return q
}

// randomItems draws up to size accesses of all kinds: to paths of m, to new paths, and to new paths close to others.
func randomItems(r *rand.Rand, m model, size int) []item {
	paths := m.paths()
	items := map[poseidon.Digest]item{}
	for range size {
		p := randomDigest(r)
		if n := len(paths); n > 0 && r.IntN(4) > 0 {
			p = paths[r.IntN(n)]
			if r.IntN(3) == 0 {
				p = neighbour(r, p, r.IntN(pathBits))
			}
		}
		paths = append(paths, p)
		switch r.IntN(5) {
		case 0:
			items[p] = m.read(p)
		case 1, 2:
			items[p] = m.remove(p)
		default:
			items[p] = m.write(p, randomDigest(r))
		}
	}
	drawn := make([]item, 0, len(items))
	for _, p := range paths {
		if it, ok := items[p]; ok {
			drawn = append(drawn, it)
			delete(items, p)
		}
	}
	r.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}

// checkNodes fails the test unless the nodes in use are exactly those that the tree reaches, each in its place.
func checkNodes(t *testing.T, tr *Tree) {
	t.Helper()
	reached := map[ref]bool{}
	var visit func(r ref, depth int)
	visit = func(r ref, depth int) {
		if reached[r] = true; r.isLeaf() {
			return
		}
		in := tr.nodes.inner(r)
		if int(in.depth) < depth {
			t.Fatalf("a node of depth %d below one of depth %d", in.depth, depth-1)
		}
		for side, child := range in.child {
			if child == none {
				t.Fatal("a stored node with an empty child")
			}
			if p := *tr.nodes.someLeaf(child); int(modelBit(p, int(in.depth))) != side {
				t.Fatal("a child on the wrong side")
			}
			visit(child, int(in.depth)+1)
		}
	}
	if tr.current.root != none {
		visit(tr.current.root, 0)
	}
	if got := tr.nodes.inners.inUse() + tr.nodes.leaves.inUse() - tr.nodes.placeholders; got != len(reached) {
		t.Fatalf("%d nodes in use, %d reached", got, len(reached))
	}
	for i, released := range [][]uint32{tr.nodes.inners.released, tr.nodes.leaves.released} {
		seen := map[uint32]bool{}
		for _, n := range released {
			if seen[n] || reached[ref(n)|ref(i)*leafBit] {
				t.Fatal("a node was released twice, or is in use")
			}
			seen[n] = true
		}
	}
}
