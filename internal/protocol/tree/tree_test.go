package tree

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

func forwards(n int, f func(int)) {
	for i := range n {
		f(i)
	}
}

func backwards(n int, f func(int)) {
	for i := n - 1; i >= 0; i-- {
		f(i)
	}
}

// goroutines runs all calls at once.
func goroutines(n int, f func(int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// workers runs pieces on all cores, as a node does.
func workers(n int, f func(int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

// account is the access that gives account b (its 32 bytes all b) a balance and a nonce that it did not have before.
func account(b byte, balance, nonce byte) types.Access {
	value := make([]byte, 16)
	value[0], value[8] = balance, nonce
	return types.Access{Key: append([]byte{1}, bytes.Repeat([]byte{b}, 32)...), New: value}
}

// TestVectors compares with the roots that the protocol's reference implementation (vectors/tree.py) prints.
func TestVectors(t *testing.T) {
	path := Path(account(0x11, 0, 0).Key).Bytes()
	if got := hex.EncodeToString(path[:]); got != "0843b49b52a7d2dd3944c4595513f99223c57e937cbc9fe46f8ff2973b7a202c" {
		t.Errorf("path: %s, want 0843b49b52a7d2dd3944c4595513f99223c57e937cbc9fe46f8ff2973b7a202c", got)
	}
	tr := &Tree{}
	if !tr.Root().IsZero() {
		t.Errorf("root of nothing: got %s", tr.Root())
	}
	var ten []types.Access
	for i := byte(3); i <= 10; i++ {
		ten = append(ten, account(i, i, i))
	}
	for _, step := range []struct {
		add  []types.Access
		root string
	}{
		{[]types.Access{account(0x11, 100, 1)}, "0x247c397c3de37d7a5cb00ffe3f6c2e3025f4493543516c9b7125cba013c976e3"},
		{[]types.Access{account(0x22, 5, 0)}, "0x1618449706eaf375413b65144e3600ab313d7741272c7f7a288cc1f649cafe20"},
		{ten, "0x4f2b0135494dc86e2863ab2118a904db67dbde6c68adf22a54b3f88e14ff9a30"},
	} {
		c, err := tr.Prepare(step.add, forwards)
		if err != nil {
			t.Fatal(err)
		}
		tr.Commit(c, workers)
		if got := tr.Root().String(); got != step.root || c.Root() != tr.Root() {
			t.Errorf("root of %d: %s, want %s", tr.Len(), got, step.root)
		}
	}
}

// TestAgainstModel applies the same batches, some of which are dropped, to a tree and to a map of its leaves.
func TestAgainstModel(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for seed := range uint64(160) {
		r := newRand(seed)
		tr, m, root := &Tree{}, model{}, poseidon.Digest{}
		for range 20 {
			items := randomItems(r, m, 1+r.IntN(12))
			c, err := tr.prepare(items, forwards)
			if err != nil {
				t.Fatal(err)
			}
			next := m.apply(items)
			nextRoot := next.root()
			if c.version.digest != nextRoot || tr.current.digest != root {
				t.Fatalf("seed %d: from %v to %v, want from %v to %v", seed, tr.current.digest, c.version.digest, root, nextRoot)
			}
			checkLeaves(t, c, m, next)
			w, err := c.Witness(m.valueHash)
			if err != nil {
				t.Fatal(err)
			}
			before, after, err := verifyWitness(m.proven(items), w)
			if err != nil || before != root || after != nextRoot {
				t.Fatalf("seed %d: the witness leads from %v to %v, error %v", seed, before, after, err)
			}
			checkNodes(t, tr)
			if r.IntN(4) == 0 {
				continue
			}
			tr.Commit(c, workers)
			m, root = next, nextRoot
			checkNodes(t, tr)
			if tr.Len() != len(m) || tr.current.digest != root {
				t.Fatalf("seed %d: %d leaves, want %d", seed, tr.Len(), len(m))
			}
		}
		if loaded := m.tree(t); loaded.current.digest != root || loaded.Len() != len(m) {
			t.Fatalf("seed %d: loading gives another root", seed)
		}
	}
}

// checkLeaves checks that c's leaves lead from m to next, are sorted by path, and contain only written paths.
func checkLeaves(t *testing.T, c *Change, m, next model) {
	t.Helper()
	got := maps.Clone(m)
	var last poseidon.Digest
	for i, l := range c.Leaves() {
		if i > 0 && comparePaths(&last, &l.Path) >= 0 {
			t.Fatal("leaves do not ascend")
		}
		last = l.Path
		if !bytes.Equal(l.Key, keyAt(l.Path)) {
			t.Fatalf("leaf %+v has another's key", l)
		}
		if l.Deleted {
			if !l.Leaf.IsZero() || !l.ValueHash.IsZero() {
				t.Fatalf("deleted leaf %+v", l)
			}
			delete(got, l.Path)
			continue
		}
		if l.Leaf != leafDigest(l.Path, l.ValueHash) {
			t.Fatalf("leaf %+v", l)
		}
		got[l.Path] = l.ValueHash
	}
	if !maps.Equal(got, next) {
		t.Fatal("the leaves do not lead to the next state")
	}
}

// TestBatchOfMany has more items than fit in a piece of work, a part of a walk or a batch of loading, in every order of
// work.
func TestBatchOfMany(t *testing.T) {
	r := newRand(1)
	m, full := model{}, model{}
	for range 36_000 {
		full[randomDigest(r)] = randomDigest(r)
	}
	for center := full.paths()[0]; len(full) < 38_000; { // paths that share 20 to 120 bits
		full[neighbour(r, center, 20+r.IntN(100))] = randomDigest(r)
	}
	var items []item
	for _, p := range full.paths() {
		items = append(items, m.write(p, full[p]))
	}
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	var second []item
	for i, p := range full.paths() {
		switch i % 7 {
		case 0:
			second = append(second, full.remove(p))
		case 1:
			second = append(second, full.write(p, randomDigest(r)))
		case 2:
			second = append(second, full.read(p))
		case 3:
			second = append(second, full.read(randomDigest(r)))
		}
	}
	roots := [2]poseidon.Digest{full.root(), full.apply(second).root()}
	var witness Witness
	for name, parallel := range map[string]Parallel{
		"forwards": forwards, "backwards": backwards, "goroutines": goroutines, "workers": workers,
	} {
		tr := &Tree{}
		for i, items := range [][]item{items, second} {
			c, err := tr.prepare(items, parallel)
			if err != nil {
				t.Fatal(err)
			}
			if c.version.digest != roots[i] {
				t.Fatalf("%s: wrong root", name)
			}
			w, err := c.Witness(full.valueHash)
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 && witness.Shapes == nil {
				witness = w
				before, after, err := verifyWitness(full.proven(second), w)
				if before != roots[0] || after != roots[1] || err != nil {
					t.Fatalf("the witness leads from %v to %v, error %v", before, after, err)
				}
			} else if i == 1 && !reflect.DeepEqual(w, witness) {
				t.Fatalf("%s: another witness", name)
			}
			tr.Commit(c, workers)
			checkNodes(t, tr)
		}
	}
	if full.tree(t).current.digest != roots[0] {
		t.Fatal("loading gives another root")
	}
}

func TestPrepareErrors(t *testing.T) {
	base := account(1, 1, 0)
	tr := &Tree{}
	c, err := tr.Prepare([]types.Access{base}, forwards)
	if err != nil {
		t.Fatal(err)
	}
	tr.Commit(c, workers)
	there := base
	there.Old = base.New
	for _, test := range []struct {
		name     string
		accesses []types.Access
		want     error
	}{
		{"insert of what is there", []types.Access{base}, ErrMismatch},
		{"read as absent of what is there", []types.Access{{Key: base.Key}}, ErrMismatch},
		{"update of nothing", []types.Access{{Key: []byte("x"), Old: []byte{1}, New: []byte{2}}}, ErrMismatch},
		{"delete of nothing", []types.Access{{Key: []byte("x"), Old: []byte{1}}}, ErrMismatch},
		{"read of nothing", []types.Access{{Key: []byte("x"), Old: []byte{1}, New: []byte{1}}}, ErrMismatch},
		{"a key twice", []types.Access{there, {Key: []byte("x")}, there}, ErrDuplicateKey},
		{"valid", []types.Access{there, {Key: []byte("x")}}, nil},
	} {
		before := tr.Root()
		if _, err := tr.Prepare(test.accesses, forwards); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if tr.Root() != before {
			t.Errorf("%s: the tree changed", test.name)
		}
		checkNodes(t, tr)
	}
	m := model{}
	one, other := m.write(poseidon.Digest{1}, poseidon.Digest{2}), m.write(poseidon.Digest{1}, poseidon.Digest{3})
	other.key = []byte("other")
	if _, err := tr.prepare([]item{one, other}, forwards); !errors.Is(err, ErrPathCollision) {
		t.Errorf("two keys of one path: %v, want %v", err, ErrPathCollision)
	}
}

// TestCommitPanics: a change can only be applied to the version that it was prepared from.
func TestCommitPanics(t *testing.T) {
	tr := &Tree{}
	prepare := func(b byte) *Change {
		c, err := tr.Prepare([]types.Access{account(b, 1, 1)}, forwards)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	mustPanic := func(name string, c *Change) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", name)
			}
		}()
		tr.Commit(c, workers)
	}
	one, two := prepare(1), prepare(2)
	tr.Commit(one, workers)
	mustPanic("committed", one)
	mustPanic("prepared from an older version", two)
	tr = &Tree{}
	mustPanic("of another tree", two)
}

func TestLoadErrors(t *testing.T) {
	leaf := func(p ...uint32) Leaf { return Leaf{Path: poseidon.Digest(append(p, make([]uint32, 8-len(p))...))} }
	for _, test := range []struct {
		name   string
		leaves []Leaf
		want   error
	}{
		{"none", nil, nil},
		{"ascending", []Leaf{leaf(1), leaf(1, 1), leaf(2)}, nil},
		{"descending", []Leaf{leaf(1), leaf(2, 1), leaf(2)}, ErrOrder},
		{"twice", []Leaf{leaf(1), leaf(1)}, ErrOrder},
		{"path not canonical", []Leaf{leaf(1), leaf(poseidon.P)}, poseidon.ErrNotCanonical},
		{"digest not canonical", []Leaf{{Digest: poseidon.Digest{poseidon.P}}}, poseidon.ErrNotCanonical},
	} {
		_, err := Load(0, func(_ int, buffer []Leaf) ([]Leaf, error) { return append(buffer, test.leaves...), nil }, forwards)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
	twice := func(int, []Leaf) ([]Leaf, error) { return []Leaf{leaf(1)}, nil }
	if _, err := Load(1, twice, forwards); !errors.Is(err, ErrOrder) {
		t.Errorf("a leaf in two parts: error %v, want %v", err, ErrOrder)
	}
	if _, err := Load(5, func(int, []Leaf) ([]Leaf, error) { return nil, errNoLeaf }, forwards); err != errNoLeaf {
		t.Errorf("failing source: error %v, want %v", err, errNoLeaf)
	}
}

// TestLongestPaths has paths that differ only in their last bit, in all orders of insertion and deletion.
func TestLongestPaths(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	var paths [4]poseidon.Digest
	for i := range paths {
		paths[i][7] = uint32(i)
	}
	for order := range 24 {
		tr, m := &Tree{}, model{}
		commit := func(it item) {
			t.Helper()
			c, err := tr.prepare([]item{it}, forwards)
			if err != nil {
				t.Fatal(err)
			}
			m = m.apply([]item{it})
			tr.Commit(c, workers)
			checkNodes(t, tr)
			if tr.current.digest != m.root() {
				t.Fatalf("order %d: wrong root", order)
			}
		}
		rest := slices.Clone(paths[:])
		var sequence []poseidon.Digest
		for n, k := 4, order; n > 0; n-- {
			i := k % n
			k /= n
			sequence = append(sequence, rest[i])
			rest = slices.Delete(rest, i, i+1)
		}
		for _, p := range sequence {
			commit(m.write(p, poseidon.Digest{9}))
		}
		for _, p := range sequence {
			commit(m.remove(p))
		}
		if !tr.Root().IsZero() || tr.Len() != 0 {
			t.Fatal("something is left")
		}
	}
}

// TestSpare: a change reuses the memory of the previous one, unless that is so large that keeping it would be a waste.
func TestSpare(t *testing.T) {
	r := newRand(1)
	m := model{}
	var items []item
	for range 1000 {
		items = append(items, m.write(randomDigest(r), randomDigest(r)))
	}
	tr := &Tree{}
	for range 2 {
		c, err := tr.prepare(items, workers)
		if err != nil {
			t.Fatal(err)
		}
		if len(tr.spare) != 0 {
			t.Fatal("the scratch of a change is spare while it may be written")
		}
		tr.Commit(c, workers)
		for i := range items {
			items[i].before = true
		}
	}
	if tr.current.digest != m.apply(items).root() {
		t.Error("wrong root")
	}
	if len(tr.spare) == 0 {
		t.Error("nothing is kept")
	}
	large := drafts{parts: []partDrafts{
		{scratch: scratch{inners: make([]draftInner, maxSpare)}}, {scratch: scratch{inners: make([]draftInner, 1)}},
	}}
	if large.scratch() != nil {
		t.Error("too much is kept")
	}
}

// TestNodeSize: a leaf and an inner node together stay within the budget and contain no pointers.
func TestNodeSize(t *testing.T) {
	if size := reflect.TypeFor[inner]().Size() + reflect.TypeFor[poseidon.Digest]().Size(); size > 112 {
		t.Errorf("%d bytes a leaf", size)
	}
	for i := range reflect.TypeFor[inner]().NumField() {
		f := reflect.TypeFor[inner]().Field(i)
		for f.Type.Kind() == reflect.Array {
			f.Type = f.Type.Elem()
		}
		if k := f.Type.Kind(); k < reflect.Bool || k > reflect.Uint64 {
			t.Errorf("field %s is a %s", f.Name, k)
		}
	}
}
