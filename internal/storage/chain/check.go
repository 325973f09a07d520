package chain

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// MaxProblems is how many problems a [Report] names.
const MaxProblems = 100

// Problem is something in a store that is not as what else is stored says.
type Problem struct {
	Where string // "block 12", "transaction IDs", …
	What  string
}

// Report is what [Check] looked at and what it found.
type Report struct {
	Oldest, Head types.Height
	Blocks       uint64 // kept ones
	Transactions uint64
	Accesses     uint64
	StateKeys    uint64
	Codes        uint64
	Problems     []Problem // the first [MaxProblems]
	Found        uint64    // problems in all
}

// OK reports whether the store is sound.
func (r Report) OK() bool { return r.Found == 0 }

// Check recomputes from what is stored all that depends on it, as the store is when it begins. Of blocks it checks the
// headers' links, signatures, roots and digests, and every index row, in both directions. It compares the replaced
// values with the accesses of every kept block, which is a replay backwards. Of the state it checks the leaves, and the
// root of their tree against the head's. It checks code by its hash, and the list of contracts. Token holders are
// compared with each other, and with all Transfer events if no block was pruned. Balances and burned coins must add up
// to the supply. Appending may go on meanwhile.
//
// progress, unless nil, is called now and then with the blocks and state keys done and all there are. Beside the state
// tree's nodes the memory needed is one block, 4 bytes for every kept block, the codes' hashes and the tokens' IDs.
// What is wrong is in the report; an error says that the check itself could not go on.
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
		c.contracts.seed = maphash.MakeSeed()
		c.tokens = tokenCheck{seed: maphash.MakeSeed(), tokens: make(map[types.ContractID]uint64)}
		err := c.run()
		return c.report, err
	})
}

type checker struct {
	ctx      context.Context
	view     *view
	genesis  types.Genesis
	progress func(done, total uint64)
	done     uint64
	report   Report
	rows     []int32 // by kept block: its index and history rows, less those found to belong there
	codes    map[types.CodeHash]*codeUse
	tokens   tokenCheck
	// contracts is the state's contracts less those that are listed.
	contracts contractList
	counted   Counts // what the head's state has
}

func (c *checker) run() error {
	parts := []func() error{
		c.strayRows, c.countRows, c.codesThemselves, c.codeSizes, c.flatState, c.deployments, c.allListed, c.blocks,
		c.surplusRows, c.holders, c.leaves, c.counts,
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

// add notes a problem.
func (c *checker) add(where, format string, args ...any) {
	c.report.Found++
	if len(c.report.Problems) < MaxProblems {
		c.report.Problems = append(c.report.Problems, Problem{where, fmt.Sprintf(format, args...)})
	}
}

// note makes a problem of an error that says the store is damaged, and returns every other.
func (c *checker) note(where string, err error) error {
	if errors.Is(err, ErrCorrupt) {
		c.add(where, "%v", err)
		return nil
	}
	return err
}

// step reports progress and the context's end.
func (c *checker) step(n int) error {
	c.done += uint64(n)
	c.progress(c.done, c.report.Blocks+c.report.StateKeys)
	return c.ctx.Err()
}

func inBlock(h types.Height) string { return fmt.Sprintf("block %d", h) }

// strayRows looks for rows where there should be none: outside all tables and, of what is kept by height, outside
// the kept heights.
func (c *checker) strayRows() error {
	stray := func(where string) func(key, _ []byte) error {
		return func(key, _ []byte) error {
			c.add(where, "a row that belongs to nothing, under %x", key)
			return c.ctx.Err()
		}
	}
	var end []byte // of the table before
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
			lower = append(t.atHeight(0), 0) // that of block 0 stays
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

// witnesses checks their count in bytes. What a witness or a proof says shows itself when it is used.
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

// metaRows checks what Open did not.
func (c *checker) metaRows() error {
	known := map[string]bool{
		string(keyFormat): true, string(keySchedule): true, string(keyGenesis): true, string(keyHead): true,
		string(keyOldest): true, string(keyWitnessBytes): true, string(keyHalfPruned): true,
		string(keyArchive): true, string(keyStateless): true,
	}
	lower, upper := tableMeta.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, _ []byte) error {
		if !known[string(key)] {
			c.add("meta", "an unknown row, %q", key[1:])
		}
		return nil
	})
}
