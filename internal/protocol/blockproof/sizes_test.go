package blockproof

import (
	"iter"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// TestTallSegments: accesses that fit into a table of 2^18 rows are one segment, or several if speed matters.
func TestTallSegments(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	const keys = 50_000
	s := large(t, keys)
	changes := map[string][]byte{}
	for i := range keys {
		changes[key(i)] = []byte("another value")
	}
	statement, accesses, w := s.apply(t, changes)
	type tracer func(Statement, []types.Access, tree.Witness, Parallel) iter.Seq2[*Segment, error]
	rows := func(trace tracer) (each []int) {
		for segment, err := range trace(statement, accesses, w, goroutines) {
			if err != nil {
				t.Fatal(err)
			}
			each = append(each, segment.Rows())
		}
		return each
	}
	if all := rows(Trace); len(all) != 1 || all[0] <= 1<<stark.MaxQuickLogRows || all[0] > 1<<stark.MaxLogRows {
		t.Errorf("segments of %v rows", all)
	}
	quick := rows(QuickTrace)
	if len(quick) < 2 {
		t.Errorf("quick segments of %v rows", quick)
	}
	for _, n := range quick {
		if n > 1<<stark.MaxQuickLogRows {
			t.Errorf("a quick segment has %d rows", n)
		}
	}
}
