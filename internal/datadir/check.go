package datadir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Report is the result of [Dir.Check], and Problem one of its findings.
type (
	Report  = chain.Report
	Problem = chain.Problem
)

// leastBits is the lowest number of proven bits of a stored proof.
const leastBits = 100

// Check recomputes roots, digests and every index from the stored data, verifies every proof of a block or a range, and
// follows every witness to the block's root. It also reports the damage that [Options].CheckFiles found, blocks that a
// key signed and the chain lacks, and damage to the files beside the database. If CheckFiles found damage, nothing is
// recomputed. progress receives the rows done and the total.
func (d *Dir) Check(ctx context.Context, progress func(done, total uint64)) (report Report, err error) {
	beside := d.checkBeside()
	defer func() {
		for _, p := range beside {
			addProblem(&report, p.Where, p.What)
		}
	}()
	for _, damage := range d.damages {
		addProblem(&report, "the file "+damage.File, damage.Err.Error())
	}
	if len(d.damages) > 0 {
		return report, nil
	}
	if report, err = chain.Check(ctx, d.store, progress); err != nil {
		if !errors.Is(err, kv.ErrDamaged) {
			return report, err
		}
		addProblem(&report, "the database", err.Error())
		return report, nil
	}
	if err := errors.Join(d.checkProofs(ctx, &report), d.checkRanges(ctx, &report)); err != nil {
		return report, err
	}
	return report, nil
}

func addProblem(report *Report, where, what string) {
	report.Found++
	if len(report.Problems) < chain.MaxProblems {
		report.Problems = append(report.Problems, chain.Problem{Where: where, What: what})
	}
}

// checkProofs verifies the stored proofs and witnesses of blocks.
func (d *Dir) checkProofs(ctx context.Context, report *Report) error {
	heights := make(map[types.Height]bool)
	for _, stored := range []func() (chain.ProofRange, error){d.store.Proofs, d.store.Witnesses} {
		r, err := stored()
		if errors.Is(err, chain.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		for h := max(r.Oldest, 1); h <= r.Newest; h++ {
			heights[h] = true
		}
	}
	for _, h := range slices.Sorted(maps.Keys(heights)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		wrong, err := d.checkProof(h)
		if err != nil {
			return fmt.Errorf("the proof of block %d: %w", h, err)
		}
		if wrong != nil {
			addProblem(report, fmt.Sprintf("block %d", h), wrong.Error())
		}
	}
	return nil
}

// checkProof verifies the proof and the witness of a block and returns in wrong the problem found. It skips pruned
// blocks.
func (d *Dir) checkProof(h types.Height) (wrong, err error) {
	proof, err := d.store.Proof(h)
	if errors.Is(err, chain.ErrPruned) || err != nil && !errors.Is(err, chain.ErrNotFound) {
		return nil, ignorePruned(err)
	}
	witness, err := d.store.AnyWitness(h)
	if err != nil && !errors.Is(err, chain.ErrNotFound) {
		return nil, err
	}
	if proof == nil && witness == nil {
		return nil, nil
	}
	bundle := blockproof.Bundle{Proof: proof}
	if bundle.Parent, err = d.store.Header(h - 1); err != nil {
		return nil, ignorePruned(err)
	}
	if bundle.Header, err = d.store.Header(h); err != nil {
		return nil, err
	}
	if bundle.Accesses, err = d.store.Accesses(h); err != nil {
		return nil, err
	}
	if proof != nil {
		if _, err := bundle.Verify(leastBits, parallel.Run); err != nil {
			return fmt.Errorf("its proof: %w", err), nil
		}
	}
	if witness != nil {
		if err := checkWitness(bundle, witness); err != nil {
			return fmt.Errorf("the witness for its proof: %w", err), nil
		}
	}
	return nil, nil
}

// checkRanges verifies the proofs of ranges of blocks.
func (d *Dir) checkRanges(ctx context.Context, report *Report) error {
	all, err := d.store.Ranges()
	if err != nil {
		return err
	}
	queue := proving.NewQueue(d.store, leastBits)
	for _, r := range all {
		for last := r.Oldest + r.Blocks - 1; last <= r.Newest; last += r.Blocks {
			if err := ctx.Err(); err != nil {
				return err
			}
			span := blockproof.NewSpan(last, bits.TrailingZeros64(uint64(r.Blocks)))
			proven, err := queue.Range(span, proving.Uncounted)
			switch {
			case errors.Is(err, chain.ErrNotFound), errors.Is(err, chain.ErrPruned):
				continue
			case err != nil:
				return fmt.Errorf("the proof of blocks %d to %d: %w", span.First(), last, err)
			}
			if _, err := proven.Verify(leastBits, parallel.Run); err != nil {
				addProblem(report, fmt.Sprintf("blocks %d to %d", span.First(), last), "the proof of the range: "+err.Error())
			}
		}
	}
	return nil
}

// ignorePruned returns nil for an error about pruned data, which cannot be checked, and err otherwise.
func ignorePruned(err error) error {
	if errors.Is(err, chain.ErrPruned) {
		return nil
	}
	return err
}

// checkWitness follows a witness from the root before a block to the root after it.
func checkWitness(b blockproof.Bundle, encoded []byte) error {
	witness, err := tree.DecodeWitness(encoded)
	if err != nil {
		return err
	}
	statement, err := blockproof.NewStatement(&b.Parent.Header, &b.Header.Header, b.Accesses)
	if err != nil {
		return err
	}
	for _, err := range blockproof.Trace(statement, b.Accesses, witness, parallel.Run) {
		if err != nil {
			return err
		}
	}
	return nil
}
