package blockproof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// goroutines is a Parallel of one goroutine each.
func goroutines(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// state is a tree with the values in it.
type state struct {
	tree   *tree.Tree
	values map[string][]byte
	hashes map[poseidon.Digest]poseidon.Digest
}

func newState() *state {
	return &state{tree: &tree.Tree{}, values: map[string][]byte{}, hashes: map[poseidon.Digest]poseidon.Digest{}}
}

func (s *state) valueHash(path poseidon.Digest) (poseidon.Digest, error) { return s.hashes[path], nil }

// apply applies a block that gives keys new values, and returns the prover's input.
func (s *state) apply(tb testing.TB, changes map[string][]byte) (Statement, []types.Access, tree.Witness) {
	tb.Helper()
	var accesses []types.Access
	for key, value := range changes {
		accesses = append(accesses, types.Access{Key: []byte(key), Old: s.values[key], New: value})
	}
	slices.SortFunc(accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	st := Statement{ChainID: 7, Height: 9, PreRoot: s.tree.Root(), AccessesDigest: types.DigestAccesses(accesses)}
	c, err := s.tree.Prepare(accesses, goroutines)
	if err != nil {
		tb.Fatal(err)
	}
	w, err := c.Witness(s.valueHash)
	if err != nil {
		tb.Fatal(err)
	}
	s.tree.Commit(c, goroutines)
	for _, l := range c.Leaves() {
		if delete(s.hashes, l.Path); !l.Deleted {
			s.hashes[l.Path] = l.ValueHash
		}
	}
	for key, value := range changes {
		if delete(s.values, key); len(value) > 0 {
			s.values[key] = value
		}
	}
	st.PostRoot = s.tree.Root()
	return st, accesses, w
}

func key(i int) string { return string(binary.LittleEndian.AppendUint64([]byte{1}, uint64(i))) }

var testProver = sync.OnceValue(func() *prover.Prover { return prover.New(Circuit()) })

// prove proves segments at the level of 100 bits.
func prove(tb testing.TB, segments []Segment) []byte { return proveAt(tb, segments, 0) }

func proveAt(tb testing.TB, segments []Segment, level int) []byte {
	tb.Helper()
	var all []Proven
	for i := range segments {
		all = append(all, proveSegment(tb, &segments[i], level))
	}
	return EncodeProof(all)
}

func proveSegment(tb testing.TB, s *Segment, level int) Proven {
	tb.Helper()
	argument, err := testProver().Prove(&s.Instance, level, s.Columns(new(Scratch), goroutines), goroutines)
	if err != nil {
		tb.Fatal(err)
	}
	return s.Proven(argument)
}

func TestProofOfBlocks(t *testing.T) {
	s := newState()
	genesis := map[string][]byte{}
	for i := range 20 {
		genesis[key(i)] = []byte{byte(i), 1}
	}
	for _, changes := range []map[string][]byte{
		genesis,
		{key(3): {9}, key(4): nil, key(50): nil, key(51): {7}, key(5): {5, 1}},
	} {
		statement, accesses, w := s.apply(t, changes)
		segments, err := collect(Trace(statement, accesses, w, goroutines))
		if err != nil {
			t.Fatal(err)
		}
		proof := prove(t, segments)
		bits, err := VerifyProof(statement, accesses, proof, 100, goroutines)
		if err != nil || bits != 100 {
			t.Fatalf("%d bits, error %v", bits, err)
		}
		t.Logf("%d accesses, %d rows: %d bytes", len(accesses), segments[0].Rows(), len(proof))
	}
}

// TestProofOfRefilledHalf proves a block in segments of one entry. The block deletes all keys of a part of the tree,
// reads absent ones there and creates another one last. Between segments that part is empty, beside a part that the
// block does not touch.
func TestProofOfRefilledHalf(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	parts := map[uint32][]string{} // keys of each eighth of the tree, in the order of paths
	for i := range 100 {
		eighth := tree.Path([]byte(key(i)))[0] >> (elementBits - 3)
		parts[eighth] = append(parts[eighth], key(i))
	}
	for _, keys := range parts {
		slices.SortFunc(keys, func(a, b string) int {
			x, y := tree.Path([]byte(a)), tree.Path([]byte(b))
			return comparePaths(&x, &y)
		})
	}
	refilled, beside := parts[2], parts[3]
	s := newState()
	s.apply(t, map[string][]byte{refilled[0]: {1}, refilled[1]: {2}, beside[0]: {3}, beside[1]: {4}, parts[7][0]: {5}})
	changes := map[string][]byte{}
	for _, k := range refilled {
		changes[k] = nil
	}
	changes[refilled[len(refilled)-1]] = []byte{6}
	statement, accesses, w := s.apply(t, changes)
	segments, err := collect(trace(statement, accesses, w, cutAt(1<<maxLogRows, 1), goroutines))
	if err != nil || len(segments) != len(accesses) {
		t.Fatalf("%d segments of %d accesses, error %v", len(segments), len(accesses), err)
	}
	if _, err := VerifyProof(statement, accesses, prove(t, segments), 100, goroutines); err != nil {
		t.Error(err)
	}
}

// provenBlock is a block with its proof, in several segments.
type provenBlock struct {
	statement Statement
	accesses  []types.Access
	proof     []byte
}

// newProvenBlock makes a block with all kinds of accesses to a state of 40 accounts; salt varies it.
func newProvenBlock(tb testing.TB, salt byte) provenBlock {
	tb.Helper()
	s := newState()
	genesis := map[string][]byte{}
	for i := range 40 {
		genesis[key(i)] = []byte{byte(i), 1}
	}
	s.apply(tb, genesis)
	changes := map[string][]byte{}
	for i := range 12 {
		changes[key(3*i)] = []byte{salt, byte(i)}
	}
	changes[key(1)] = genesis[key(1)]
	changes[key(4)], changes[key(100)], changes[key(101)] = nil, nil, []byte{salt, 7}
	statement, accesses, w := s.apply(tb, changes)
	segments, err := collect(trace(statement, accesses, w, cutAt(60, maxEntries), goroutines))
	if err != nil {
		tb.Fatal(err)
	}
	if len(segments) < 2 {
		tb.Fatalf("%d segments of %d rows", len(segments), segments[0].Rows())
	}
	return provenBlock{statement, accesses, prove(tb, segments)}
}

func (b *provenBlock) refuse(
	t *testing.T, name string, change func(s *Statement, accesses *[]types.Access, proof *[]byte),
) {
	t.Helper()
	s, accesses, proof := b.statement, slices.Clone(b.accesses), bytes.Clone(b.proof)
	change(&s, &accesses, &proof)
	if _, err := VerifyProof(s, accesses, proof, 100, goroutines); !errors.Is(err, ErrProof) &&
		!errors.Is(err, ErrStatement) && !errors.Is(err, ErrAccesses) {
		t.Errorf("%s: error %v", name, err)
	}
}

func TestOtherStatementsRefused(t *testing.T) {
	b := newProvenBlock(t, 1)
	if _, err := VerifyProof(b.statement, b.accesses, b.proof, 100, goroutines); err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyProof(b.statement, b.accesses, b.proof, 128, InOrder); !errors.Is(err, ErrProof) {
		t.Errorf("a proof of 100 bits where 128 are asked for: error %v, want %v", err, ErrProof)
	}
	for name, change := range map[string]func(s *Statement){
		"chain id":               func(s *Statement) { s.ChainID++ },
		"height":                 func(s *Statement) { s.Height++ },
		"block hash":             func(s *Statement) { s.BlockHash[31] ^= 1 },
		"root before":            func(s *Statement) { s.PreRoot[31] ^= 1 },
		"root before, no digest": func(s *Statement) { s.PreRoot[0] = 0xff },
		"root after":             func(s *Statement) { s.PostRoot[31] ^= 1 },
		"accesses digest":        func(s *Statement) { s.AccessesDigest[0] ^= 1 },
		"roots swapped":          func(s *Statement) { s.PreRoot, s.PostRoot = s.PostRoot, s.PreRoot },
	} {
		b.refuse(t, name, func(s *Statement, _ *[]types.Access, _ *[]byte) { change(s) })
	}
	lists := func(name string, change func(list []types.Access) []types.Access) {
		t.Helper()
		b.refuse(t, name, func(s *Statement, accesses *[]types.Access, _ *[]byte) {
			*accesses = change(*accesses)
			s.AccessesDigest = types.DigestAccesses(*accesses)
		})
	}
	lists("none", func([]types.Access) []types.Access { return nil })
	for i, a := range b.accesses {
		lists("left out", func(list []types.Access) []types.Access { return slices.Delete(list, i, i+1) })
		lists("doubled", func(list []types.Access) []types.Access { return slices.Insert(list, i, a) })
		lists("old value", func(list []types.Access) []types.Access { list[i].Old = []byte("x"); return list })
		lists("new value", func(list []types.Access) []types.Access { list[i].New = []byte("x"); return list })
		lists("other key", func(list []types.Access) []types.Access {
			list[i].Key = append(bytes.Clone(a.Key), 0)
			return list
		})
		lists("added", func(list []types.Access) []types.Access {
			return slices.Insert(list, i+1, types.Access{Key: append(bytes.Clone(a.Key), 0)})
		})
		if i > 0 {
			lists("swapped", func(list []types.Access) []types.Access { list[i], list[i-1] = list[i-1], list[i]; return list })
		}
		if i > 0 && !bytes.Equal(a.New, b.accesses[i-1].New) {
			lists("values swapped", func(list []types.Access) []types.Access {
				list[i].New, list[i-1].New = list[i-1].New, list[i].New
				return list
			})
		}
	}
}

// TestChangedBytesRefused changes every byte of a proof's description of its segments. In the arguments it changes one
// byte in many, because the proof system's own tests change each. It also cuts and lengthens the proof.
func TestChangedBytesRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := newProvenBlock(t, 1)
	stated, n := make([]bool, len(b.proof)), 0
	for i := range stated {
		stated[i] = true
	}
	decoded, err := decodeProof(b.proof)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range decoded {
		at := bytes.Index(b.proof, s.argument)
		for i := range s.argument {
			stated[at+i] = i%499 == 0
		}
	}
	for i := range b.proof {
		if stated[i] {
			b.refuse(t, "byte", func(_ *Statement, _ *[]types.Access, proof *[]byte) { (*proof)[i] ^= 1 << (i % 8) })
			n++
		}
	}
	for i := 0; i < len(b.proof); i += 997 {
		b.refuse(t, "cut", func(_ *Statement, _ *[]types.Access, proof *[]byte) { *proof = (*proof)[:i] })
	}
	b.refuse(t, "longer", func(_ *Statement, _ *[]types.Access, proof *[]byte) { *proof = append(*proof, 0) })
	t.Logf("%d of %d bytes changed, none accepted", n, len(b.proof))
}

// TestSplicedProofsRefused combines segments in another order, and segments from two blocks.
func TestSplicedProofsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	a, b := newProvenBlock(t, 1), newProvenBlock(t, 2)
	decode := func(proof []byte) []Proven {
		decoded, err := decodeProof(proof)
		if err != nil {
			t.Fatal(err)
		}
		return decoded
	}
	segments, others := decode(a.proof), decode(b.proof)
	if again := EncodeProof(segments); !bytes.Equal(again, a.proof) {
		t.Error("decoding and encoding a proof changes it")
	}
	refuse := func(name string, segments ...Proven) {
		t.Helper()
		a.refuse(t, name, func(_ *Statement, _ *[]types.Access, proof *[]byte) { *proof = EncodeProof(segments) })
	}
	last := len(segments) - 1
	refuse("the last left out", segments[:last]...)
	refuse("the first left out", segments[1:]...)
	refuse("the last twice", append(segments[:last:last], segments[last], segments[last])...)
	refuse("in the other order", segments[1], segments[0])
	refuse("another block's", others...)
	for i := range segments {
		replaced := slices.Clone(segments)
		replaced[i].argument = others[i].argument
		refuse("an argument of another block", replaced...)
		replaced[i] = Proven{others[i].part, segments[i].argument}
		refuse("a segment of another block", replaced...)
	}
}

func TestEmptyBlock(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s := Statement{Height: 3, AccessesDigest: types.DigestAccesses(nil)}
	segments, err := collect(Trace(s, nil, tree.Witness{}, goroutines))
	if err != nil || len(segments) > 0 {
		t.Fatalf("%d segments, error %v", len(segments), err)
	}
	proof := EncodeProof(nil)
	if bits, err := VerifyProof(s, nil, proof, 128, InOrder); err != nil || bits != 128 {
		t.Errorf("%d bits, error %v", bits, err)
	}
	s.PostRoot[31] = 1
	if _, err := VerifyProof(s, nil, proof, 128, InOrder); !errors.Is(err, ErrStatement) {
		t.Errorf("a changed root: error %v, want %v", err, ErrStatement)
	}
}

func FuzzDecodeProof(f *testing.F) {
	b := newProvenBlock(f, 1)
	decoded, err := decodeProof(b.proof)
	if err != nil {
		f.Fatal(err)
	}
	short := slices.Clone(decoded)
	for i := range short {
		short[i].argument = nil // arguments are opaque here
	}
	f.Add(EncodeProof(short))
	f.Add([]byte{version})
	f.Add(b.proof[:200])
	f.Fuzz(func(t *testing.T, proof []byte) {
		decoded, err := decodeProof(proof)
		if err != nil {
			if !errors.Is(err, ErrProof) {
				t.Fatal(err)
			}
			return
		}
		if again := EncodeProof(decoded); !bytes.Equal(again, proof) {
			t.Fatal("decoding and encoding changes the proof")
		}
		if _, err := VerifyProof(b.statement, b.accesses, proof, 100, InOrder); err == nil && !bytes.Equal(proof, b.proof) {
			t.Fatal("another proof is accepted")
		}
	})
}
