package chain

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// newProven appends blocks with witnesses of the given size each.
func newProven(t *testing.T, options Options, blocks, size int) (*Store, *toyChain) {
	t.Helper()
	s, c := openStore(t, kv.Memory(), options), newToyChain(t)
	must(t, s.Init(c.genesis, c.blocks[0].Entry))
	r := rand.New(rand.NewPCG(1, 2))
	for h := 1; h <= blocks; h++ {
		e := c.next(t, r, 3)
		e.Witness = bytes.Repeat([]byte{byte(h)}, size)
		must(t, s.Append(e))
	}
	return s, c
}

func requireWitnesses(t *testing.T, s *Store, bytes uint64, heights ...types.Height) {
	t.Helper()
	if kept, err := s.WitnessBytes(); err != nil || kept != bytes {
		t.Errorf("%d bytes of witnesses are counted, %v; want %d", kept, err, bytes)
	}
	var got []types.Height
	for from := types.Height(0); ; {
		h, err := s.Unproven(from)
		if err != nil {
			requireIs(t, "Unproven", err, ErrNotFound)
			break
		}
		got, from = append(got, h), h+1
	}
	if len(got) != len(heights) {
		t.Fatalf("blocks %d wait for a proof, want %d", got, heights)
	}
	for i := range got {
		if got[i] != heights[i] {
			t.Fatalf("blocks %d wait for a proof, want %d", got, heights)
		}
	}
}

func TestProofReplacesWitness(t *testing.T) {
	s, _ := newProven(t, Options{WitnessBytes: 1000}, 3, 100)
	requireWitnesses(t, s, 300, 1, 2, 3)
	witness, err := s.Witness(2)
	if err != nil || !bytes.Equal(witness, bytes.Repeat([]byte{2}, 100)) {
		t.Errorf("witness %x, error %v", witness, err)
	}
	_, err = s.Proof(2)
	requireIs(t, "Proof before there is one", err, ErrNotFound)
	_, err = s.Proofs()
	requireIs(t, "Proofs before there is one", err, ErrNotFound)
	must(t, s.PutProof(2, []byte("proof")))
	requireWitnesses(t, s, 200, 1, 3)
	if proof, err := s.Proof(2); err != nil || string(proof) != "proof" {
		t.Errorf("proof %q, want proof, error %v", proof, err)
	}
	_, err = s.Witness(2)
	requireIs(t, "Witness of a proven block", err, ErrNotFound)
	must(t, s.PutProof(3, []byte("proof")))
	if r, err := s.Proofs(); err != nil || r != (ProofRange{2, 3}) {
		t.Errorf("proofs %v, error %v", r, err)
	}
	if r, err := s.Witnesses(); err != nil || r != (ProofRange{1, 1}) {
		t.Errorf("witnesses %v, error %v", r, err)
	}
	requireIs(t, "PutProof above the head", s.PutProof(4, []byte("proof")), ErrNotFound)
	requireSound(t, s)
}

func TestWitnessesAreBounded(t *testing.T) {
	s, c := newProven(t, Options{WitnessBytes: 250}, 3, 100)
	requireWitnesses(t, s, 200, 1, 2)
	must(t, s.PutProof(1, []byte("proof")))
	e := c.next(t, rand.New(rand.NewPCG(3, 4)), 3)
	e.Witness = make([]byte, 150)
	must(t, s.Append(e))
	requireWitnesses(t, s, 250, 2, 4)
	r, err := s.Begin()
	must(t, err)
	if keeps, err := r.KeepsWitnesses(); err != nil || keeps {
		t.Errorf("a store that is full keeps more: got %v, error %v", keeps, err)
	}
	must(t, r.End())
	none, _ := newProven(t, Options{}, 2, 100)
	requireWitnesses(t, none, 0)
}

func TestPruneAndRewindProofs(t *testing.T) {
	s, _ := newProven(t, Options{WitnessBytes: 1000, Retention: 2}, 5, 10)
	must(t, s.PutProof(1, []byte("proof")))
	must(t, s.PutProof(4, []byte("proof")))
	must(t, s.PutProof(5, []byte("proof")))
	must(t, s.Prune(context.Background()))
	requireWitnesses(t, s, 10, 3)
	_, err := s.Proof(1)
	requireIs(t, "Proof of a pruned block", err, ErrPruned)
	if r, err := s.Proofs(); err != nil || r != (ProofRange{4, 5}) {
		t.Errorf("proofs %v, error %v", r, err)
	}
	requireSound(t, s)

	s, _ = newProven(t, Options{WitnessBytes: 1000}, 5, 10)
	must(t, s.PutProof(2, []byte("proof")))
	must(t, s.PutProof(4, []byte("proof")))
	_, err = s.Rewind(2)
	must(t, err)
	requireWitnesses(t, s, 10, 1)
	if r, err := s.Proofs(); err != nil || r != (ProofRange{2, 2}) {
		t.Errorf("proofs %v, error %v", r, err)
	}
	requireSound(t, s)
}

// TestProofWithoutParent has stores that lack the parent of their oldest block, so they can prove nothing about that
// block.
func TestProofWithoutParent(t *testing.T) {
	pruned, _ := newProven(t, Options{Retention: 2}, 5, 10)
	for h := range types.Height(5) {
		must(t, pruned.PutProof(h+1, []byte("proof")))
	}
	must(t, pruned.Prune(context.Background()))

	original, c := newProven(t, Options{}, 3, 10)
	copied := copyState(t, original)
	copied.block.Proof = []byte("proof")
	restored := openStore(t, kv.Memory(), Options{})
	must(t, copied.restore(restored, c))
	r := rand.New(rand.NewPCG(5, 6))
	_, err := restored.Proofs()
	requireIs(t, "Proofs of the snapshot's block alone", err, ErrNotFound)
	for range 2 {
		e := c.next(t, r, 3)
		e.Proof = []byte("proof")
		must(t, restored.Append(e))
	}

	for name, s := range map[string]*Store{"pruned": pruned, "restored": restored} {
		if oldest, first := s.OldestHeight(), s.OldestProvable(); oldest != 3 || first != 4 {
			t.Errorf("%s: the oldest block is %d, the first that can be proven %d", name, oldest, first)
		}
		_, err := s.Proof(3)
		requireIs(t, name+": Proof of the oldest block", err, ErrPruned)
		requireIs(t, name+": PutProof of the oldest block", s.PutProof(3, []byte("proof")), ErrPruned)
		if r, err := s.Proofs(); err != nil || r != (ProofRange{4, 5}) {
			t.Errorf("%s: proofs %v, error %v", name, r, err)
		}
		requireSound(t, s)
	}

	whole, _ := newProven(t, Options{Retention: 2}, 3, 10)
	must(t, whole.PutProof(1, []byte("proof")))
	must(t, whole.Prune(context.Background()))
	if r, err := whole.Proofs(); err != nil || r != (ProofRange{1, 1}) || whole.OldestHeight() != 1 {
		t.Errorf("of block 1, whose parent is always there: got %v, error %v", r, err)
	}
}

func TestProofRetention(t *testing.T) {
	s, _ := newProven(t, Options{WitnessBytes: 1000, ProofRetention: 2}, 5, 10)
	for h := range types.Height(5) {
		must(t, s.PutProof(h+1, []byte("proof")))
	}
	if r, err := s.Proofs(); err != nil || r != (ProofRange{4, 5}) {
		t.Errorf("proofs %v, error %v", r, err)
	}
}

func TestCheckCountsWitnesses(t *testing.T) {
	s, _ := newProven(t, Options{WitnessBytes: 1000}, 2, 10)
	report := change(t, s, func(b *kv.Batch) { b.Set(tableWitnesses.atHeight(2), make([]byte, 9)) })
	requireProblem(t, "a shortened witness", report, "19 bytes of witnesses, 20 are counted")
}

func TestWithoutProof(t *testing.T) {
	s, _ := newProven(t, Options{WitnessBytes: 1000}, 5, 100)
	for _, h := range []types.Height{2, 3, 5} {
		must(t, s.PutProof(h, []byte("proof")))
	}
	for from, want := range map[types.Height]types.Height{0: 0, 1: 1, 2: 4, 3: 4, 4: 4} {
		if h, err := s.WithoutProof(from); err != nil || h != want {
			t.Errorf("from block %d: %d, %v; want %d", from, h, err, want)
		}
	}
	_, err := s.WithoutProof(5)
	requireIs(t, "all from the last on have one", err, ErrNotFound)
	_, err = s.WithoutProof(6)
	requireIs(t, "a block above the head", err, ErrNotFound)
}
