package verifier_test

import (
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/verifier"
	"github.com/cairn-chain/cairn/internal/testkit/plainverifier"
)

// TestSecondVerifierAgrees asks the verifier that was written from docs/proofs.md alone about honest proofs and about
// changed ones.
func TestSecondVerifierAgrees(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for name, build := range examples {
		for _, c := range []struct{ logRows, level, changes int }{
			{3, 0, 20}, {4, 1, 5}, {10, 1, 1}, {5, 2, 2}, {10, 3, 1}, {6, 4, 2}, {3, 5, 2},
		} {
			e := build(c.logRows)
			proof, s := e.prove(t, c.level), plainverifier.Of(e.statement)
			if err := plainverifier.Verify(s, proof); err != nil {
				t.Errorf("%s, 2^%d rows, level %d: error %v", name, c.logRows, c.level, err)
			}
			for range c.changes {
				changed := append([]byte{}, proof...)
				at := r.IntN(len(proof))
				switch r.IntN(4) {
				case 0:
					changed = changed[:at]
				case 1:
					changed = append(changed, changed[at:]...)
				default:
					changed[at] ^= 1 << r.IntN(8)
				}
				_, first := verifier.Verify(e.statement, 100, changed)
				second := plainverifier.Verify(s, changed)
				if (first == nil) != (second == nil) || first == nil {
					t.Errorf("%s, 2^%d rows, changed at %d: %v and %v", name, c.logRows, at, first, second)
				}
			}
			s.Context = append([]byte{1}, s.Context...)
			if err := plainverifier.Verify(s, proof); err == nil {
				t.Errorf("%s, 2^%d rows: another context is accepted", name, c.logRows)
			}
		}
	}
}
