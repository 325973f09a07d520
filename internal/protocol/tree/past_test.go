package tree

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// TestPastProofsOfModel applies random accesses to random trees and proves paths in the resulting versions. Each proof
// must equal the proof from a tree that was loaded with that version.
func TestPastProofsOfModel(t *testing.T) {
	ends := map[EndKind]int{}
	for seed := range uint64(40) {
		r := newRand(seed)
		m := model{}
		for range r.IntN(5) {
			m = m.apply(randomItems(r, m, 1+r.IntN(12)))
		}
		items := randomItems(r, m, 1+r.IntN(30))
		before, after := m.tree(t), m.apply(items)
		want := after.tree(t)
		accesses, err := sorted(items)
		if err != nil {
			t.Fatal(err)
		}
		past := Past{accesses}
		for _, p := range append(append(after.paths(), m.paths()...), randomDigest(r)) {
			for _, path := range []poseidon.Digest{p, neighbour(r, p, r.IntN(pathBits)), neighbour(r, p, r.IntN(pathBits))} {
				got, err := past.prove(before, &path, goroutines)
				if err != nil {
					t.Fatalf("seed %d: error %v", seed, err)
				}
				expected := want.prove(path)
				if !slices.Equal(got.Siblings, expected.Siblings) || got.End != expected.End {
					t.Fatalf("seed %d: got %d siblings and end %d, want %d and %d", seed, len(got.Siblings), got.End.Kind,
						len(expected.Siblings), expected.End.Kind)
				}
				ends[got.End.Kind]++
			}
		}
		if before.current.digest != m.root() {
			t.Fatalf("seed %d: proving changed the tree", seed)
		}
	}
	for _, kind := range []EndKind{EndEmpty, EndLeaf, EndOther} {
		if ends[kind] < 50 {
			t.Errorf("only %d proofs with end %d", ends[kind], kind)
		}
	}
}

// TestPast takes a tree of accounts back to an earlier version and verifies proofs under its root.
func TestPast(t *testing.T) {
	tr, accounts, hashes := populated(t, 400)
	root := tr.Root()
	var forth, back []types.Access
	for i := range 600 { // of the accounts, 100 are changed, 100 removed, 200 unchanged and 200 new
		a := types.Access{Key: accountKey(i), New: []byte{1, byte(i)}}
		switch {
		case i < 100:
			a.Old = accounts[i].New
		case i < 200:
			a.Old, a.New = accounts[i].New, nil
		case i < 400:
			continue
		}
		forth = append(forth, a)
		back = append(back, types.Access{Key: a.Key, Old: a.New, New: a.Old})
	}
	change, err := tr.Prepare(forth, goroutines)
	if err != nil {
		t.Fatal(err)
	}
	tr.Commit(change, goroutines)
	past, err := NewPast(back, goroutines)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < 700; i += 9 {
		var value []byte
		if i < 400 {
			value = accounts[i].New
		}
		proof, err := past.Prove(tr, accountKey(i), hashes, goroutines)
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.Verify(root, accountKey(i), value); err != nil {
			t.Errorf("account %d: error %v", i, err)
		}
		if err := proof.Verify(tr.Root(), accountKey(i), value); !errors.Is(err, ErrMerkleProof) {
			t.Errorf("account %d: proved in the version after: error %v, want %v", i, err, ErrMerkleProof)
		}
	}
}

func TestPastRefuses(t *testing.T) {
	tr, accounts, hashes := populated(t, 300)
	for name, c := range map[string]struct {
		accesses []types.Access
		want     error
	}{
		"one key twice": {
			[]types.Access{{Key: []byte{9}, New: []byte{1}}, {Key: []byte{9}, New: []byte{2}}}, ErrDuplicateKey,
		},
		"a value that is not":   {[]types.Access{{Key: []byte{9}, Old: []byte{1}}}, ErrMismatch},
		"no value where one is": {[]types.Access{{Key: accounts[5].Key, New: []byte{1}}}, ErrMismatch},
		"the same in few leaves": {
			[]types.Access{{Key: accounts[5].Key, New: []byte{1}}, {Key: accounts[6].Key, New: []byte{1}}}, ErrMismatch,
		},
	} {
		past, err := NewPast(c.accesses, goroutines)
		for i := 0; i < 20 && err == nil; i++ {
			_, err = past.Prove(tr, accountKey(i), hashes, goroutines)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}
