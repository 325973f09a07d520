package ledger

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// TestPastWitnesses makes the witnesses of a chain's blocks again, for any range of blocks. They equal those that the
// state tree gave when each block was new.
func TestPastWitnesses(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	store, head := c.primary.Store(), c.primary.Tip().Header.Header.Height
	want, others := make([][]byte, head+1), 0
	for h := types.Height(1); h <= head; h++ {
		block, accesses := c.next()
		view := must(c.before.Store().StateAt(h - 1))(t)
		w := must(must(c.before.tree.Prepare(accesses, parallel.Run))(t).Witness(view.ValueHashAt))(t)
		if err := view.Close(); err != nil {
			t.Fatal(err)
		}
		want[h] = w.Encode()
		others += len(w.Shapes) - len(slices.DeleteFunc(w.Shapes, func(s tree.Shape) bool { return s == tree.ShapeOther }))
		must(c.before.Import(must(Receive(types.Regtest, block.Encode()))(t)))(t)
	}
	if others == 0 {
		t.Error("no witness shows a leaf that is not of its block")
	}
	for from := types.Height(1); from <= head; from++ {
		for _, to := range []types.Height{from, head} {
			next, steps := from, uint64(0)
			err := PastWitnesses(t.Context(), store, from, to, func(done, total uint64) {
				if steps++; done != steps || total != uint64(head-from+1+to-from+1) {
					t.Errorf("step %d of %d is told as %d of %d", steps, head-from+1+to-from+1, done, total)
				}
			}, func(h types.Height, witness func() (tree.Witness, error)) error {
				w, err := witness()
				if h != next || !bytes.Equal(w.Encode(), want[h]) {
					t.Errorf("from block %d: another witness of block %d, for %d", from, h, next)
				}
				next++
				return err
			})
			if err != nil || next != to+1 {
				t.Fatalf("from block %d to %d: %v after block %d", from, to, err, next-1)
			}
		}
	}
}

// TestRangeWitness makes the input of proofs for ranges of that chain: for one block it is the block's own, and the
// proof of the whole range holds.
func TestRangeWitness(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	store, head := c.primary.Store(), c.primary.Tip().Header.Header.Height
	silent := func(_, _ uint64) {}
	for from := types.Height(1); from <= head; from++ {
		var want tree.Witness
		must(0, PastWitnesses(t.Context(), store, from, from, silent, func(
			_ types.Height, witness func() (tree.Witness, error),
		) (err error) {
			want, err = witness()
			return err
		}))(t)
		r, w, err := RangeWitness(t.Context(), store, from, from, silent)
		if err != nil || !bytes.Equal(w.Encode(), want.Encode()) || len(r.Headers) != 2 {
			t.Errorf("the range of block %d is not the block: error %v", from, err)
		}
		r, w, err = RangeWitness(t.Context(), store, from, head, silent)
		if err != nil || len(r.Headers) != int(head-from)+2 {
			t.Fatalf("blocks %d to %d: %d headers, error %v", from, head, len(r.Headers), err)
		}
		if from > 2 { // two proofs have shown it
			continue
		}
		must(0, c.prover.ProveRange(&r, w))(t)
		must(r.Verify(testBits, parallel.Run))(t)
	}
	for _, bad := range []struct {
		from, to types.Height
		want     error
	}{{0, 1, chain.ErrPruned}, {1, head + 1, chain.ErrAboveHead}} {
		if _, _, err := RangeWitness(t.Context(), store, bad.from, bad.to, silent); !errors.Is(err, bad.want) {
			t.Errorf("blocks %d to %d: %v, want %v", bad.from, bad.to, err, bad.want)
		}
	}
}

func TestPastWitnessesRefuses(t *testing.T) {
	c := newProvenChain(t)
	c.extend()
	fault := errors.New("visited")
	ended, end := context.WithCancel(t.Context())
	end()
	head := c.primary.Tip().Header.Header.Height
	for _, test := range []struct {
		name     string
		ctx      context.Context
		store    *chain.Store
		from, to types.Height
		want     error
	}{
		{"block 0, which no state is before", t.Context(), c.primary.Store(), 0, 1, chain.ErrPruned},
		{"a block above the head", t.Context(), c.primary.Store(), 1, head + 1, chain.ErrAboveHead},
		{"a store without state", t.Context(), c.store, 1, 0, chain.ErrNoState},
		{"an ended context", ended, c.primary.Store(), 1, head, context.Canceled},
		{"a visitor's error", t.Context(), c.primary.Store(), 1, head, fault},
	} {
		err := PastWitnesses(
			test.ctx, test.store, test.from, test.to, func(_, _ uint64) {},
			func(types.Height, func() (tree.Witness, error)) error { return fault },
		)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}
