package chain

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// newSpent returns a store whose blocks are proven, and keep their witnesses of 100 bytes.
func newSpent(t *testing.T, options Options, blocks int) (*Store, *toyChain) {
	t.Helper()
	options.SpentWitnesses = true
	s, c := newProven(t, options, blocks, 100)
	for h := types.Height(1); h <= types.Height(blocks); h++ {
		must(t, s.PutProof(h, []byte("proof")))
	}
	return s, c
}

// putSpans stores a proof, which is its name, for each span of two and of four blocks.
func putSpans(t *testing.T, s *Store) {
	t.Helper()
	for log := 1; log <= 2; log++ {
		blocks := types.Height(1) << log
		for last := blocks; last <= s.Head().Header.Height; last += blocks {
			span := blockproof.NewSpan(last, log)
			must(t, s.PutRangeProof(span, rangeRow(span)))
		}
	}
}

// spansIn returns the proven spans of two and of four blocks up to a height.
func spansIn(t *testing.T, s *Store, to types.Height) (spans []blockproof.Span) {
	t.Helper()
	for log := 1; log <= 2; log++ {
		blocks := types.Height(1) << log
		for last := blocks; last <= to; last += blocks {
			span := blockproof.NewSpan(last, log)
			proof, err := s.RangeProof(span)
			has, hasErr := s.HasRangeProof(span)
			if hasErr != nil || has != (err == nil) || err == nil && !bytes.Equal(proof, rangeRow(span)) {
				t.Errorf("span %x: has %t, %v, proof %x, error %v", span, has, hasErr, proof, err)
			}
			if err == nil {
				spans = append(spans, span)
			} else if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrPruned) {
				t.Errorf("span %x: error %v", span, err)
			}
		}
	}
	return spans
}

func TestSpentWitnesses(t *testing.T) {
	s, c := newSpent(t, Options{WitnessBytes: 1000}, 4)
	requireWitnesses(t, s, 400)
	for h := types.Height(1); h <= 4; h++ {
		if w, err := s.AnyWitness(h); err != nil || !bytes.Equal(w, bytes.Repeat([]byte{byte(h)}, 100)) {
			t.Errorf("block %d: witness %x, error %v", h, w, err)
		}
		_, err := s.Witness(h)
		requireIs(t, "Witness of a proven block", err, ErrNotFound)
	}
	must(t, s.DropSpent(2))
	requireWitnesses(t, s, 200)
	if oldest, err := s.OldestSpent(); err != nil || oldest != 3 {
		t.Errorf("the oldest is of block %d, want 3, error %v", oldest, err)
	}
	_, err := s.AnyWitness(2)
	requireIs(t, "AnyWitness of a block without", err, ErrNotFound)
	r := rand.New(rand.NewPCG(1, 2))
	for h := types.Height(5); h <= 9; h++ { // used witnesses take at most half of the space
		e := c.next(t, r, 3)
		e.Witness = make([]byte, 100)
		must(t, s.Append(e))
		must(t, s.PutProof(h, []byte("proof")))
	}
	requireWitnesses(t, s, 500)
	requireSound(t, s)
	must(t, s.DropSpent(9))
	requireWitnesses(t, s, 0)
	_, err = s.OldestSpent()
	requireIs(t, "OldestSpent of none", err, ErrNotFound)
	requireSound(t, s)
}

func TestRangeProofs(t *testing.T) {
	s, _ := newSpent(t, Options{WitnessBytes: 1 << 20}, 9)
	if all, err := s.Ranges(); err != nil || all != nil {
		t.Errorf("ranges %v, error %v", all, err)
	}
	putSpans(t, s)
	want := []Ranges{{2, ProofRange{1, 8}}, {4, ProofRange{1, 8}}}
	if all, err := s.Ranges(); err != nil || !slices.Equal(all, want) {
		t.Errorf("ranges %v, %v; want %v", all, err, want)
	}
	requireIs(t, "PutRangeProof above the head", s.PutRangeProof(blockproof.NewSpan(10, 1), []byte{1}), ErrNotFound)
	requireIs(t, "PutRangeProof of no span", s.PutRangeProof(blockproof.NewSpan(3, 1), []byte{1}), ErrNotFound)
	if r, err := s.Proofs(); err != nil || r != (ProofRange{1, 9}) {
		t.Errorf("proofs of blocks %v, error %v", r, err)
	}
	requireSound(t, s)
}

// TestPruneRangeProofs: the remaining proofs have all their blocks, and the header before them.
func TestPruneRangeProofs(t *testing.T) {
	for retention, want := range map[uint64][]blockproof.Span{
		9: {blockproof.NewSpan(2, 1), blockproof.NewSpan(4, 1), blockproof.NewSpan(6, 1), blockproof.NewSpan(8, 1),
			blockproof.NewSpan(4, 2), blockproof.NewSpan(8, 2)},
		8: {blockproof.NewSpan(2, 1), blockproof.NewSpan(4, 1), blockproof.NewSpan(6, 1), blockproof.NewSpan(8, 1),
			blockproof.NewSpan(4, 2), blockproof.NewSpan(8, 2)}, // block 1 is the oldest, and the header of block 0 stays
		7: {blockproof.NewSpan(4, 1), blockproof.NewSpan(6, 1), blockproof.NewSpan(8, 1), blockproof.NewSpan(8, 2)},
		6: {blockproof.NewSpan(6, 1), blockproof.NewSpan(8, 1), blockproof.NewSpan(8, 2)},
		5: {blockproof.NewSpan(6, 1), blockproof.NewSpan(8, 1), blockproof.NewSpan(8, 2)},
		4: {blockproof.NewSpan(8, 1)},
		1: nil,
	} {
		s, _ := newSpent(t, Options{WitnessBytes: 1 << 20, Retention: retention}, 9)
		putSpans(t, s)
		must(t, s.Prune(context.Background()))
		if got := spansIn(t, s, 9); !slices.Equal(got, want) {
			t.Errorf("%d blocks are kept, and the spans %x, want %x", retention, got, want)
		}
		rows := 0
		lower, upper := tableRanges.bounds()
		must(t, kv.Scan(s.view.Load().snapshot, lower, upper, func(_, _ []byte) error { rows++; return nil }))
		if rows != len(want) {
			t.Errorf("%d blocks are kept, and %d rows of spans, want %d", retention, rows, len(want))
		}
		requireSound(t, s)
	}
}

func TestRewindRangeProofs(t *testing.T) {
	s, _ := newSpent(t, Options{WitnessBytes: 1 << 20}, 9)
	putSpans(t, s)
	_, err := s.Rewind(7)
	must(t, err)
	want := []blockproof.Span{
		blockproof.NewSpan(2, 1), blockproof.NewSpan(4, 1), blockproof.NewSpan(6, 1), blockproof.NewSpan(4, 2),
	}
	if got := spansIn(t, s, 9); !slices.Equal(got, want) {
		t.Errorf("the spans %x are kept, want %x", got, want)
	}
	requireWitnesses(t, s, 700)
	requireSound(t, s)
}

// TestRangeProofRetention counts the proofs of each length separately.
func TestRangeProofRetention(t *testing.T) {
	s, _ := newSpent(t, Options{WitnessBytes: 1 << 20, ProofRetention: 2}, 12)
	putSpans(t, s)
	want := []blockproof.Span{
		blockproof.NewSpan(10, 1), blockproof.NewSpan(12, 1), blockproof.NewSpan(8, 2), blockproof.NewSpan(12, 2),
	}
	if got := spansIn(t, s, 12); !slices.Equal(got, want) {
		t.Errorf("the spans %x are kept, want %x", got, want)
	}
}

func TestCheckFindsStrayRanges(t *testing.T) {
	s, _ := newSpent(t, Options{WitnessBytes: 1 << 20}, 4)
	putSpans(t, s)
	for name, key := range map[string][]byte{
		"of no span":     rangeRow(blockproof.NewSpan(3, 1)),
		"above the head": rangeRow(blockproof.NewSpan(8, 2)),
		"of a block":     rangeRow(blockproof.Span(2)),
		"of no number":   append(rangeRow(blockproof.NewSpan(4, 1)), 0),
		"of nothing":     {byte(tableRanges)},
	} {
		report := change(t, s, func(b *kv.Batch) { b.Set(key, []byte{1}) })
		if report.Found != 1 {
			t.Errorf("%s: %d problems, %v", name, report.Found, report.Problems)
		}
		change(t, s, func(b *kv.Batch) { b.Delete(key) })
	}
	requireSound(t, s)
}
