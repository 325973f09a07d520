package tree

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

var joins = flag.Int("joins", 200, "random ranges of blocks whose witnesses TestJoinWitnesses joins")

// union returns the combined accesses of consecutive lists.
func union(lists [][]types.Access) []types.Access {
	byKey := map[string]types.Access{}
	for _, list := range lists {
		for _, a := range list {
			if first, known := byKey[string(a.Key)]; known {
				a.Old = first.Old
			}
			byKey[string(a.Key)] = a
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
}

// modelOf returns a state with these values.
func modelOf(values map[string][]byte) model {
	m := model{}
	for key, value := range values {
		if len(value) > 0 {
			m[Path([]byte(key))] = poseidon.Hash(poseidon.TagValue, value)
		}
	}
	return m
}

func witnessOf(t *testing.T, m model, list []types.Access) (Witness, types.StateRoot) {
	t.Helper()
	c, err := m.tree(t).Prepare(list, forwards)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Witness(m.valueHash)
	if err != nil {
		t.Fatal(err)
	}
	return w, c.Root()
}

// TestJoinWitnesses joins the witnesses of random blocks. The result equals the tree's witness for all of them as one
// block, and leads to the root after the last.
func TestJoinWitnesses(t *testing.T) {
	unopened := 0
	for seed := range uint64(*joins) {
		r := rand.New(rand.NewPCG(seed, 1))
		keys, before := 2+r.IntN(60), map[string][]byte{}
		for i := range keys {
			if r.IntN(2) == 0 {
				before[string(accountKey(i))] = []byte{1, byte(i)}
			}
		}
		now := maps.Clone(before)
		var lists [][]types.Access
		var witnesses []Witness
		deletes := r.IntN(3)
		for range 1 + r.IntN(6) {
			list := randomList(r, now, keys, deletes)
			w, _ := witnessOf(t, modelOf(now), list)
			for _, a := range list {
				now[string(a.Key)] = a.New
			}
			lists, witnesses = append(lists, list), append(witnesses, w)
		}
		all := union(lists)
		want, root := witnessOf(t, modelOf(before), all)
		if root != types.StateRoot(modelOf(now).root().Bytes()) {
			t.Fatalf("seed %d: the union leads to another root", seed)
		}
		got, err := JoinWitnesses(all, lists, witnesses)
		if errors.Is(err, ErrUnopened) && deletes > 0 {
			unopened++
			continue
		}
		if err != nil || !slices.Equal(got.Shapes, want.Shapes) || !slices.Equal(got.Digests, want.Digests) {
			t.Fatalf("seed %d: %v\n%v\n%v", seed, err, got, want)
		}
	}
	if t.Logf("%d of %d ranges are not opened", unopened, *joins); unopened > *joins/10 {
		t.Error("too many")
	}
}

// randomList returns a block's accesses: reads, writes, and deletions, which become more frequent with the last
// argument.
func randomList(r *rand.Rand, now map[string][]byte, keys, deletes int) []types.Access {
	byKey := map[string]types.Access{}
	for range r.IntN(8) {
		a := types.Access{Key: accountKey(r.IntN(keys))}
		a.Old = now[string(a.Key)]
		switch n := r.IntN(4); {
		case n < deletes:
		case n == 3:
			a.New = a.Old
		default:
			a.New = []byte{2, byte(r.IntN(3))}
		}
		byKey[string(a.Key)] = a
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
}

// TestJoinOtherWitnesses: witnesses that do not belong together are refused, or give a witness that leads to another
// root, and nothing panics.
func TestJoinOtherWitnesses(t *testing.T) {
	a, b := newBlock(t, 30, 2), newBlock(t, 12, 3)
	lists := [][]types.Access{a.accesses}
	joined, err := JoinWitnesses(a.accesses, lists, []Witness{a.witness})
	if err != nil || !slices.Equal(joined.Digests, a.witness.Digests) {
		t.Fatalf("one list: error %v", err)
	}
	for name, w := range map[string][]Witness{
		"none": nil, "two": {a.witness, a.witness}, "another's": {b.witness}, "empty": {{}},
	} {
		if joined, err := JoinWitnesses(a.accesses, lists, w); err == nil {
			if root, err := a.verify(joined); err == nil && root == a.new {
				t.Errorf("%s: accepted", name)
			}
		}
	}
	for i := range a.witness.Shapes {
		w := Witness{slices.Clone(a.witness.Shapes), a.witness.Digests}
		for s := range Shape(8) {
			if w.Shapes[i] = s; s == a.witness.Shapes[i] {
				continue
			}
			if joined, err := JoinWitnesses(a.accesses, lists, []Witness{w}); err == nil {
				if root, err := a.verify(joined); err == nil && root != a.new {
					t.Errorf("shape %d as %d: leads to another root", i, s)
				}
			}
		}
	}
	if _, err := JoinWitnesses(a.accesses[1:], lists, []Witness{a.witness}); !errors.Is(err, ErrWitness) {
		t.Errorf("a union without a key: error %v, want %v", err, ErrWitness)
	}
}
