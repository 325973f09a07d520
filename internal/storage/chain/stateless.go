package chain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A stateless store has the rows of blocks and the codes that those created or called. Of the state it has only the
// parameters, which are needed to judge the next block. It has no policies and no lists of contracts and token holders,
// so its size is bounded by the retention.

// parametersKey is the state key that a stateless store keeps.
var parametersKey = state.ParametersKey()

// Stateless reports whether the store keeps no state except the parameters; every other key is [ErrNoState]. This is
// fixed when the store is begun.
func (s *Store) Stateless() bool {
	v := s.view.Load()
	return v != nil && v.stateless
}

// kept returns the accesses whose keys have rows of state.
func (v *view) kept(accesses []types.Access) []types.Access {
	if !v.stateless {
		return accesses
	}
	for i := range accesses {
		if bytes.Equal(accesses[i].Key, parametersKey) {
			return accesses[i : i+1]
		}
	}
	return nil
}

// usable returns all codes that a block may have used: those that its deploys brought, and those that the contracts in
// its access list had before or after it. A contract may get several codes in one block, but each is another one's
// before, or comes in a deploy.
func usable(index indexed, accesses []types.Access) ([]types.CodeHash, error) {
	codes := index.codes()
	for i := range accesses {
		a := &accesses[i]
		if !isContract(a.Key) {
			continue
		}
		for _, record := range [][]byte{a.Old, a.New} {
			if len(record) == 0 {
				continue
			}
			contract, err := state.DecodeContract(record)
			if err != nil {
				return nil, fmt.Errorf("%w: contract %x: %w", ErrCorrupt, a.Key[1:], err)
			}
			codes = append(codes, contract.CodeHash)
		}
	}
	return codes, nil
}

// unusedCodes calls do with the key of each code that no block after h used, in a stateless store.
func (v *view) unusedCodes(h types.Height, codes []types.CodeHash, do func(key []byte)) error {
	for _, hash := range codes {
		row, err := v.snapshot.Get(tableCodeSizes.key(hash[:]))
		if errors.Is(err, kv.ErrNotFound) { // the code was listed but not used
			continue
		}
		if err != nil {
			return err
		}
		known, err := decodeCodeSize(row)
		if err != nil {
			return err
		}
		if known.since <= h {
			do(tableCodes.key(hash[:]))
			do(tableCodeSizes.key(hash[:]))
		}
	}
	return nil
}

// usedCodes records the codes whose last use is in the block, in a stateless store.
func (c *checker) usedCodes(index indexed, accesses []types.Access) error {
	codes, err := usable(index, accesses)
	for _, hash := range codes {
		if use := c.codes[hash]; use != nil && use.since == index.height {
			use.used = true
		}
	}
	return err
}

// codesOfBlocks checks that each code has a size and a stored block that used it, in a stateless store.
func (c *checker) codesOfBlocks() error {
	for hash, use := range c.codes {
		switch {
		case !use.sized:
			c.add(allTables[tableCodes], "code %s has no size", hash)
		case !use.used:
			c.add(allTables[tableCodes], "code %s is recorded as used by block %d", hash, use.since)
		}
	}
	return nil
}

// noState checks that a stateless store has no rows of state except the parameters.
func (c *checker) noState() error {
	for _, t := range []table{
		tableState, tableLeaves, tableHistory, tableDeploys, tableHolders, tableRanks, tableCounts, tablePolicies,
	} {
		lower, upper := t.bounds()
		err := kv.Scan(c.view.snapshot, lower, upper, func(key, _ []byte) error {
			if t == tableState && bytes.Equal(key[1:], parametersKey) {
				c.report.StateKeys++
			} else if t != tableHistory || !bytes.HasPrefix(key, historyPrefix(parametersKey)) {
				c.add(allTables[t], "a row in a store without state, under %x", key)
			}
			return c.ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
