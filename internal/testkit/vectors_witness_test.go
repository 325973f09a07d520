package testkit

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// witnessVector is a witness of keys that are read, as in a proof of a view, and whether it is valid.
type witnessVector struct {
	About   string         `json:"about"`
	Root    bytesHex       `json:"root"`
	Values  []recordVector `json:"values"` // empty: the key has no value
	Witness bytesHex       `json:"witness"`
	Holds   bool           `json:"holds"`
}

func (v witnessVector) holds() bool {
	w, err := tree.DecodeWitness(v.Witness)
	if err != nil {
		return false
	}
	values := make([]tree.KeyValue, len(v.Values))
	for i, r := range v.Values {
		values[i] = tree.KeyValue{Key: r.Key, Value: r.Value}
	}
	return w.VerifyReads(types.StateRoot(v.Root), values) == nil
}

// readWitness is the witness of keys in a state.
func readWitness(t *testing.T, records []recordVector, keys ...[]byte) (v witnessVector, w tree.Witness) {
	t.Helper()
	committed, tr := asMap(records), tree.Tree{}
	inTurn := func(n int, f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	for _, r := range records {
		change, err := tr.Prepare([]types.Access{{Key: r.Key, New: r.Value}}, inTurn)
		if err != nil {
			t.Fatal(err)
		}
		tr.Commit(change, inTurn)
	}
	proofs := make([]tree.MerkleProof, len(keys))
	for i, key := range keys {
		naive := naiveProve(committed, key)
		var err error
		if proofs[i], err = tr.Prove(key, func(poseidon.Digest) (poseidon.Digest, error) {
			return poseidon.Digest(naive.end.valueHash), nil
		}); err != nil {
			t.Fatal(err)
		}
		v.Values = append(v.Values, recordVector{key, committed[string(key)]})
	}
	w, err := tree.JoinMerkleProofs(keys, proofs)
	if err != nil {
		t.Fatal(err)
	}
	root := tr.Root()
	v.Root, v.Witness, v.Holds = root[:], w.Encode(), true
	return v, w
}

// stateWitnesses has all shapes of witnesses, and witnesses that are invalid in each way.
func stateWitnesses(t *testing.T) (vectors []witnessVector) {
	t.Helper()
	add := func(about string, v witnessVector) {
		v.About = about
		if v.holds() != v.Holds {
			t.Errorf("%s: it holds: %t", about, !v.Holds)
		}
		vectors = append(vectors, v)
	}
	empty, _ := readWitness(t, nil, recordKey(0x11))
	add("an empty state", empty)
	one, _ := readWitness(t, exampleState(1), recordKey(0x11), recordKey(0x22))
	add("a key with a value and one without, both where the one entry lies", one)

	// In the state of ten, the path of 33… ends at another entry, and that of 35… at nothing.
	whole, w := readWitness(t, exampleState(10), recordKey(5), recordKey(0x11), recordKey(0x33), recordKey(0x35))
	add("four keys, two of them with values", whole)
	changed := func(change func(*witnessVector, *tree.Witness)) witnessVector {
		v, other := whole, tree.Witness{Shapes: slices.Clone(w.Shapes), Digests: slices.Clone(w.Digests)}
		v.Values, v.Holds = slices.Clone(whole.Values), false
		change(&v, &other)
		if bytes.Equal(v.Witness, whole.Witness) {
			v.Witness = other.Encode()
		}
		return v
	}
	at := func(shape tree.Shape) int {
		i := slices.Index(w.Shapes, shape)
		if i < 0 {
			t.Fatalf("the witness has no shape %d: got %v", shape, w.Shapes)
		}
		return i
	}
	// digestOf returns the index of the first digest of the first shape of a kind.
	digestOf := func(shape tree.Shape) (n int) {
		for _, s := range w.Shapes[:at(shape)] {
			switch s {
			case tree.ShapeOther:
				n += 2
			case tree.ShapeDigest:
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		about  string
		change func(*witnessVector, *tree.Witness)
	}{
		{"another root", func(v *witnessVector, _ *tree.Witness) {
			v.Root = slices.Clone(v.Root)
			v.Root[31] ^= 1
		}},
		{"another value", func(v *witnessVector, _ *tree.Witness) { v.Values[0].Value = bytesHex{1} }},
		{"a value that is hidden", func(v *witnessVector, _ *tree.Witness) { v.Values[0].Value = nil }},
		{"a value that is made up", func(v *witnessVector, _ *tree.Witness) { v.Values[3].Value = bytesHex{1} }},
		{"another key", func(v *witnessVector, _ *tree.Witness) { v.Values[3].Key = recordKey(0x36) }},
		{"a key less", func(v *witnessVector, _ *tree.Witness) { v.Values = v.Values[1:] }},
		{"a shape less", func(_ *witnessVector, w *tree.Witness) { w.Shapes = w.Shapes[:len(w.Shapes)-1] }},
		{"a shape more", func(_ *witnessVector, w *tree.Witness) { w.Shapes = append(w.Shapes, tree.ShapeEmpty) }},
		{"a digest less", func(_ *witnessVector, w *tree.Witness) { w.Digests = w.Digests[:len(w.Digests)-1] }},
		{"a digest more", func(_ *witnessVector, w *tree.Witness) { w.Digests = append(w.Digests, w.Digests[0]) }},
		{"an own entry said to be none", func(_ *witnessVector, w *tree.Witness) {
			w.Shapes[at(tree.ShapeOwn)] = tree.ShapeEmpty
		}},
		{"nothing said to be an own entry", func(_ *witnessVector, w *tree.Witness) {
			w.Shapes[at(tree.ShapeEmpty)] = tree.ShapeOwn
		}},
		{"another entry said to be none", func(_ *witnessVector, w *tree.Witness) {
			w.Shapes[at(tree.ShapeOther)] = tree.ShapeEmpty
		}},
		{"another entry under the key itself", func(_ *witnessVector, w *tree.Witness) {
			w.Digests[digestOf(tree.ShapeOther)] = poseidon.Hash(poseidon.TagPath, recordKey(0x33))
		}},
		{"another entry that does not lie there", func(_ *witnessVector, w *tree.Witness) {
			w.Digests[digestOf(tree.ShapeOther)][0] ^= 1 << 30
		}},
		{"an element over the modulus", func(_ *witnessVector, w *tree.Witness) {
			w.Digests[digestOf(tree.ShapeDigest)][0] += koalaBear
		}},
		{"a shape that does not occur", func(v *witnessVector, _ *tree.Witness) {
			v.Witness = slices.Clone(v.Witness)
			v.Witness[8+at(tree.ShapeOther)] = byte(tree.ShapeNode)
		}},
		{"bytes left over", func(v *witnessVector, _ *tree.Witness) { v.Witness = append(slices.Clone(v.Witness), 0) }},
	} {
		add(c.about, changed(c.change))
	}
	// These lead to the root.
	add("a value that is hidden behind its own entry", hiddenValue(t))
	add("nothing at a half without keys, said as a digest", zeroDigest(t))
	return vectors
}

// hiddenValue claims that another entry is at the place of a state's only key.
func hiddenValue(t *testing.T) witnessVector {
	t.Helper()
	records := exampleState(1)
	v, _ := readWitness(t, records, records[0].Key)
	digests := []poseidon.Digest{
		poseidon.Hash(poseidon.TagPath, records[0].Key), poseidon.Hash(poseidon.TagValue, records[0].Value),
	}
	v.Values[0].Value, v.Holds = nil, false
	v.Witness = tree.Witness{Shapes: []tree.Shape{tree.ShapeOther}, Digests: digests}.Encode()
	return v
}

// zeroDigest has the digest of an empty subtree where a half of the tree has no entry.
func zeroDigest(t *testing.T) witnessVector {
	t.Helper()
	records := exampleState(10)
	for _, r := range records {
		v, w := readWitness(t, records, r.Key)
		at := slices.Index(w.Shapes, tree.ShapeEmpty) // the half without keys, since the only key has a value
		if at < 0 {
			continue
		}
		before := 0
		for _, s := range w.Shapes[:at] {
			if s == tree.ShapeDigest {
				before++
			}
		}
		w.Shapes[at], w.Digests = tree.ShapeDigest, slices.Insert(w.Digests, before, poseidon.Digest{})
		v.Witness, v.Holds = w.Encode(), false
		return v
	}
	t.Fatal("no key lies beside an empty half")
	return witnessVector{}
}
