package tree

import (
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

func mustProve(t *testing.T, tr *Tree, key []byte, hashes ValueHashes) MerkleProof {
	t.Helper()
	p, err := tr.Prove(key, hashes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProofs(t *testing.T) {
	ends := map[EndKind]int{}
	for _, n := range []int{0, 1, 2, 3, 50, 300} {
		tr, accounts, hashes := populated(t, n)
		for i := range n + 200 {
			key, value := accountKey(i), []byte(nil)
			if i < n {
				value = accounts[i].New
			}
			p := mustProve(t, tr, key, hashes)
			ends[p.End.Kind]++
			if (p.End.Kind == EndLeaf) != (i < n) {
				t.Fatalf("account %d of %d ends in %d", i, n, p.End.Kind)
			}
			if err := p.Verify(tr.Root(), key, value); err != nil {
				t.Fatalf("account %d of %d: error %v", i, n, err)
			}
			other := []byte{42, 42}
			if i < n {
				other = nil
			}
			for name, err := range map[string]error{
				"another value":       p.Verify(tr.Root(), key, append(slices.Clone(value), 1)),
				"presence or absence": p.Verify(tr.Root(), key, other),
				"another root":        p.Verify(types.StateRoot{31: 1}, key, value),
			} {
				if !errors.Is(err, ErrMerkleProof) {
					t.Fatalf("%s is accepted: error %v, want %v", name, err, ErrMerkleProof)
				}
			}
		}
	}
	for _, kind := range []EndKind{EndEmpty, EndLeaf, EndOther} {
		if ends[kind] < 20 {
			t.Errorf("only %d proofs with end %d", ends[kind], kind)
		}
	}
}

// TestProofsOfModel proves paths that share many bits with others, so that all chains and the depths at which they end
// occur.
func TestProofsOfModel(t *testing.T) {
	for seed := range uint64(40) {
		r := newRand(seed)
		m := model{}
		for range 4 {
			m = m.apply(randomItems(r, m, 10))
		}
		tr := m.tree(t)
		for _, p := range append(m.paths(), randomDigest(r)) {
			for _, path := range []poseidon.Digest{p, neighbour(r, p, r.IntN(pathBits)), neighbour(r, p, r.IntN(pathBits))} {
				proof := tr.prove(path)
				hash, ok := m[path]
				if (proof.End.Kind == EndLeaf) != ok {
					t.Fatalf("end %d of a path that is there: got %t", proof.End.Kind, ok)
				}
				d := poseidon.Digest{}
				switch proof.End.Kind {
				case EndLeaf:
					d = leafDigest(path, hash)
				case EndOther:
					d = leafDigest(proof.End.Path, m[proof.End.Path])
				}
				if got := proof.fold(&path, d); got != tr.current.digest {
					t.Fatalf("seed %d: the proof gives root %v, want %v", seed, got, tr.current.digest)
				}
			}
		}
	}
}

// TestProofCorrupted changes every part of valid proofs.
func TestProofCorrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	tr, accounts, hashes := populated(t, 60)
	for i := range 100 {
		key, value := accountKey(i), []byte(nil)
		if i < len(accounts) {
			value = accounts[i].New
		}
		valid := mustProve(t, tr, key, hashes)
		check := func(name string, change func(p *MerkleProof)) {
			t.Helper()
			p := valid
			p.Siblings = slices.Clone(p.Siblings)
			change(&p)
			if err := p.Verify(tr.Root(), key, value); !errors.Is(err, ErrMerkleProof) {
				t.Fatalf("account %d, %s: error %v, want %v", i, name, err, ErrMerkleProof)
			}
		}
		flip := func(name string, at func(p *MerkleProof) *poseidon.Digest) {
			t.Helper()
			for b := range 256 {
				check(name, func(p *MerkleProof) { at(p)[b/32] ^= 1 << (b % 32) })
			}
		}
		if i%10 == 0 {
			for j := range valid.Siblings {
				flip("sibling", func(p *MerkleProof) *poseidon.Digest { return &p.Siblings[j] })
			}
			flip("path", func(p *MerkleProof) *poseidon.Digest { return &p.End.Path })
			flip("value hash", func(p *MerkleProof) *poseidon.Digest { return &p.End.ValueHash })
		}
		for kind := range EndKind(5) {
			if kind != valid.End.Kind {
				check("end", func(p *MerkleProof) { p.End.Kind = kind })
			}
		}
		check("sibling more", func(p *MerkleProof) { p.Siblings = append(p.Siblings, poseidon.Digest{}) })
		check("sibling less", func(p *MerkleProof) { p.Siblings = p.Siblings[:len(p.Siblings)-1] })
		check("too many siblings", func(p *MerkleProof) { p.Siblings = make([]poseidon.Digest, pathBits+1) })
		check("siblings reversed", func(p *MerkleProof) { slices.Reverse(p.Siblings) })
	}
}

// TestProofOfOther: a leaf at the end of a path shows absence only for other paths that lead to it.
func TestProofOfOther(t *testing.T) {
	tr, accounts, _ := populated(t, 20)
	key, value := accounts[3].Key, accounts[3].New
	p := tr.prove(Path(key))
	p.End = End{Kind: EndOther, Path: Path(key), ValueHash: poseidon.Hash(poseidon.TagValue, value)}
	if err := p.Verify(tr.Root(), key, nil); !errors.Is(err, ErrMerkleProof) {
		t.Errorf("absence by the key's own leaf: error %v, want %v", err, ErrMerkleProof)
	}
	for i := range 400 { // the same end, for keys that lead elsewhere
		absent := accountKey(1000 + i)
		path := Path(absent)
		leads := commonBits(&path, &p.End.Path) >= len(p.Siblings)
		if err := p.Verify(tr.Root(), absent, nil); (err == nil) != leads {
			t.Errorf("absence by the end of a proof of another key, on the way to it %t: error %v", leads, err)
		}
	}
}

func TestProveWithoutValueHash(t *testing.T) {
	tr, _, _ := populated(t, 1)
	if _, err := tr.Prove(accountKey(7), model{}.valueHash); !errors.Is(err, errNoLeaf) {
		t.Errorf("%v, want %v", err, errNoLeaf)
	}
}
