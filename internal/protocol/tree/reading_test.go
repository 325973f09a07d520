package tree

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// readKeys returns the witness of keys of a tree, joined from their proofs.
func readKeys(t *testing.T, tr *Tree, hashes ValueHashes, values []KeyValue) Witness {
	t.Helper()
	keys, proofs := make([][]byte, len(values)), make([]MerkleProof, len(values))
	for i, v := range values {
		keys[i], proofs[i] = v.Key, mustProve(t, tr, v.Key, hashes)
	}
	w, err := JoinMerkleProofs(keys, proofs)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestJoinedProofsAreTheWitness compares joined proofs with the witness of a change that makes the same reads.
func TestJoinedProofsAreTheWitness(t *testing.T) {
	random := newRand(5)
	shapes := map[Shape]int{}
	for range 300 {
		n := random.IntN(60)
		tr, accounts, hashes := populated(t, n)
		var values []KeyValue
		var accesses []types.Access
		for _, i := range random.Perm(n + 20)[:1+random.IntN(n+20)] {
			v := KeyValue{Key: accountKey(i)}
			if i < n {
				v.Value = accounts[i].New
			}
			values, accesses = append(values, v), append(accesses, types.Access{Key: v.Key, Old: v.Value, New: v.Value})
		}
		w := readKeys(t, tr, hashes, values)
		slices.SortFunc(accesses, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
		change, err := tr.Prepare(accesses, forwards)
		if err != nil {
			t.Fatal(err)
		}
		want, err := change.Witness(hashes)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.Shapes, want.Shapes) || !slices.Equal(w.Digests, want.Digests) {
			t.Fatalf("joined\n%v, of the change\n%v", w, want)
		}
		if err := w.VerifyReads(tr.Root(), values); err != nil {
			t.Fatal(err)
		}
		if root, err := verifyRoots(tr.Root(), accesses, w); err != nil || root != tr.Root() {
			t.Fatal(root, err)
		}
		for _, s := range w.Shapes {
			shapes[s]++
		}
	}
	for _, s := range []Shape{ShapeEmpty, ShapeOwn, ShapeOther, ShapeBranch, ShapeDigest} {
		if shapes[s] == 0 {
			t.Errorf("no witness has shape %d", s)
		}
	}
}

// TestFalseReads changes each part of a witness and of its values, one at a time.
func TestFalseReads(t *testing.T) {
	tr, accounts, hashes := populated(t, 40)
	values := []KeyValue{{accountKey(3), accounts[3].New}, {accountKey(17), accounts[17].New}}
	for i := range 12 {
		values = append(values, KeyValue{Key: accountKey(100 + i)})
	}
	w := readKeys(t, tr, hashes, values)
	refused := func(name string, w Witness, values []KeyValue) {
		t.Helper()
		if err := w.VerifyReads(tr.Root(), values); !errors.Is(err, ErrWitness) && !errors.Is(err, ErrPathCollision) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for i := range values {
		if len(values[i].Value) > 0 { // one leaf may show the absence of two keys
			refused("a key less", w, slices.Delete(slices.Clone(values), i, i+1))
		}
		other := slices.Clone(values)
		other[i].Value = append(slices.Clone(values[i].Value), 1)
		refused("another value", w, other)
		if len(values[i].Value) > 0 {
			other[i].Value = nil
			refused("absence", w, other)
		}
		refused("a key twice", w, append(slices.Clone(values), values[i]))
	}
	refused("a key more", w, append(slices.Clone(values), KeyValue{accountKey(5), accounts[5].New}))
	refused("no key", Witness{Shapes: []Shape{ShapeDigest}, Digests: []poseidon.Digest{tr.current.digest}}, nil)
	for i := range w.Shapes {
		shapes := slices.Clone(w.Shapes)
		for s := ShapeEmpty; s <= ShapeNode; s++ {
			if shapes[i] = s; s != w.Shapes[i] {
				refused("another shape", Witness{shapes, w.Digests}, values)
			}
		}
		refused("a shape less", Witness{slices.Delete(slices.Clone(w.Shapes), i, i+1), w.Digests}, values)
	}
	for i := range w.Digests {
		digests := slices.Clone(w.Digests)
		digests[i][7] ^= 1
		refused("another digest", Witness{w.Shapes, digests}, values)
		digests[i][7] = poseidon.P
		refused("no digest", Witness{w.Shapes, digests}, values)
		refused("a digest less", Witness{w.Shapes, slices.Delete(slices.Clone(w.Digests), i, i+1)}, values)
	}
	refused("a shape more", Witness{append(slices.Clone(w.Shapes), ShapeEmpty), w.Digests}, values)
	refused("a digest more", Witness{w.Shapes, append(slices.Clone(w.Digests), poseidon.Digest{1})}, values)
	deep := slices.Repeat([]Shape{ShapeBranch, ShapeEmpty}, 300)
	deep = slices.Concat(slices.Repeat([]Shape{ShapeBranch}, 300), deep)
	refused("deeper than a path", Witness{deep, w.Digests}, values[:1])
}

// TestPathsOfLeavesBeside refuses a leaf whose path does not match its position, although the root would be right.
func TestPathsOfLeavesBeside(t *testing.T) {
	key := accountKey(1)
	path, other := Path(key), poseidon.Digest{1: 5}
	other[0] = path[0] ^ 1<<(elementBits-1) // it differs in the first bit
	hash := poseidon.Hash(poseidon.TagValue, []byte{1})
	leaf := leafDigest(other, hash)
	pair := pairWithEmpty(leaf, &path, 0) // a tree that no state has: the leaf is on the key's side
	w := Witness{[]Shape{ShapeBranch, ShapeOther, ShapeEmpty}, []poseidon.Digest{other, hash}}
	err := w.VerifyReads(nodeDigest(pair[0], pair[1]).Bytes(), []KeyValue{{Key: key}})
	if !errors.Is(err, ErrWitness) {
		t.Error("a leaf elsewhere shows absence:", err)
	}
	w = Witness{[]Shape{ShapeOther}, []poseidon.Digest{path, hash}}
	err = w.VerifyReads(leafDigest(path, hash).Bytes(), []KeyValue{{Key: key}})
	if !errors.Is(err, ErrWitness) {
		t.Error("the key's own leaf shows its absence:", err)
	}
}
