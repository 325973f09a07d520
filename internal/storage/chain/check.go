package chain

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// MaxProblems is the maximum number of problems that a [Report] names.
const MaxProblems = 100

// Problem is an inconsistency in a store.
type Problem struct {
	Where string // "block 12", "transaction IDs", …
	What  string
}

// Report is the result of [Check].
type Report struct {
	Oldest, Head types.Height
	Blocks       uint64 // number of stored blocks
	Transactions uint64
	Accesses     uint64
	StateKeys    uint64
	Codes        uint64
	Problems     []Problem // the first [MaxProblems] problems
	Found        uint64    // total number of problems
}

// OK reports whether the store is sound.
func (r Report) OK() bool { return r.Found == 0 }

// Check recomputes all derived data from the stored data, in the state that the store has when Check begins. It checks:
//
//   - of blocks, the links between headers, seals and roots, and every index row, in both directions;
//   - the replaced values against the accesses of every stored block, which amounts to a backward replay;
//   - of the state, the leaves, and the root of their tree against the head's;
//   - codes by their hashes and the stored deploys, and the list of contracts;
//   - policies by their hashes and the stored blocks that revealed them;
//   - token holders against each other, and against all Transfer events if no block was pruned;
//   - that balances and burned coins add up to the supply.
//
// Blocks may be appended meanwhile.
//
// progress, unless nil, is called from time to time with the number of blocks and state keys done and the total. The
// memory needed is the state tree's nodes, one block, 4 bytes for every stored block, the codes' hashes and the tokens'
// IDs. Problems are returned in the report. An error means that the check itself could not continue.
func Check(ctx context.Context, s *Store, progress func(done, total uint64)) (Report, error) {
	if progress == nil {
		progress = func(uint64, uint64) {}
	}
	return read(s, func(v *view) (Report, error) {
		if v.empty {
			return Report{}, fmt.Errorf("%w: the store is empty", ErrNotFound)
		}
		c := &checker{
			ctx:      ctx,
			view:     v,
			genesis:  s.Genesis(),
			progress: progress,
			codes:    make(map[types.CodeHash]*codeUse),
			report:   Report{Oldest: v.oldest, Head: v.head.Header.Height, Blocks: uint64(v.head.Header.Height-v.oldest) + 1},
		}
		c.rows = make([]int32, c.report.Blocks)
		c.contracts.seed, c.policies.seed = maphash.MakeSeed(), maphash.MakeSeed()
		c.tokens = tokenCheck{seed: maphash.MakeSeed(), tokens: make(map[types.ContractID]uint64)}
		err := c.run()
		return c.report, err
	})
}

type checker struct {
	ctx       context.Context
	view      *view
	genesis   types.Genesis
	progress  func(done, total uint64)
	done      uint64
	report    Report
	rows      []int32 // per stored block: its index and history rows, minus those found to belong to it
	codes     map[types.CodeHash]*codeUse
	tokens    tokenCheck
	contracts comparison[types.ContractID] // in the state, with those listed
	policies  comparison[revelation]       // stored, with those in the blocks that revealed them first
	counted   Counts                       // counts of the head's state
}

func (c *checker) run() error {
	parts := []func() error{
		c.strayRows, c.countRows, c.codesThemselves, c.codeSizes, c.flatState, c.deployments, c.allListed,
		c.policiesThemselves, c.blocks, c.codesOfDeploys, c.allRevealed, c.surplusRows, c.holders, c.leaves, c.counts,
	}
	if c.view.stateless {
		parts = []func() error{
			c.strayRows, c.countRows, c.noState, c.codesThemselves, c.codeSizes, c.blocks, c.codesOfBlocks, c.surplusRows,
		}
	}
	for _, part := range parts {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// add records a problem.
func (c *checker) add(where, format string, args ...any) {
	c.report.Found++
	if len(c.report.Problems) < MaxProblems {
		c.report.Problems = append(c.report.Problems, Problem{where, fmt.Sprintf(format, args...)})
	}
}

// note records an error that means damage as a problem, and returns any other error.
func (c *checker) note(where string, err error) error {
	if errors.Is(err, ErrCorrupt) {
		c.add(where, "%v", err)
		return nil
	}
	return err
}

// step reports progress and returns the context's error.
func (c *checker) step(n int) error {
	c.done += uint64(n)
	c.progress(c.done, c.report.Blocks+c.report.StateKeys)
	return c.ctx.Err()
}

func inBlock(h types.Height) string { return fmt.Sprintf("block %d", h) }

// strayRows looks for rows outside all tables, and in tables by height for rows outside the stored heights.
func (c *checker) strayRows() error {
	stray := func(where string) func(key, _ []byte) error {
		return func(key, _ []byte) error {
			c.add(where, "an orphaned row under %x", key)
			return c.ctx.Err()
		}
	}
	var end []byte // end of the previous table
	for _, t := range append([]table{tableLog}, tablesInOrder()...) {
		lower, upper := t.bounds()
		if err := kv.Scan(c.view.snapshot, end, lower, stray("outside all tables")); err != nil {
			return err
		}
		end = upper
	}
	if err := kv.Scan(c.view.snapshot, end, nil, stray("outside all tables")); err != nil {
		return err
	}
	for _, t := range []table{
		tableHeaders, tableFailures, tableTransactions, tableReceipts, tableAccesses, tableWitnesses, tableProofs,
		tableSpent, tableCounts, tableSizes,
	} {
		lower, upper := t.bounds()
		if t == tableHeaders {
			lower = append(t.atHeight(0), 0) // keep block 0's header
		}
		if oldest := c.report.Oldest; oldest > 0 {
			if c.view.halfPruned {
				oldest--
			}
			if err := kv.Scan(c.view.snapshot, lower, t.atHeight(oldest), stray(allTables[t])); err != nil {
				return err
			}
		}
		if err := kv.Scan(c.view.snapshot, t.atHeight(c.report.Head+1), upper, stray(allTables[t])); err != nil {
			return err
		}
	}
	if err := errors.Join(c.witnesses(), c.ranges()); err != nil {
		return err
	}
	return c.metaRows()
}

// witnesses checks the total size of the witnesses. Witnesses and proofs themselves are verified when they are used.
func (c *checker) witnesses() error {
	var kept uint64
	for _, t := range []table{tableWitnesses, tableSpent} {
		lower, upper := t.bounds()
		err := kv.Scan(c.view.snapshot, lower, upper, func(_, value []byte) error {
			kept += uint64(len(value))
			return nil
		})
		if err != nil {
			return err
		}
	}
	counted, err := witnessBytes(c.view.snapshot)
	if err != nil {
		return c.note(allTables[tableWitnesses], err)
	}
	if kept != counted {
		c.add(allTables[tableWitnesses], "%d bytes of witnesses, %d are counted", kept, counted)
	}
	return nil
}

// metaRows checks for unknown meta rows. Open has checked the known ones.
func (c *checker) metaRows() error {
	known := map[string]bool{
		string(keyFormat): true, string(keySchedule): true, string(keyGenesis): true, string(keyHead): true,
		string(keyOldest): true, string(keyWitnessBytes): true, string(keyHalfPruned): true,
		string(keyArchive): true, string(keyStateless): true, string(keyOutline): true,
	}
	lower, upper := tableMeta.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, _ []byte) error {
		if !known[string(key)] {
			c.add("meta", "an unknown row, %q", key[1:])
		}
		return nil
	})
}
