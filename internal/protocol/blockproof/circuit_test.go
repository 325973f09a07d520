package blockproof

import (
	"testing"
)

func TestCircuitShape(t *testing.T) {
	c := Circuit()
	if got := len(c.Columns()); got != columns || got > 220 {
		t.Errorf("%d columns, the constants say %d", got, columns)
	}
	if c.Degree() != 3 {
		t.Errorf("degree %d", c.Degree())
	}
	t.Logf("%d columns, %d helper columns of 6, %d constraints, %d nodes", columns, c.AuxColumns(), len(c.Constraints()), len(c.Nodes()))
}

// TestRandomBatches: the circuit accepts what the model says, in one segment and in many.
func TestRandomBatches(t *testing.T) {
	r := newRandom(1)
	cut := 0
	for range 300 {
		b := r.batch(12)
		for _, limit := range []int{1 << maxLogRows} {
			segments := b.segments(t, limit)
			for i := range segments {
				s := &segments[i]
				if err := circuit.Check(s.Columns(inOrder), s.Public, s.Terms); err != nil {
					t.Fatalf("segment %d: %v", i, err)
				}
			}
			cut += len(segments) - 1
		}
	}
	t.Log(cut)
}
