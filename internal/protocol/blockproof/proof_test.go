package blockproof

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/prover"
	"github.com/cairn-chain/cairn/internal/proof/stark"
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

// apply is a block that gives keys new values; it returns what a prover gets.
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
	var arguments [][]byte
	for i := range segments {
		s := &segments[i]
		argument, err := testProver().Prove(&stark.Statement{
			Circuit: Circuit(), Context: s.Context, Public: s.Public, Terms: s.Terms,
		}, level, s.Columns(goroutines), goroutines)
		if err != nil {
			tb.Fatal(err)
		}
		arguments = append(arguments, argument)
	}
	return EncodeProof(segments, arguments)
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
		segments, err := Trace(statement, accesses, w, goroutines)
		if err != nil {
			t.Fatal(err)
		}
		proof := prove(t, segments)
		bits, err := VerifyProof(statement, accesses, proof, 100)
		if err != nil || bits != 100 {
			t.Fatalf("%d bits, %v", bits, err)
		}
		t.Logf("%d accesses, %d rows: %d bytes", len(accesses), len(segments[0].rows), len(proof))
	}
}
