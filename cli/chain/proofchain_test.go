package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// steps is a node with proofs of 2^log blocks, and the chain that verifies them. A proof is named "AFTER LOG", by the
// height before its blocks.
type steps struct {
	height  types.Height
	log     int          // length of the longest proofs
	refused types.Height // proofs of later blocks are refused; 0: none
	passes  types.Height // the block that hands over to another producer; 0: none

	mu     sync.Mutex   // guards the fields below
	slow   types.Height // the first request after this block is never answered; 0: none
	asked  []string
	ended  int
	during [][]string // requests so far, at each verification
}

func (s *steps) fetch(ctx context.Context, after types.Height, log int) step {
	for log = min(log, s.log); (after+1<<log)%(1<<log) != 0; {
		log--
	}
	name := fmt.Sprint(after, " ", log)
	s.mu.Lock()
	s.asked = append(s.asked, name)
	slow := s.slow != 0 && after == s.slow
	if slow {
		s.slow = 0
	}
	s.mu.Unlock()
	if slow {
		<-ctx.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended++
		return step{err: ctx.Err()}
	}
	return step{log, []byte(name), nil}
}

func (s *steps) Height() types.Height { return s.height }

func (s *steps) Hash() types.BlockHash { return types.BlockHash{byte(s.height)} }

func (s *steps) Signed() bool { return true }

func (s *steps) Next(encoded []byte) (v proof.RangeVerdict, err error) {
	synctest.Wait() // everything that is requested meanwhile
	s.mu.Lock()
	s.during = append(s.during, slices.Clone(s.asked))
	s.mu.Unlock()
	var after types.Height
	var log int
	if _, err := fmt.Sscan(string(encoded), &after, &log); err != nil || after != s.height {
		return v, fmt.Errorf("%w: it begins after block %d, not %d", proof.ErrRefused, after, s.height)
	}
	last := after + 1<<log
	switch {
	case s.refused != 0 && after == s.refused:
		return v, proof.ErrRefused
	case log > 0 && after < s.passes && s.passes <= last:
		return v, fmt.Errorf("%w: %w", proof.ErrRefused, proof.ErrHandedOver)
	}
	s.height = last
	v.FromHeight, v.Height = after+1, last
	return v, nil
}

// TestWalkFetchesAhead: while a proof is verified, only the next one is fetched.
func TestWalkFetchesAhead(t *testing.T) {
	for _, test := range []struct {
		name           string
		steps          *steps
		asked          []string
		ranges, blocks int
		ended          int
		refused        bool
	}{
		{name: "ranges", steps: &steps{log: 2}, asked: []string{"0 2", "4 2", "8 2"}, ranges: 3},
		{
			name: "from the middle", steps: &steps{log: 2, height: 6}, ranges: 2,
			asked: []string{"6 1", "8 2"},
		},
		{
			name: "the producer changes", steps: &steps{log: 2, passes: 6}, ranges: 3, blocks: 2,
			asked: []string{"0 2", "4 2", "8 2", "4 1", "6 1", "4 0", "5 0", "6 1", "8 2"},
		},
		{
			name:   "the producer changes, and the next proof is slow",
			steps:  &steps{log: 1, passes: 1, slow: 2},
			asked:  []string{"0 1", "2 1", "0 0", "1 0", "2 1", "4 1", "6 1", "8 1", "10 1"},
			ranges: 5,
			blocks: 2,
			ended:  1,
		},
		{
			name:    "one is refused",
			steps:   &steps{log: 2, refused: 4, slow: 8},
			asked:   []string{"0 2", "4 2", "8 2"},
			ranges:  1,
			ended:   1,
			refused: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := test.steps
				w, err := walk(t.Context(), s, 12, s.fetch)
				synctest.Wait()
				if (err != nil) != test.refused || err != nil && !errors.Is(err, proof.ErrRefused) {
					t.Fatal(err)
				}
				if !slices.Equal(s.asked, test.asked) || w.Ranges != test.ranges || w.Blocks != test.blocks {
					t.Errorf("asked %q, %d ranges, %d blocks", s.asked, w.Ranges, w.Blocks)
				}
				for i, during := range s.during {
					if want := s.asked[:min(i+2, len(s.asked))]; !slices.Equal(during, want) && test.steps.passes == 0 {
						t.Errorf("while proof %d is verified %q were asked for", i, during)
					}
				}
				if s.ended != test.ended {
					t.Errorf("%d requests ended with the walk, want %d", s.ended, test.ended)
				}
			})
		})
	}
}
