package blockproof

import (
	"math/rand/v2"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

func TestPermutationIsPoseidons(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := rand.New(rand.NewPCG(3, 4))
	const rows = blockRows
	columns := make([]field.Vector, permutationColumns)
	for i := range columns {
		columns[i] = make(field.Vector, rows)
	}
	in := make([]field.Vector, width)
	for i := range in {
		in[i] = make(field.Vector, rows)
		for row := range rows {
			in[i][row] = field.New(r.Uint64())
		}
		in[i][0], in[i][1] = field.New(poseidon.P-1), field.New(uint64(i))
	}
	b := newBlocks(columns)
	b.next(0, rows)
	b.permute(in)
	out := columns[permutationColumns-digestSize:]
	if b.made != permutationColumns {
		t.Fatalf("%d columns are made, not %d", b.made, permutationColumns)
	}
	for row := range rows {
		var state [width]uint32
		var single [width]field.Element
		for i := range state {
			state[i], single[i] = uint32(in[i][row].Uint64()), in[i][row]
		}
		poseidon.Permute(&state)
		recorded := &tampered{columns: make([]field.Vector, permutationColumns), at: permutationColumns}
		for i := range recorded.columns {
			recorded.columns[i] = make(field.Vector, 1)
		}
		alone := permute(recorded, single)
		for i := range columns {
			if columns[i][row] != recorded.columns[i][0] {
				t.Fatalf("row %d, column %d: %v, alone %v", row, i, columns[i][row], recorded.columns[i][0])
			}
		}
		for i := range out {
			if got := out[i][row]; got != field.New(uint64(state[i])) || alone[i] != got {
				t.Fatalf("row %d, lane %d: %v and %v, want %d", row, i, out[i][row], alone[i], state[i])
			}
		}
	}
}
