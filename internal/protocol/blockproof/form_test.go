package blockproof

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// TestUncoveredAccessesRefused has a prover who makes his own arguments, and leaves the last entry, by path, out of all
// segments. All his statements about the others are true, including the context and the roots. Nothing about the last
// one need be true.
func TestUncoveredAccessesRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s := newState()
	genesis := map[string][]byte{}
	for i := range 12 {
		genesis[key(i)] = []byte{byte(i), 1}
	}
	s.apply(t, genesis)
	before := s.tree.Root()
	statement, accesses, w := s.apply(t, map[string][]byte{key(3): {9}, key(4): nil, key(50): {7}})
	if statement.PreRoot != before {
		t.Fatal("the root before is another")
	}
	lie := types.Access{Old: []byte("false"), New: []byte("false")}
	var full []types.Access
	var entries []entry
	for i := 100; ; i++ { // until its path is the last
		lie.Key = []byte(key(i))
		full = append(slices.Clone(accesses), lie)
		slices.SortFunc(full, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
		var err error
		if entries, err = newEntries(full, true, InOrder); err != nil {
			t.Fatal(err)
		}
		if alone, err := newEntries([]types.Access{lie}, true, InOrder); err != nil {
			t.Fatal(err)
		} else if entries[len(entries)-1].path == alone[0].path {
			break
		}
	}
	statement.AccessesDigest = types.DigestAccesses(full)
	covered := entries[:len(entries)-1]
	segments, err := statement.all(covered, w, largest)
	if err != nil || len(segments) != 1 {
		t.Fatalf("%d segments, error %v", len(segments), err)
	}
	root, err := poseidon.ParseDigest(statement.PreRoot)
	if err != nil {
		t.Fatal(err)
	}
	segments[0].Instance = statement.instance(chain{0, 1, len(full), 0, root}, covered, &segments[0].part)
	if _, err := VerifyProof(statement, full, prove(t, segments), 100, InOrder); !errors.Is(err, ErrProof) {
		t.Errorf("a list of which one entry is in no segment: error %v, want %v", err, ErrProof)
	}
}

// TestListIsTheStatements has a prover who makes his own arguments. He gives a block's entries in an order other than
// that of their keys, with the resulting digest. As a set they are the block's, but the list is not the statement's.
func TestListIsTheStatements(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s := newState()
	s.apply(t, map[string][]byte{key(1): {1}, key(2): {2}, key(3): {3}})
	honest, accesses, w := s.apply(t, map[string][]byte{key(1): {9}, key(2): nil, key(4): {7}})
	entries, err := newEntries(accesses, true, InOrder)
	if err != nil {
		t.Fatal(err)
	}
	swapped := slices.Clone(accesses)
	swapped[0], swapped[1] = swapped[1], swapped[0]
	twice := slices.Insert(slices.Clone(accesses), 1, accesses[0])
	if _, err := newEntries(twice, true, InOrder); !errors.Is(err, ErrAccesses) {
		t.Errorf("one twice: error %v, want %v", err, ErrAccesses)
	}
	for _, test := range []struct {
		name   string
		list   []types.Access
		digest types.Digest
		want   error
	}{
		{"the block's", accesses, honest.AccessesDigest, nil},
		{"in another order", swapped, types.DigestAccesses(swapped), ErrAccesses},
		{"another digest", accesses, types.Digest{1}, ErrStatement},
	} {
		statement := honest
		statement.AccessesDigest = test.digest
		segments, err := statement.all(entries, w, largest)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyProof(statement, test.list, prove(t, segments), 100, InOrder); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", test.name, err, test.want)
		}
	}
}

// TestSegmentsCoverTheList has segments that do not cover the list, or that lead to another root.
func TestSegmentsCoverTheList(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := newProvenBlock(t, 1)
	honest, err := decodeProof(b.proof)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.statement.cover(b.accesses, honest); err != nil {
		t.Fatal(err)
	}
	last := len(honest) - 1
	empty := Proven{part: part{steps: []uint32{1}, after: honest[0].after}}
	for name, change := range map[string]func(segments []Proven) []Proven{
		"no segments":      func([]Proven) []Proven { return nil },
		"an entry too few": func(s []Proven) []Proven { s[last].levels = s[last].levels[1:]; return s },
		"an entry too many": func(s []Proven) []Proven {
			s[last].levels = append(slices.Clone(s[last].levels), 1)
			return s
		},
		"a segment of no entry":         func(s []Proven) []Proven { return slices.Insert(s, 1, empty) },
		"a segment of no entry at last": func(s []Proven) []Proven { empty.after = s[last].after; return append(s, empty) },
		"another root after":            func(s []Proven) []Proven { s[last].after[0] ^= 1; return s },
	} {
		if _, err := b.statement.cover(b.accesses, change(slices.Clone(honest))); !errors.Is(err, ErrProof) {
			t.Errorf("%s: error %v, want %v", name, err, ErrProof)
		}
	}
}

// TestProofFormIsOne refuses a description of a segment that the format cannot express, or expresses in another way.
func TestProofFormIsOne(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	s := newState()
	genesis, absent := map[string][]byte{}, map[string][]byte{}
	for i := range 20 {
		genesis[key(i)], absent[key(20+i)] = []byte{byte(i), 1}, nil
	}
	s.apply(t, genesis)
	statement, accesses, w := s.apply(t, absent)
	honest, err := collect(Trace(statement, accesses, w, InOrder))
	if err != nil || len(honest) != 1 || len(honest[0].part.others) < 2 {
		t.Fatalf("%d segments, error %v", len(honest), err)
	}
	encoded := EncodeProof([]Proven{{part: honest[0].part}}) // the argument is opaque here
	if _, err := decodeProof(encoded); err != nil {
		t.Fatal(err)
	}
	encoded[0]++
	if _, err := decodeProof(encoded); !errors.Is(err, ErrProof) {
		t.Errorf("another version: error %v, want %v", err, ErrProof)
	}
	for name, change := range map[string]func(p *part){
		"an entry at the root":       func(p *part) { p.levels[0] = 0 },
		"an entry below the leaves":  func(p *part) { p.levels[0] = pathBits + 1 },
		"a leaf at the root":         func(p *part) { p.others[0].level = 0 },
		"a leaf below the leaves":    func(p *part) { p.others[0].level = pathBits + 1 },
		"leaves that do not ascend":  func(p *part) { p.others[0], p.others[1] = p.others[1], p.others[0] },
		"a leaf twice":               func(p *part) { p.others[1] = p.others[0] },
		"a path that is no digest":   func(p *part) { p.others[len(p.others)-1].path[0] = poseidon.P },
		"a value that is no digest":  func(p *part) { p.others[0].valueHash[7] = poseidon.P },
		"a root that is no digest":   func(p *part) { p.after[7] = poseidon.P },
		"no steps":                   func(p *part) { p.steps = nil },
		"a last step of no row":      func(p *part) { p.steps = append(p.steps, 0) },
		"a step of too many rows":    func(p *part) { p.steps[0] = 1<<maxLogRows + 1 },
		"steps deeper than the tree": func(p *part) { p.steps = slices.Repeat([]uint32{1}, pathBits+1) },
	} {
		p := honest[0].part
		p.levels, p.others, p.steps = slices.Clone(p.levels), slices.Clone(p.others), slices.Clone(p.steps)
		change(&p)
		if _, err := decodeProof(EncodeProof([]Proven{{part: p}})); !errors.Is(err, ErrProof) {
			t.Errorf("%s: error %v, want %v", name, err, ErrProof)
		}
	}
}
